import Synchronization

/// For completions that only wake who waits: called at once, even by a draw block's thread.
struct WakingQueue: CompletionQueue {
  func enqueue(_ work: @escaping @Sendable () -> Void) { work() }
}

/// A request under way: a handle to cancel it with.
///
/// Thread-safety: any thread.
public final class DrawTask: Sendable {
  typealias Completion = @Sendable (DrawOutcome) -> Void

  /// Requests of a drawer that are given up together, however many there are, by one flag.
  final class Epoch: Sendable {
    fileprivate weak let drawer: CachedDrawer?
    fileprivate let isOver = Atomic(false)
    init(of drawer: CachedDrawer) { self.drawer = drawer }
    func end() { isOver.store(true, ordering: .releasing) }
  }

  /// Ended before it began, for requests that were answered at once.
  static let ended = DrawTask()

  private let isOver: Atomic<Bool>
  /// Taken out when it is called, so that a task which is kept does not keep what its completion refers to.
  // Proof of safety: it is set before the task is shared, and touched once after, by the one who claims the task.
  private nonisolated(unsafe) var completion: Completion?
  private let queue: (any CompletionQueue)?
  /// Whether its completion only wakes a thread or a task, and runs no code of a user's.
  var onlyWakes: Bool { queue is WakingQueue }
  /// Of a request that a drawer has among its jobs, and may be asked to give up, and what it is for.
  private let epoch: Epoch?
  private let key: BitmapKey?
  /// How urgent it is, and until when.
  let priority: DrawPriority
  let deadline: DrawDeadline?

  private init() {
    isOver = Atomic(true)
    completion = nil
    queue = nil
    epoch = nil
    key = nil
    (priority, deadline) = (.normal, nil)
  }

  init(
    queue: any CompletionQueue, epoch: Epoch? = nil, key: BitmapKey? = nil, priority: DrawPriority = .normal,
    deadline: DrawDeadline? = nil, completion: @escaping Completion
  ) {
    isOver = Atomic(false)
    self.completion = completion
    self.queue = queue
    self.epoch = epoch
    self.key = key
    (self.priority, self.deadline) = (priority, deadline)
  }

  /// Whether the outcome has been delivered, or a cancel has decided it.
  public var isFinished: Bool { isOver.load(ordering: .acquiring) || isGivenUp }

  private var isGivenUp: Bool { epoch?.isOver.load(ordering: .acquiring) ?? false }

  /// Gives the request up. Its outcome is `.cancelled`, unless another one was delivered before.
  ///
  /// Called on the thread that completions are called on, no bitmap comes after this returns. A draw that nobody else
  /// waits for is dropped if it has not begun; one that has begun may see ``DrawingContext/isCancelled``, and is kept if it
  /// does not ask.
  public func cancel() { cancel(stopsDraw: true) }

  /// Gives the request up for a newer one. A draw that has begun goes on, or places whose requests change all the time
  /// would never get anything.
  func supersede() { cancel(stopsDraw: false) }

  private func cancel(stopsDraw: Bool) {
    guard !isGivenUp, claim(), let queue else { return }
    if let key, let drawer = epoch?.drawer { drawer.cancel(self, of: key, stopsDraw: stopsDraw) }
    let completion = takeCompletion()
    queue.enqueue { completion?(.cancelled) }
  }

  /// Tells a task whose epoch has ended. False if it had an outcome before.
  func endAsCancelled() -> Bool {
    guard claim(), let queue else { return false }
    let completion = takeCompletion()
    queue.enqueue { completion?(.cancelled) }
    return true
  }

  /// Delivers an outcome, unless the task is cancelled before its turn comes.
  func deliver(_ outcome: DrawOutcome) {
    queue?.enqueue { [self] in
      // Decided here and not when the result came: a cancel until this very moment wins. One of all tasks does not know of
      // this one, which was on its way.
      if claim() { takeCompletion()?(isGivenUp ? .cancelled : outcome) }
    }
  }

  /// For the one who has claimed the task.
  private func takeCompletion() -> Completion? {
    defer { completion = nil }
    return completion
  }

  /// True for the one who may decide the outcome.
  private func claim() -> Bool {
    isOver.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
  }
}
