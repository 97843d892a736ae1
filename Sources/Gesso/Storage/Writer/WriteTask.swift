import Foundation
import Synchronization

/// A write that was asked for: how far it is, and a way to give it up.
///
/// Thread-safety: any thread.
public final class WriteTask: Sendable {
  /// From one to the next, and never back.
  enum Stage: Int, AtomicRepresentable {
    case waiting
    case writing
    /// The file has its name, or is about to get it.
    case committed
    case cancelled
    /// There was no room for it.
    case refused
  }

  private let stage = Atomic(Stage.waiting)
  private let written = Atomic(0)
  private let total = Atomic(-1)
  private let shown = Lock<Progress?>(nil)
  /// Called when it is cancelled before it has begun.
  private let whenDropped: Lock<(@Sendable () -> Void)?> = Lock(nil)

  init() {}

  /// Bytes that are written.
  public var bytesWritten: Int { written.load(ordering: .relaxed) }

  /// Bytes to write; `nil` as long as that is not known.
  public var byteCount: Int? {
    let count = total.load(ordering: .relaxed)
    return count < 0 ? nil : count
  }

  /// The same in Foundation's words: it is indeterminate at first, counts bytes, and cancels.
  public var progress: Progress {
    shown.withLock { shown in
      if let progress = shown { return progress }
      let progress = Progress(totalUnitCount: Int64(byteCount ?? -1))
      progress.completedUnitCount = Int64(bytesWritten)
      progress.cancellationHandler = { [weak self] in self?.cancel() }
      shown = progress
      return progress
    }
  }

  /// Gives the write up: no file appears under its name, and an older one stays, unless this comes too late. Then it ends
  /// with success. Otherwise it ends with `StorageError.cancelled`.
  /// - Returns: whether it came in time.
  @discardableResult
  public func cancel() -> Bool {
    if advance(from: .waiting, to: .cancelled) {
      whenDropped.withLock { dropped in
        defer { dropped = nil }
        return dropped
      }?()
      return true
    }
    return advance(from: .writing, to: .cancelled) || isCancelled
  }

  var isCancelled: Bool { stage.load(ordering: .acquiring) == .cancelled }

  func advance(from old: Stage, to new: Stage) -> Bool {
    stage.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
  }

  /// What is to be done if it is cancelled before it has begun: it is done at once if that has been so already.
  func onDrop(_ body: @escaping @Sendable () -> Void) {
    whenDropped.withLock { $0 = body }
    if isCancelled {
      whenDropped.withLock { dropped in
        defer { dropped = nil }
        return dropped
      }?()
    }
  }

  /// It is being written, or has ended: nobody drops it any more.
  func forgetDrop() { whenDropped.withLock { $0 = nil } }

  func setTotal(_ count: Int) {
    total.store(count, ordering: .relaxed)
    shown.withLock { $0 }?.totalUnitCount = Int64(count)
  }

  func add(_ count: Int) {
    let sum = written.add(count, ordering: .relaxed).newValue
    shown.withLock { $0 }?.completedUnitCount = Int64(sum)
  }
}
