import Synchronization

/// A request under way: a handle to cancel it with.
///
/// Thread-safety: any thread.
public final class DrawTask: Sendable {
  typealias Completion = @Sendable (DrawOutcome) -> Void

  /// Ended before it began, for requests that were answered at once.
  static let ended = DrawTask()

  private let isOver: Atomic<Bool>
  /// Taken out when it is called, so that a task which is kept does not keep what its completion refers to.
  private let completion: Lock<Completion?>
  private let queue: (any CompletionQueue)?
  private let cancellation: (@Sendable (DrawTask) -> Void)?

  private init() {
    isOver = Atomic(true)
    completion = Lock(nil)
    queue = nil
    cancellation = nil
  }

  init(
    queue: any CompletionQueue, cancellation: @escaping @Sendable (DrawTask) -> Void, completion: @escaping Completion
  ) {
    isOver = Atomic(false)
    self.completion = Lock(completion)
    self.queue = queue
    self.cancellation = cancellation
  }

  /// Whether the outcome has been delivered, or a cancel has decided it.
  public var isFinished: Bool { isOver.load(ordering: .acquiring) }

  /// Gives the request up. Its outcome is `.cancelled`, unless another one was delivered before.
  ///
  /// Called on the thread that completions are called on, no bitmap comes after this returns. A draw that nobody else
  /// waits for and that has not begun is dropped; one that has begun goes on, and its bitmap is kept.
  public func cancel() {
    guard claim(), let queue else { return }
    cancellation?(self)
    let completion = takeCompletion()
    queue.enqueue { completion?(.cancelled) }
  }

  /// Delivers an outcome, unless the task is cancelled before its turn comes.
  func deliver(_ outcome: DrawOutcome) {
    queue?.enqueue { [self] in
      // Decided here and not when the result came: a cancel until this very moment wins.
      if claim() { takeCompletion()?(outcome) }
    }
  }

  private func takeCompletion() -> Completion? {
    completion.withLock { completion in
      defer { completion = nil }
      return completion
    }
  }

  /// True for the one who may decide the outcome.
  private func claim() -> Bool {
    isOver.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
  }
}
