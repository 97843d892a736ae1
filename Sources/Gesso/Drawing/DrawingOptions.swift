import Foundation

internal import CGesso

/// Which side of a path is its inside.
public enum FillRule: Sendable {
  /// What the path winds around, by direction.
  case winding
  /// What an odd number of its lines separates from the outside.
  case evenOdd

  var value: gesso_fill_rule {
    switch self {
    case .winding: GESSO_FILL_RULE_WINDING
    case .evenOdd: GESSO_FILL_RULE_EVEN_ODD
    }
  }
}

/// How lines end.
public enum LineCap: Sendable {
  /// At the end point.
  case butt
  /// In a half circle around it.
  case round
  /// Half a line width after it.
  case square

  var value: gesso_line_cap {
    switch self {
    case .butt: GESSO_LINE_CAP_BUTT
    case .round: GESSO_LINE_CAP_ROUND
    case .square: GESSO_LINE_CAP_SQUARE
    }
  }
}

/// How lines meet.
public enum LineJoin: Sendable {
  /// In a point, up to the miter limit.
  case miter
  /// In an arc.
  case round
  /// Cut off.
  case bevel

  var value: gesso_line_join {
    switch self {
    case .miter: GESSO_LINE_JOIN_MITER
    case .round: GESSO_LINE_JOIN_ROUND
    case .bevel: GESSO_LINE_JOIN_BEVEL
    }
  }
}

/// The radii of a rectangle's corners, in points.
public struct CornerRadii: Hashable, Sendable {
  /// Top left.
  public var topLeft: CGFloat
  /// Top right.
  public var topRight: CGFloat
  /// Bottom right.
  public var bottomRight: CGFloat
  /// Bottom left.
  public var bottomLeft: CGFloat

  /// Radii, at least 0; corners that are not named are sharp.
  public init(topLeft: CGFloat = 0, topRight: CGFloat = 0, bottomRight: CGFloat = 0, bottomLeft: CGFloat = 0) {
    self.topLeft = topLeft
    self.topRight = topRight
    self.bottomRight = bottomRight
    self.bottomLeft = bottomLeft
  }
}

/// How bitmaps are resampled.
public enum InterpolationQuality: UInt32, Sendable {
  /// The nearest pixel.
  case none
  /// Bilinear.
  case low
  /// An area filter when made smaller, bilinear when larger.
  case medium
  /// The best that there is.
  case high
}

/// How what is drawn mixes with what is there; CoreGraphics' modes, each bounded by the shape that is drawn.
public enum BlendMode: UInt32, CaseIterable, Sendable {
  /// Source over destination.
  case normal
  /// The separable modes of PDF.
  case multiply, screen, overlay, darken, lighten, colorDodge, colorBurn, softLight, hardLight, difference, exclusion
  /// The modes of PDF that mix hue, saturation and luminosity.
  case hue, saturation, color, luminosity
  /// Porter and Duff's operators.
  case clear, copy, sourceIn, sourceOut, sourceAtop, destinationOver, destinationIn, destinationOut, destinationAtop
  /// More of Porter and Duff's.
  case xor, plusLighter
}
