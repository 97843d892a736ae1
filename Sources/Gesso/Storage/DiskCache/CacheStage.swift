import Dispatch
import Foundation

/// Between those who ask a disk cache and the one thread that writes: what was asked for is known at once, and done soon.
///
/// Bounded: of blobs that find no room the oldest are dropped, and nothing of the key is found from then on.
///
/// Thread-safety: any thread asks; one writes.
final class CacheStage: Sendable {
  /// What came in so many nanoseconds is written in one go.
  private static let patience: Int64 = 10_000_000

  enum Work: Sendable {
    case batch(StagedChanges.Batch)
    /// Something else that only the writing thread may do.
    case command(@Sendable (CacheWriter) -> Void)
    case stop
  }

  private enum Rest: Equatable {
    case none
    case sleeps
    /// Until there is more, or something comes that cannot wait.
    case collects
    /// Until something comes that cannot wait.
    case pauses
  }

  private struct State {
    var changes = StagedChanges()
    var commands: [@Sendable (CacheWriter) -> Void] = []
    /// Who waits until what was asked for up to a version is done, or has failed.
    var waiters: [(version: Int, finish: @Sendable (FileFailure?) -> Void)] = []
    /// When the first of what waits came; 0: it need not wait for more.
    var since: Int64 = 0
    /// After a failure, nothing is tried before this.
    var pausedUntil: Int64 = 0
    var rest = Rest.none
    /// Whether the last work was a batch: a command comes after each, however many there are.
    var isCommandsTurn = false
    var isStopped = false

    /// Whether somebody waits for what is done.
    var isAwaited: Bool { !waiters.isEmpty || !commands.isEmpty || isStopped }
    var isUrgent: Bool { changes.isBatch || isAwaited }
    var wakes: Bool {
      switch rest {
      case .none: false
      case .sleeps: true
      case .collects: isUrgent
      case .pauses: isAwaited
      }
    }

    mutating func wait(_ finish: @escaping @Sendable (FileFailure?) -> Void) {
      waiters.append((changes.version, finish))
    }

    mutating func takeWaiters(before version: Int = .max) -> [@Sendable (FileFailure?) -> Void] {
      defer { waiters.removeAll { $0.version < version } }
      return waiters.filter { $0.version < version }.map(\.finish)
    }
  }

  private let state = Lock(State())
  private let wake = DispatchSemaphore(value: 0)

  // MARK: Asking

  /// Changes what waits, and wakes the thread that writes if it has to know now: outside of the lock.
  private func change(_ body: (inout sending State) -> Void) {
    let wakes = state.withLock { state in
      let wasEmpty = state.changes.isEmpty
      body(&state)
      if wasEmpty { state.since = MonotonicClock.now }
      let wakes = state.wakes
      if wakes { state.rest = .none }
      return wakes
    }
    if wakes { wake.signal() }
  }

  func put(_ blob: Data, for key: BitmapKey) {
    let staged = StagedBlob(blob)
    change { $0.changes.put(staged, for: key) }
  }

  /// Removes keys.
  /// - Parameter finish: called once, when that is done, or has failed.
  func remove(_ keys: [BitmapKey], finish: @escaping @Sendable (FileFailure?) -> Void) {
    change { state in
      state.changes.remove(keys)
      state.wait(finish)
    }
  }

  /// Forgets what a key is from now on, without waiting.
  func drop(_ key: BitmapKey) { change { $0.changes.drop(key) } }

  /// Counts a blob that is not kept.
  func countDropped() { state.withLock { $0.changes.countDropped() } }

  func removeAll(_ selection: KeySelection, finish: @escaping @Sendable (FileFailure?) -> Void) {
    change { state in
      state.changes.removeAll(.selected(selection))
      state.wait(finish)
    }
  }

  func noteDamaged(_ slots: [PlacedSlot]) { change { $0.changes.note(slots) } }

  /// Calls back when all that was asked for before is done, or has failed.
  func flush(_ finish: @escaping @Sendable (FileFailure?) -> Void) { change { $0.wait(finish) } }

  func perform(_ command: @escaping @Sendable (CacheWriter) -> Void) { change { $0.commands.append(command) } }

  /// Lets the thread end, after all that was asked for.
  func stop() { change { $0.isStopped = true } }

  /// What is known of a key that the disk does not know yet; `nil`: nothing.
  func look(_ key: BitmapKey) -> Data?? { state.withLock { $0.changes.change(of: key) } }

  /// Blobs that wait; those that were dropped.
  var counts: (waiting: Int, dropped: Int) { state.withLock { ($0.changes.blobCount, $0.changes.dropped) } }

  // MARK: Writing

  /// What is to be done next; waits for it.
  func next() -> Work {
    enum Next {
      case work(Work)
      case tell([@Sendable (FileFailure?) -> Void])
      case wait(nanoseconds: Int64?)
    }
    while true {
      let next = state.withLock { state -> Next in
        state.rest = .none
        let now = MonotonicClock.now
        if !state.commands.isEmpty, state.isCommandsTurn || state.changes.isEmpty || now < state.pausedUntil {
          state.isCommandsTurn = false
          return .work(.command(state.commands.removeFirst()))
        }
        // Who waits wants to know: for him it is tried before a pause is over.
        let isPaused = now < state.pausedUntil && state.waiters.isEmpty && !state.isStopped
        if !state.changes.isEmpty, !isPaused {
          let age = now - state.since
          guard state.isUrgent || age >= Self.patience else {
            state.rest = .collects
            return .wait(nanoseconds: Self.patience - age)
          }
          state.isCommandsTurn = true
          return .work(.batch(state.changes.batch()))
        }
        if state.changes.isEmpty, !state.waiters.isEmpty { return .tell(state.takeWaiters()) }
        if state.isStopped { return .work(.stop) }
        state.rest = isPaused ? .pauses : .sleeps
        return .wait(nanoseconds: isPaused ? state.pausedUntil - now : nil)
      }
      switch next {
      case .work(let work): return work
      case .tell(let waiters): for finish in waiters { finish(nil) }
      case .wait(nanoseconds: nil): wake.wait()
      case .wait(let time?): _ = wake.wait(timeout: .now() + .nanoseconds(Int(time)))
      }
    }
  }

  /// A batch was written.
  func finish(_ batch: StagedChanges.Batch) {
    let waiters = state.withLock { state in
      state.changes.finish(batch)
      state.since = MonotonicClock.now
      state.pausedUntil = 0
      return state.takeWaiters(before: state.changes.oldest)
    }
    for finish in waiters { finish(nil) }
  }

  /// A batch could not be written: what is in it stays, and is tried again after a pause.
  func fail(_ batch: StagedChanges.Batch, _ failure: FileFailure, pause nanoseconds: Int64) {
    let waiters = state.withLock { state in
      state.changes.fail(batch)
      state.pausedUntil = MonotonicClock.now + nanoseconds
      // Nobody is there any more who could want it.
      if state.isStopped { state.changes = StagedChanges() }
      return state.takeWaiters()
    }
    for finish in waiters { finish(failure) }
  }
}
