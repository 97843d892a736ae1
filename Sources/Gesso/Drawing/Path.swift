import Foundation

/// Lines and curves to fill, stroke or clip to; a value, like CoreGraphics' `CGPath`.
public struct Path: Hashable, Sendable {
  enum Element: Hashable, Sendable {
    case move(CGPoint)
    case line(CGPoint)
    case quadCurve(to: CGPoint, control: CGPoint)
    case curve(to: CGPoint, control1: CGPoint, control2: CGPoint)
    case arc(center: CGPoint, radius: CGFloat, start: CGFloat, end: CGFloat, clockwise: Bool)
    case rect(CGRect)
    case ellipse(CGRect)
    case roundedRect(CGRect, width: CGFloat, height: CGFloat)
    case roundedRectWithRadii(CGRect, CornerRadii)
    case close
  }

  var elements: [Element] = []

  /// An empty path.
  public init() {}

  /// A rectangle.
  public init(rect: CGRect) { elements = [.rect(rect)] }

  /// The ellipse that fits into a rectangle.
  public init(ellipseIn rect: CGRect) { elements = [.ellipse(rect)] }

  /// A rectangle with elliptical corners, of radii reduced to half of the side if larger.
  public init(roundedRect rect: CGRect, cornerWidth: CGFloat, cornerHeight: CGFloat) {
    elements = [.roundedRect(rect, width: cornerWidth, height: cornerHeight)]
  }

  /// A rectangle with a radius for each corner; where they do not fit, all shrink by the same part.
  public init(roundedRect rect: CGRect, cornerRadii: CornerRadii) {
    elements = [.roundedRectWithRadii(rect, cornerRadii)]
  }

  /// Whether nothing was added.
  public var isEmpty: Bool { elements.isEmpty }

  /// Begins a new subpath at a point.
  public mutating func move(to point: CGPoint) { elements.append(.move(point)) }

  /// Adds a line from the current point.
  public mutating func addLine(to point: CGPoint) { elements.append(.line(point)) }

  /// Adds a quadratic curve from the current point.
  public mutating func addQuadCurve(to end: CGPoint, control: CGPoint) {
    elements.append(.quadCurve(to: end, control: control))
  }

  /// Adds a cubic curve from the current point.
  public mutating func addCurve(to end: CGPoint, control1: CGPoint, control2: CGPoint) {
    elements.append(.curve(to: end, control1: control1, control2: control2))
  }

  /// Adds an arc, and before it a line from the current point to where it starts.
  ///
  /// As CoreGraphics has it: angles are in radians from the positive x axis, and `clockwise` means that they fall from
  /// start to end, which in UIKit's orientation (y down) runs counterclockwise on the screen.
  public mutating func addArc(
    center: CGPoint, radius: CGFloat, startAngle: CGFloat, endAngle: CGFloat, clockwise: Bool
  ) {
    elements.append(.arc(center: center, radius: radius, start: startAngle, end: endAngle, clockwise: clockwise))
  }

  /// Adds a rectangle as a subpath.
  public mutating func addRect(_ rect: CGRect) { elements.append(.rect(rect)) }

  /// Adds the ellipse that fits into a rectangle as a subpath.
  public mutating func addEllipse(in rect: CGRect) { elements.append(.ellipse(rect)) }

  /// Adds a rectangle with elliptical corners as a subpath.
  public mutating func addRoundedRect(in rect: CGRect, cornerWidth: CGFloat, cornerHeight: CGFloat) {
    elements.append(.roundedRect(rect, width: cornerWidth, height: cornerHeight))
  }

  /// Adds a rectangle with a radius for each corner as a subpath; where they do not fit, all shrink by the same part.
  public mutating func addRoundedRect(in rect: CGRect, cornerRadii: CornerRadii) {
    elements.append(.roundedRectWithRadii(rect, cornerRadii))
  }

  /// Adds all of another path.
  public mutating func addPath(_ path: Path) { elements += path.elements }

  /// Closes the subpath with a line to its beginning.
  public mutating func closeSubpath() { elements.append(.close) }
}
