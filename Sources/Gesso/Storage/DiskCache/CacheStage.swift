import Dispatch
import Foundation

/// What a disk cache has been asked for and has not done yet: readable at once, the last word for each key counts.
///
/// Bounded: of blobs that find no room the oldest are dropped, and nothing of the key is found from then on. The newest
/// one waits, however large it is.
///
/// Thread-safety: any thread asks; one writes.
final class CacheStage: Sendable {
  /// Blobs that may wait, in bytes.
  private static let most = 16 << 20
  /// What is written in one go: so many blobs or bytes, or what came in so many nanoseconds.
  static let batchCount = 32
  static let batchBytes = 1 << 20
  private static let patience: Int64 = 10_000_000
  private static let mostRemovals = 1024

  /// A key's newest value; `nil`: it is removed.
  struct Change: Sendable {
    let key: BitmapKey
    let blob: Data?
    let version: Int
  }

  /// What is to be done in one go: selections are removed first, and what is changed came after them.
  struct Batch: Sendable {
    var selections: [KeySelection] = []
    var changes: [Change] = []
    var damaged: [PlacedSlot] = []
    fileprivate var version = 0
  }

  enum Work: Sendable {
    case batch(Batch)
    /// Something else that only the writing thread may do.
    case command(@Sendable (CacheWriter) -> Void)
    case stop
  }

  private enum Rest: Equatable {
    case none
    case sleeps
    /// Until something comes that cannot wait.
    case collects
  }

  private struct State {
    var changes: [BitmapKey: Change] = [:]
    var order: ArraySlice<(key: BitmapKey, version: Int)> = []
    var selections: [(selection: KeySelection, version: Int)] = []
    var damaged: [PlacedSlot] = []
    var commands: [@Sendable (CacheWriter) -> Void] = []
    /// Who waits until what was asked for up to a version is done, or has failed.
    var waiters: [(version: Int, finish: @Sendable (FileFailure?) -> Void)] = []
    var version = 0
    var byteCount = 0
    var blobCount = 0
    var dropped = 0
    /// When the first of what waits came; what it waits for is not known to fail.
    var since: Int64 = 0
    /// After a failure, nothing is tried before this.
    var pausedUntil: Int64 = 0
    var rest = Rest.none
    var isStopped = false

    var isEmpty: Bool { changes.isEmpty && selections.isEmpty && damaged.isEmpty }

    var isUrgent: Bool {
      blobCount >= batchCount || byteCount >= batchBytes || !waiters.isEmpty || !commands.isEmpty || isStopped
    }

    mutating func set(_ key: BitmapKey, _ blob: Data?) {
      version += 1
      if let old = changes.updateValue(Change(key: key, blob: blob, version: version), forKey: key) { forget(old) }
      order.append((key, version))
      if let blob { (byteCount, blobCount) = (byteCount + blob.count, blobCount + 1) }
      if since == 0 { since = MonotonicClock.now }
      if order.count > 2 * changes.count + 64 { order = order.filter { changes[$0.key]?.version == $0.version }[...] }
    }

    mutating func forget(_ change: Change) {
      if let blob = change.blob { (byteCount, blobCount) = (byteCount - blob.count, blobCount - 1) }
    }

    /// What waits for room longest gives it up. A key that is dropped is one that is removed: what is on the disk is older.
    mutating func shrink() {
      guard byteCount > most else { return }
      for (key, version) in order where byteCount > most && blobCount > 1 {
        guard let change = changes[key], change.version == version, change.blob != nil else { continue }
        forget(change)
        changes[key] = Change(key: key, blob: nil, version: version)
        dropped += 1
      }
    }

    mutating func batch() -> Batch {
      var batch = Batch(selections: selections.map(\.selection), damaged: damaged, version: version)
      damaged = []
      var (bytes, blobs) = (0, 0)
      for (key, version) in order {
        guard let change = changes[key], change.version == version else { continue }
        if let blob = change.blob {
          guard blobs < batchCount, bytes == 0 || bytes + blob.count <= batchBytes else { break }
          (bytes, blobs) = (bytes + blob.count, blobs + 1)
        }
        batch.changes.append(change)
        if batch.changes.count >= mostRemovals { break }
      }
      return batch
    }
  }

  private let state = Lock(State())
  private let wake = DispatchSemaphore(value: 0)

  // MARK: Asking

  /// Changes what waits, and wakes the thread that writes if it has to know now: outside of the lock.
  private func change<Result: Sendable>(_ body: (inout sending State) -> Result) -> Result {
    let (result, wakes) = state.withLock { state -> (Result, Bool) in
      let result = body(&state)
      let wakes = state.rest == .sleeps || (state.rest == .collects && state.isUrgent)
      if wakes { state.rest = .none }
      return (result, wakes)
    }
    if wakes { wake.signal() }
    return result
  }

