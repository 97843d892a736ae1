import Synchronization

/// What a drawer has done so far.
public struct DrawerStatistics: Hashable, Sendable {
  /// Requests that were answered from memory.
  public var memoryHits = 0
  /// Draw blocks that were run.
  public var draws = 0
  /// Requests that joined the draw of another one.
  public var coalesced = 0
  /// Requests that were cancelled.
  public var cancelled = 0
  /// Draws that never began, because all who waited for them had cancelled.
  public var cancelledBeforeStart = 0
  /// Draws that failed.
  public var failures = 0
  /// Microseconds spent in draw blocks.
  public var drawMicroseconds = 0
}

/// The counters behind the statistics.
final class DrawerCounters: Sendable {
  let memoryHits = Atomic(0)
  let draws = Atomic(0)
  let coalesced = Atomic(0)
  let cancelled = Atomic(0)
  let cancelledBeforeStart = Atomic(0)
  let failures = Atomic(0)
  let drawNanoseconds = Atomic(0)

  var snapshot: DrawerStatistics {
    DrawerStatistics(
      memoryHits: memoryHits.load(ordering: .relaxed), draws: draws.load(ordering: .relaxed),
      coalesced: coalesced.load(ordering: .relaxed), cancelled: cancelled.load(ordering: .relaxed),
      cancelledBeforeStart: cancelledBeforeStart.load(ordering: .relaxed),
      failures: failures.load(ordering: .relaxed),
      drawMicroseconds: drawNanoseconds.load(ordering: .relaxed) / 1000)
  }
}

extension Atomic where Value == Int {
  func increment() { wrappingAdd(1, ordering: .relaxed) }
}
