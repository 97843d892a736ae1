/// When frames are due: a vsync that is not there, at absolute moments, so that no error adds up.
///
/// A frame begins at a vsync and has until the next one. A frame that is late is shown at a later vsync, and the next
/// one begins there.
public struct FrameClock: Sendable {
  /// One frame's times, in nanoseconds of ``MonotonicClock``.
  public struct Tick: Hashable, Sendable {
    /// The vsync's number since the clock began.
    public let index: Int
    /// When the frame may begin.
    public let begin: Int64
    /// The vsync by which it is due.
    public let deadline: Int64
  }

  /// Frames in a second.
  public let hertz: Double
  private let origin: Int64
  private var next = 0

  /// A clock whose first frame begins now.
  public init(hertz: Double) {
    self.hertz = hertz
    origin = MonotonicClock.now
  }

  private func time(of index: Int) -> Int64 { origin + Int64((Double(index) * 1e9 / hertz).rounded()) }

  /// Sleeps until the next vsync that has not passed.
  public mutating func waitForNextFrame() -> Tick {
    let now = MonotonicClock.now
    if next > 0, now > time(of: next) {
      next = Int((Double(now - origin) * hertz / 1e9).rounded(.up))
    }
    let tick = Tick(index: next, begin: time(of: next), deadline: time(of: next + 1))
    MonotonicClock.sleep(until: tick.begin)
    next += 1
    return tick
  }
}
