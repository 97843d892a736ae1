import Foundation
import Synchronization

/// A store of a drawer: changes one after the other, in the order in which they were asked for; reads at any time, but
/// after the removals that were asked for before them.
final class StoreQueue: Sendable {
  let store: any BlobStore
  private let counters: DrawerCounters
  private let tails = Lock((change: Task<Void, Never>?.none, removal: Task<Void, Never>?.none))
  /// Bytes of blobs that wait to be written.
  private let waiting = Atomic(0)

  /// What the store has failed to remove. It is out of date, and not read until it is removed.
  private struct Unremoved {
    var selections: [KeySelection] = []
    /// When it is tried again.
    var due: Int64 = 0
  }
  private let unremoved = Lock(Unremoved())

  /// More than so many are not told apart: all is removed, then.
  private static let mostUnremoved = 1000
  /// Nanoseconds between tries.
  private static let pause: Int64 = 1_000_000_000

  /// More than this is not kept for a store that is slow: it is counted as a failure.
  private static let mostWaiting = 32 << 20

  init(_ store: any BlobStore, _ counters: DrawerCounters) {
    self.store = store
    self.counters = counters
  }

  /// Reads, and counts it if that fails.
  func blob(for key: BitmapKey) async -> Data? {
    removeAgain()
    await tails.withLock { $0.removal }?.value
    if unremoved.withLock({ $0.selections.contains { $0.contains(key.identity) } }) { return nil }
    do { return try await store.blob(for: key) } catch {
      counters.storeFailures.increment()
      return nil
    }
  }

  func put(_ blob: Data, for key: BitmapKey) {
    removeAgain()
    guard waiting.add(blob.count, ordering: .relaxed).newValue <= Self.mostWaiting else {
      waiting.subtract(blob.count, ordering: .relaxed)
      return counters.storeFailures.increment()
    }
    change(isRemoval: false) { [self] in
      defer { waiting.subtract(blob.count, ordering: .relaxed) }
      try await store.put(blob, for: key)
    }
  }

  func remove(_ key: BitmapKey) {
    change(isRemoval: true) { [self] in
      do { try await store.remove(key) } catch {
        note(.key(key.identity))
        throw error
      }
    }
  }

  func removeAll(_ selection: KeySelection) {
    change(isRemoval: true) { [self] in
      do { try await store.removeAll(selection) } catch {
        note(selection)
        throw error
      }
    }
  }

  /// Notes what could not be removed.
  private func note(_ selection: KeySelection) {
    unremoved.withLock { unremoved in
      if !unremoved.selections.contains(selection) { unremoved.selections.append(selection) }
      if unremoved.selections.count > Self.mostUnremoved { unremoved.selections = [.all] }
      unremoved.due = MonotonicClock.now + Self.pause
    }
  }

  /// Removes what could not be removed before, if that is due.
  private func removeAgain() {
    let now = MonotonicClock.now
    let isDue = unremoved.withLock { unremoved in
      guard !unremoved.selections.isEmpty, unremoved.due <= now else { return false }
      unremoved.due = now + Self.pause
      return true
    }
    guard isDue else { return }
    change(isRemoval: true) { [self] in
      for selection in unremoved.withLock({ $0.selections }) {
        try await store.removeAll(selection)
        unremoved.withLock { $0.selections.removeAll { $0 == selection } }
      }
    }
  }

  /// Returns when all changes that were asked for are made, and kept.
  func flush() async {
    await tails.withLock { $0.change }?.value
    do { try await store.flush() } catch { counters.storeFailures.increment() }
  }

  private func change(isRemoval: Bool, _ body: @escaping @Sendable () async throws -> Void) {
    tails.withLock { tails in
      let before = tails.change
      let task = Task { [counters] in
        await before?.value
        do { try await body() } catch { counters.storeFailures.increment() }
      }
      tails.change = task
      if isRemoval { tails.removal = task }
    }
  }
}
