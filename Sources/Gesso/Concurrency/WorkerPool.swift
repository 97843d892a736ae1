import Dispatch
import Foundation
import Synchronization

/// A fixed number of threads that do jobs: the most urgent first, of equal ones that with the nearest deadline, and then
/// the oldest.
///
/// Thread-safety: any thread.
final class WorkerPool: Sendable {
  /// For all drawers that do not ask for workers of their own: one thread less than there are processors, which is for
  /// the main thread, and at least one.
  static let shared = WorkerPool(count: SystemResources.processors - 1)

  typealias Job = @Sendable () -> Void

  /// A job in a queue. It is done once, or dropped.
  final class Ticket: Sendable {
    fileprivate let priority: DrawPriority
    /// When it should be done, if that matters.
    fileprivate let deadline: DrawDeadline?
    // Proof of safety: it is set before the ticket is shared, and touched once after, by the one who takes it.
    private nonisolated(unsafe) var job: Job?
    private let isTaken = Atomic(false)

    init(priority: DrawPriority = .normal, deadline: DrawDeadline? = nil, _ job: @escaping Job) {
      self.priority = priority
      self.deadline = deadline
      self.job = job
    }

    fileprivate var waits: Bool { !isTaken.load(ordering: .relaxed) }

    fileprivate func take() -> Job? {
      guard !isTaken.exchange(true, ordering: .acquiringAndReleasing) else { return nil }
      defer { job = nil }
      return job
    }

  }

  private enum Leftover: Sendable {
    case arrivals([Ticket])
    case queue([Entry])
  }

  private struct Entry: Sendable {
    let number: Int
    let ticket: Ticket

    func comes(before other: Entry) -> Bool {
      let (own, others) = (ticket.deadline, other.ticket.deadline)
      if own.comes(before: others) { return true }
      return number < other.number && !others.comes(before: own)
    }
  }

  /// What the threads share; they keep it, and not the pool, so that a pool that nobody needs ends its threads.
  private final class Shared: Sendable {
    struct State {
      /// For each priority a binary heap.
      var queues = [[Entry]](repeating: [], count: DrawPriority.allCases.count)
      /// All of them, in the order in which they came.
      var arrivals: [Ticket] = []
      /// Those at its beginning that are done.
      var departed = 0
      var submitted = 0
      var taken = 0
      /// Tickets that wait; others may still lie in the queues.
      var waiting = 0
      var sleeping = 0
      var isStopped = false

      /// The most urgent job; but each eighth time the oldest one, so that none waits for ever.
      mutating func takeJob() -> Job? {
        taken += 1
        if taken % 8 == 0 {
          while departed < arrivals.count {
            departed += 1
            if let job = claim(arrivals[departed - 1]) { return job }
          }
        }
        for priority in queues.indices.reversed() {
          while let entry = queues[priority].popFirstOfHeap({ $0.comes(before: $1) }) {
            if let job = claim(entry.ticket) { return job }
          }
        }
        return nil
      }

      private mutating func claim(_ ticket: Ticket) -> Job? {
        guard let job = ticket.take() else { return nil }
        waiting -= 1
        return job
      }

      mutating func append(_ ticket: Ticket) -> [Leftover] {
        submitted += 1
        waiting += 1
        queues[ticket.priority.rawValue].pushToHeap(Entry(number: submitted, ticket: ticket)) { $0.comes(before: $1) }
        arrivals.append(ticket)
        return purge()
      }

      /// Keeps what was done or dropped from piling up. Returns what is left over, for the caller to free.
      mutating func purge() -> [Leftover] {
        let most = 2 * waiting + 64
        var leftovers: [Leftover] = []
        if arrivals.count > most {
          leftovers.append(.arrivals(arrivals))
          arrivals = arrivals[departed...].filter { $0.waits }
          departed = 0
        }
        for priority in queues.indices where queues[priority].count > most {
          leftovers.append(.queue(queues[priority]))
          queues[priority] = queues[priority].filter { $0.ticket.waits }.sorted { $0.comes(before: $1) }
        }
        return leftovers
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

  /// How many jobs wait for a thread.
  var waiting: Int { shared.state.withLock { $0.waiting } }

  /// How many lie in the queues, also those that were dropped.
  var queued: Int {
    shared.state.withLock { state in max(state.arrivals.count, state.queues.reduce(0) { $0 + $1.count }) }
  }

  /// Does a job on one of the threads.
  func submit(_ ticket: Ticket) {
    let (wakes, leftovers) = shared.state.withLock { state in
      let leftovers = state.append(ticket)
      guard state.sleeping > 0 else { return (false, leftovers) }
      state.sleeping -= 1
      return (true, leftovers)
    }
    // A system call only when a thread sleeps, and outside of the lock.
    if wakes { shared.wake.signal() }
    if !leftovers.isEmpty { Self.free(leftovers) }
  }

  /// The same for a job that nobody drops.
  func submit(priority: DrawPriority = .normal, _ job: @escaping Job) { submit(Ticket(priority: priority, job)) }

  /// Gives jobs up that have not begun.
  func drop(_ tickets: some Sequence<Ticket>) {
    // What jobs refer to, such as their drawer, is freed after the lock is given up.
    let (jobs, leftovers) = shared.state.withLock { state in
      let jobs = tickets.compactMap { $0.take() }
      state.waiting -= jobs.count
      return (jobs, state.purge())
    }
    withExtendedLifetime(jobs) {}
    if !leftovers.isEmpty { Self.free(leftovers) }
  }

  /// Frees something elsewhere: of a hundred thousand jobs that would take a main thread longer than a frame.
  static func free(_ value: some Sendable) {
    DispatchQueue.global(qos: .background).async { withExtendedLifetime(value) {} }
  }
}

extension Array {
  /// Adds to a binary heap whose first is the one that comes before all others.
  fileprivate mutating func pushToHeap(_ element: Element, _ comesBefore: (Element, Element) -> Bool) {
    append(element)
    var place = count - 1
    while place > 0, comesBefore(self[place], self[(place - 1) / 2]) {
      swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  fileprivate mutating func popFirstOfHeap(_ comesBefore: (Element, Element) -> Bool) -> Element? {
    guard let first else { return nil }
    let last = removeLast()
    guard !isEmpty else { return first }
    self[0] = last
    var place = 0
    while true {
      var next = 2 * place + 1
      guard next < count else { return first }
      if next + 1 < count, comesBefore(self[next + 1], self[next]) { next += 1 }
      guard comesBefore(self[next], self[place]) else { return first }
      swapAt(place, next)
      place = next
    }
  }
}
