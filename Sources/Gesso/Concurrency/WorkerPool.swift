import Dispatch
import Foundation

/// A fixed number of threads that do jobs, the most urgent first, and of equal ones the oldest.
///
/// Thread-safety: any thread.
final class WorkerPool: Sendable {
  /// For all drawers that do not ask for workers of their own: one thread less than there are processors, which is for
  /// the main thread, and at least one.
  static let shared = WorkerPool(count: SystemResources.processors - 1)

  typealias Job = @Sendable () -> Void

  private struct Queue {
    var jobs: [(number: Int, job: Job)?] = []
    var head = 0

    mutating func append(_ job: @escaping Job, number: Int) { jobs.append((number, job)) }

    /// When the first job came; later ones have larger numbers.
    var firstNumber: Int? { head < jobs.count ? jobs[head]?.number : nil }

    mutating func popFirst() -> Job? {
      guard head < jobs.count else { return nil }
      let job = jobs[head]?.job
      jobs[head] = nil
      head += 1
      if head == jobs.count {
        jobs.removeAll(keepingCapacity: true)
        head = 0
      } else if head > 64, head * 2 > jobs.count {
        jobs.removeFirst(head)
        head = 0
      }
      return job
    }
  }

  /// What the threads share; they keep it, and not the pool, so that a pool that nobody needs ends its threads.
  private final class Shared: Sendable {
    struct State {
      var queues = [Queue](repeating: Queue(), count: DrawPriority.allCases.count)
      var submitted = 0
      var taken = 0
      var sleeping = 0
      var isStopped = false

      /// The most urgent job; but each eighth time the oldest one, so that none waits for ever.
      mutating func takeJob() -> Job? {
        taken += 1
        if taken % 8 == 0 {
          let waiting = queues.indices.filter { queues[$0].firstNumber != nil }
          guard let oldest = waiting.min(by: { queues[$0].firstNumber! < queues[$1].firstNumber! }) else { return nil }
          return queues[oldest].popFirst()
        }
        for priority in queues.indices.reversed() {
          if let job = queues[priority].popFirst() { return job }
        }
        return nil
      }
    }
    let state = Lock(State())
    let wake = DispatchSemaphore(value: 0)

    /// The next job; waits for one. `nil`: the pool has stopped.
    func next() -> Job? {
      while true {
        var isStopped = false
        let job = state.withLock { state -> Job? in
          if let job = state.takeJob() { return job }
          isStopped = state.isStopped
          if !isStopped { state.sleeping += 1 }
          return nil
        }
        if let job { return job }
        if isStopped { return nil }
        wake.wait()
      }
    }
  }

  private let shared = Shared()

  /// How many threads there are.
  let count: Int

  /// Starts the threads.
  init(count: Int, name: String = "gesso.worker") {
    self.count = max(1, count)
    for index in 0..<self.count {
      let thread = Thread { [shared] in
        while let job = shared.next() { job() }
      }
      thread.name = "\(name).\(index)"
      // Draw blocks are the user's: they get what a main thread has.
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  deinit {
    let sleeping = shared.state.withLock { state in
      state.isStopped = true
      defer { state.sleeping = 0 }
      return state.sleeping
    }
    for _ in 0..<sleeping { shared.wake.signal() }
  }

  /// Does a job on one of the threads.
  func submit(priority: DrawPriority = .normal, _ job: @escaping Job) {
    let wakes = shared.state.withLock { state in
      state.submitted += 1
      state.queues[priority.rawValue].append(job, number: state.submitted)
      guard state.sleeping > 0 else { return false }
      state.sleeping -= 1
      return true
    }
    // A system call only when a thread sleeps, and outside of the lock.
    if wakes { shared.wake.signal() }
  }
}