  func put(_ blob: Data, for key: BitmapKey) {
    change { state in
      state.set(key, blob)
      state.shrink()
    }
  }

  /// Removes keys.
  /// - Parameter finish: called once, when that is done, or has failed.
  func remove(_ keys: [BitmapKey], finish: @escaping @Sendable (FileFailure?) -> Void) {
    change { state in
      for key in keys { state.set(key, nil) }
      state.waiters.append((state.version, finish))
    }
  }

  /// Forgets what a key is from now on, without waiting.
  func drop(_ key: BitmapKey) {
    change { state in
      state.set(key, nil)
      state.dropped += 1
    }
  }

  func removeAll(_ selection: KeySelection, finish: @escaping @Sendable (FileFailure?) -> Void) {
    change { state in
      for (key, change) in state.changes where selection.contains(key.identity) {
        state.forget(change)
        state.changes[key] = nil
      }
      state.version += 1
      state.selections.append((selection, state.version))
      state.waiters.append((state.version, finish))
    }
  }

  func noteDamaged(_ slot: PlacedSlot) { change { $0.damaged.append(slot) } }

  /// Calls back when all that was asked for before is done, or has failed.
  func flush(_ finish: @escaping @Sendable (FileFailure?) -> Void) {
    change { $0.waiters.append(($0.version, finish)) }
  }

  func perform(_ command: @escaping @Sendable (CacheWriter) -> Void) { change { $0.commands.append(command) } }

  /// Lets the thread end, after all that was asked for.
  func stop() { change { $0.isStopped = true } }

  enum Known {
    case blob(Data)
    case removed
    case nothing
  }

  /// What is known of a key that the disk does not know yet.
  func look(_ key: BitmapKey) -> Known {
    state.withLock { state in
      if let change = state.changes[key] { return change.blob.map { .blob($0) } ?? .removed }
      return state.selections.contains { $0.selection.contains(key.identity) } ? .removed : .nothing
    }
  }

  /// Blobs that wait; those that were dropped.
  var counts: (waiting: Int, dropped: Int) { state.withLock { ($0.blobCount, $0.dropped) } }

  // MARK: Writing

  /// What is to be done next; waits for it.
  func next() -> Work {
    while true {
      enum Next {
        case work(Work)
        case tell([@Sendable (FileFailure?) -> Void])
        case wait(nanoseconds: Int64?)
      }
      let next = state.withLock { state -> Next in
        let now = MonotonicClock.now
        let isPaused = now < state.pausedUntil
        if !state.isEmpty, !isPaused || state.isStopped {
          let age = now - state.since
          if state.isUrgent || age >= Self.patience || state.since == 0 { return .work(.batch(state.batch())) }
          state.rest = .collects
          return .wait(nanoseconds: Self.patience - age)
        }
        if !state.waiters.isEmpty, !isPaused {
          defer { state.waiters = [] }
          return .tell(state.waiters.map(\.finish))
        }
        if !state.commands.isEmpty { return .work(.command(state.commands.removeFirst())) }
        if state.isStopped { return .work(.stop) }
        // A pause ends early for who waits: he wants to know.
        if !state.waiters.isEmpty {
          state.pausedUntil = 0
          return .wait(nanoseconds: 0)
        }
        state.rest = isPaused ? .collects : .sleeps
        return .wait(nanoseconds: isPaused ? state.pausedUntil - now : nil)
      }
      switch next {
      case .work(let work): return work
      case .tell(let waiters): for finish in waiters { finish(nil) }
      case .wait(nanoseconds: nil): wake.wait()
      case .wait(let time?): _ = wake.wait(timeout: .now() + .nanoseconds(Int(time)))
      }
      state.withLock { $0.rest = .none }
    }
  }

  /// A batch was written.
  func finish(_ batch: Batch) {
    let waiters = state.withLock { state in
      for change in batch.changes where state.changes[change.key]?.version == change.version {
        state.changes[change.key] = nil
        state.forget(change)
      }
      while let first = state.order.first, state.changes[first.key]?.version != first.version {
        state.order.removeFirst()
      }
      state.selections.removeFirst(batch.selections.count)
      state.since = state.isEmpty ? 0 : MonotonicClock.now
      let oldest = min(
        state.order.first?.version ?? .max, state.selections.first?.version ?? .max)
      defer { state.waiters.removeAll { $0.version < oldest } }
      return state.waiters.filter { $0.version < oldest }
    }
    for waiter in waiters { waiter.finish(nil) }
  }

  /// A batch could not be written: what is in it stays, and is tried again after a pause.
  func fail(_ batch: Batch, _ failure: FileFailure, pause nanoseconds: Int64) {
    let waiters = state.withLock { state in
      state.damaged += batch.damaged
      state.pausedUntil = MonotonicClock.now + nanoseconds
      if state.isStopped { state = State(dropped: state.dropped, isStopped: true) }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.finish(failure) }
  }
}
