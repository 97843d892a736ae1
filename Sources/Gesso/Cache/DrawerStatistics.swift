internal import CGessoSystem
import Synchronization

/// What a drawer has done so far.
public struct DrawerStatistics: Hashable, Sendable {
  /// Requests that were answered from memory.
  public var memoryHits = 0
  /// Requests that were answered by a store on this machine.
  public var diskHits = 0
  /// Requests that were answered by a store on another one.
  public var remoteHits = 0
  /// Requests that were not in memory.
  public var misses = 0
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
  /// Reads and writes of stores that failed, and blobs that they gave and that were none.
  public var storeFailures = 0
  /// Microseconds spent in draw blocks.
  public var drawMicroseconds = 0
  /// Microseconds of these that were spent for nobody: all who waited had cancelled.
  public var wastedMicroseconds = 0
  /// How long draw blocks took.
  public var drawTimes = Histogram()
  /// How long draws waited for a thread.
  public var queueTimes = Histogram()
  /// Draw blocks that run now.
  public var running = 0
  /// Microseconds that the one has run which began first: a block that never returns is seen here.
  public var longestRunningMicroseconds = 0
  /// Of the memory cache, if it is a ``MemoryCache``.
  public var memory: MemoryCache.Statistics?

  /// Requests that were answered without drawing, of all; 0 if there were none.
  public var hitRatio: Double {
    let requests = memoryHits + misses
    return requests == 0 ? 0 : Double(memoryHits + diskHits + remoteHits) / Double(requests)
  }

  /// Times by powers of two of microseconds.
  public struct Histogram: Hashable, Sendable {
    /// How many times were below 1 µs, 2 µs, 4 µs and so on, each not counted in those before.
    public private(set) var counts = [Int](repeating: 0, count: 40)

    /// How many times there are.
    public var count: Int { counts.reduce(0, +) }

    mutating func add(nanoseconds: Int64) {
      let microseconds = UInt64(max(0, nanoseconds) / 1000)
      counts[min(counts.count - 1, UInt64.bitWidth - microseconds.leadingZeroBitCount)] += 1
    }

    /// Microseconds that a part of the times, 0…1, are not above; to the next power of two.
    public func microseconds(below part: Double) -> Int {
      var left = Int((Double(count) * (part > 0 ? min(part, 1) : 0)).rounded(.up))
      for (power, count) in counts.enumerated() {
        left -= count
        if left <= 0 { return 1 << power }
      }
      return 0
    }
  }
}

/// The counters behind the statistics.
final class DrawerCounters: Sendable {
  let memoryHits = StripedCounter()
  let diskHits = Atomic(0)
  let remoteHits = Atomic(0)
  let misses = Atomic(0)
  let draws = Atomic(0)
  let coalesced = Atomic(0)
  let cancelled = Atomic(0)
  let cancelledBeforeStart = Atomic(0)
  let failures = Atomic(0)
  let storeFailures = Atomic(0)
  let drawNanoseconds = Atomic(0)
  let wastedNanoseconds = Atomic(0)
  let times = Lock((draw: DrawerStatistics.Histogram(), queue: DrawerStatistics.Histogram()))

  var snapshot: DrawerStatistics {
    var statistics = DrawerStatistics(
      memoryHits: memoryHits.value, diskHits: diskHits.load(ordering: .relaxed),
      remoteHits: remoteHits.load(ordering: .relaxed), misses: misses.load(ordering: .relaxed),
      draws: draws.load(ordering: .relaxed), coalesced: coalesced.load(ordering: .relaxed),
      cancelled: cancelled.load(ordering: .relaxed),
      cancelledBeforeStart: cancelledBeforeStart.load(ordering: .relaxed),
      failures: failures.load(ordering: .relaxed), storeFailures: storeFailures.load(ordering: .relaxed),
      drawMicroseconds: drawNanoseconds.load(ordering: .relaxed) / 1000,
      wastedMicroseconds: wastedNanoseconds.load(ordering: .relaxed) / 1000)
    (statistics.drawTimes, statistics.queueTimes) = times.withLock { ($0.draw, $0.queue) }
    return statistics
  }
}

extension Atomic where Value == Int {
  func increment() { wrappingAdd(1, ordering: .relaxed) }
}

/// A counter of what happens so often that threads would get into each other's way.
final class StripedCounter: Sendable {
  private static let count = 8
  private final class Stripe: Sendable {
    let value = Atomic(0)
    /// Keeps two stripes off the same cache line.
    let padding: (Int, Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0, 0)
  }
  private let stripes = (0..<count).map { _ in Stripe() }

  func increment() { stripes[Int(gesso_thread_ordinal()) % Self.count].value.increment() }
  var value: Int { stripes.reduce(0) { $0 + $1.value.load(ordering: .relaxed) } }
}
