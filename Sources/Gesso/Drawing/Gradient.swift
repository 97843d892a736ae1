import Foundation

/// Colours along a line, or between two circles.
public struct Gradient: Hashable, Sendable {
  /// A colour at a place from 0 (the start) to 1 (the end).
  public struct Stop: Hashable, Sendable {
    /// The colour there.
    public var color: Color
    /// 0…1.
    public var location: Double

    /// A stop.
    public init(_ color: Color, at location: Double) {
      self.color = color
      self.location = location
    }
  }

  /// The stops, in order of their locations; at most 256.
  public var stops: [Stop]

  /// A gradient of stops.
  public init(stops: [Stop]) { self.stops = stops }

  /// A gradient of colours at equal distances.
  public init(colors: [Color]) {
    let last = Double(max(1, colors.count - 1))
    stops = colors.enumerated().map { Stop($1, at: Double($0) / last) }
  }

  /// What is drawn beyond the start and the end.
  public struct DrawingOptions: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt32
    /// Options of bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// The first colour goes on before the start.
    public static let drawsBeforeStartLocation = DrawingOptions(rawValue: 1)
    /// The last colour goes on after the end.
    public static let drawsAfterEndLocation = DrawingOptions(rawValue: 2)
  }
}
