internal import CGessoSystem
import Dispatch
import Foundation

/// Where completions are called. `DispatchQueue.main` is the default; any dispatch queue is one.
///
/// Thread-safety: `enqueue` is called from any thread. It must not call `work` before it returns, unless that is its
/// purpose, as it is of ``ImmediateCompletionQueue``.
public protocol CompletionQueue: Sendable {
  /// Calls `work`, once.
  func enqueue(_ work: @escaping @Sendable () -> Void)

  /// Whether all that is enqueued is called on the main actor. If not, a ``DrawSlot`` goes there by itself.
  var isMainActor: Bool { get }
}

extension CompletionQueue {
  /// Not known to be.
  public var isMainActor: Bool { false }
}

extension DispatchQueue: CompletionQueue {
  /// Whether this is the main queue.
  public var isMainActor: Bool { self === DispatchQueue.main }

  /// Calls `work` on this queue.
  public func enqueue(_ work: @escaping @Sendable () -> Void) { async(execute: work) }
}

/// Calls completions at once, on the thread that has the result: mostly a worker, which they hold up while they run.
public struct ImmediateCompletionQueue: CompletionQueue {
  /// A queue.
  public init() {}
  /// Calls `work`.
  public func enqueue(_ work: @escaping @Sendable () -> Void) { work() }
}

/// Keeps completions until a frame loop drains them, within the time that it has.
///
/// ``fileDescriptor`` becomes readable when there is something to drain, for loops that poll.
///
/// Thread-safety: any thread; one at a time drains.
public final class DrainedCompletionQueue: CompletionQueue {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var isSignalled = false
  }

  private let state = Lock(State())

  /// An `eventfd` that is readable while completions wait; -1 if the system had none to give.
  public let fileDescriptor: Int32

  /// Whether ``drain(budget:)`` is called on the main actor only.
  public let isMainActor: Bool

  /// A queue.
  /// - Parameter isMainActor: whether it will be drained on the main actor only, as the frame loop of a program is.
  public init(isMainActor: Bool = true) {
    self.isMainActor = isMainActor
    fileDescriptor = gesso_eventfd()
  }

  deinit { if fileDescriptor >= 0 { close(fileDescriptor) } }

  /// Whether nothing waits.
  public var isEmpty: Bool { state.withLock { $0.waiting.isEmpty } }

  /// Keeps `work` for the next drain.
  public func enqueue(_ work: @escaping @Sendable () -> Void) {
    let signals = state.withLock { state in
      state.waiting.append(work)
      defer { state.isSignalled = true }
      return !state.isSignalled
    }
    if signals { signal() }
  }

  private func signal() {
    guard fileDescriptor >= 0 else { return }
    var one: UInt64 = 1
    _ = write(fileDescriptor, &one, 8)
  }

  /// Calls what waits, in order, on the calling thread.
  /// - Parameter budget: nanoseconds; once they are over no further one is begun. At least one is called.
  /// - Returns: how many were called.
  @discardableResult
  public func drain(budget: Int64 = .max) -> Int {
    let begin = MonotonicClock.now
    var work = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting[...]
    }
    var called = 0
    while let first = work.popFirst() {
      first()
      called += 1
      if budget != .max, MonotonicClock.now - begin >= budget { break }
    }
    let left = Array(work)
    let signals = state.withLock { state in
      state.waiting.insert(contentsOf: left, at: 0)
      // One that was called may have drained, and taken the signal with it.
      defer { state.isSignalled = !state.waiting.isEmpty }
      if state.waiting.isEmpty, fileDescriptor >= 0 {
        var count: UInt64 = 0
        _ = read(fileDescriptor, &count, 8)
      }
      return !state.waiting.isEmpty && !state.isSignalled
    }
    if signals { signal() }
    return called
  }
}
