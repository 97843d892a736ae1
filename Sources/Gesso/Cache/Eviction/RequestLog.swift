internal import CGessoSystem
import Synchronization

/// Requests that were hits, until a miss tells the policy of them: so that a hit needs no lock that all share.
///
/// Each thread writes to one of some rings. A ring that is full begins anew: what nobody has read by then is lost, and
/// the policy knows a bit less. Thread-safety: `append` on any thread; one at a time drains.
final class RequestLog: Sendable {
  private static let ringSize = 4096
  private static let ringCount = 8

  private struct Ring: ~Copyable {
    let hashes: UnsafeMutablePointer<Atomic<UInt64>>
    let position = Atomic(0)
    /// Keeps the counters of two rings off the same cache line.
    let padding: (Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int) =
      (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

    init() {
      hashes = .allocate(capacity: RequestLog.ringSize)
      for place in 0..<RequestLog.ringSize { (hashes + place).initialize(to: Atomic(0)) }
    }

    deinit {
      hashes.deinitialize(count: RequestLog.ringSize)
      hashes.deallocate()
    }
  }

  // Proof of safety: the pointer never changes, and neither does what it points to but for atomics.
  private nonisolated(unsafe) let rings: UnsafeMutablePointer<Ring>

  init() {
    rings = .allocate(capacity: Self.ringCount)
    for place in 0..<Self.ringCount { (rings + place).initialize(to: Ring()) }
  }

  deinit {
    rings.deinitialize(count: Self.ringCount)
    rings.deallocate()
  }

  /// How far each ring has been read: kept by the one who drains.
  struct Marks {
    fileprivate var read = [Int](repeating: 0, count: RequestLog.ringCount)
  }

  func append(_ hash: UInt64) {
    let place = Int(gesso_thread_ordinal()) % Self.ringCount
    // Not in one step, which costs as much as all else here: where two threads share a ring, requests may get lost, of one
    // that was held up between these two even as many as the other one has made meanwhile.
    let position = rings[place].position.load(ordering: .relaxed)
    rings[place].position.store(position &+ 1, ordering: .relaxed)
    rings[place].hashes[position % Self.ringSize].store(hash, ordering: .relaxed)
  }

  /// Tells of the requests since the last time; of each thread in their order.
  func drain(_ marks: inout Marks, _ body: (UInt64) -> Void) {
    for index in 0..<Self.ringCount {
      let end = rings[index].position.load(ordering: .relaxed)
      for position in max(marks.read[index], end - Self.ringSize)..<max(marks.read[index], end) {
        body(rings[index].hashes[position % Self.ringSize].load(ordering: .relaxed))
      }
      marks.read[index] = end
    }
  }
}
