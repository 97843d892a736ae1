import Foundation

/// Where a scripted finger leaves the list at each moment: flings down, and back up.
///
/// After each flick the list slows down as `UIScrollView` does, by a factor of 0.998 each millisecond.
public struct FlingScript: Sendable {
  private struct Fling: Sendable {
    let begin: Double
    let offset: Double
    let velocity: Double
  }

  private static let decay = 0.998
  private let flings: [Fling]
  private let bottom: Double

  /// How long it goes on, in seconds.
  public let duration: Double

  /// A script for a list.
  /// - Parameters:
  ///   - seconds: how long; the first half goes down, the second up.
  ///   - contentHeight: of all rows, in points.
  ///   - viewportHeight: of what shows, in points.
  ///   - seed: for the strength of the flicks.
  public init(seconds: Double, contentHeight: Double, viewportHeight: Double, seed: UInt64) {
    duration = seconds
    bottom = max(0, contentHeight - viewportHeight)
    let pairs = max(1, Int((seconds / 1.2).rounded()))
    let length = seconds / Double(2 * pairs)
    var random = SplitMix(seed: seed)
    var flings: [Fling] = []
    var offset = 0.0
    for index in 0..<(2 * pairs) {
      // Points a millisecond: 2 is a calm flick, 6 a hard one.
      let speed = 2 + 4 * random.nextUnit()
      let fling = Fling(begin: Double(index) * length, offset: offset, velocity: index < pairs ? speed : -speed)
      flings.append(fling)
      offset = min(bottom, max(0, Self.position(of: fling, after: length)))
    }
    self.flings = flings
  }

  private static func position(of fling: Fling, after seconds: Double) -> Double {
    fling.offset + fling.velocity * (1 - pow(decay, seconds * 1000)) / -log(decay)
  }

  /// The offset at a moment, in points, between the top and the bottom of the list.
  public func offset(at seconds: Double) -> Double {
    let fling = flings.last { $0.begin <= seconds } ?? flings[0]
    return min(bottom, max(0, Self.position(of: fling, after: max(0, min(seconds, duration) - fling.begin))))
  }
}

/// Steele, Lea and Flood's SplitMix64: the same numbers for the same seed, everywhere.
struct SplitMix {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  /// 0…1, without 1.
  mutating func nextUnit() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
