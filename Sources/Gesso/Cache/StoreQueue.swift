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

  /// More than this is not kept for a store that is slow: it is counted as a failure.
  private static let mostWaiting = 32 << 20

  init(_ store: any BlobStore, _ counters: DrawerCounters) {
    self.store = store
    self.counters = counters
  }

  /// Reads, and counts it if that fails.
  func blob(for key: BitmapKey) async -> Data? {
    await tails.withLock { $0.removal }?.value
    do { return try await store.blob(for: key) } catch {
      counters.storeFailures.increment()
      return nil
    }
  }

  func put(_ blob: Data, for key: BitmapKey) {
    guard waiting.add(blob.count, ordering: .relaxed).newValue <= Self.mostWaiting else {
      waiting.subtract(blob.count, ordering: .relaxed)
      return counters.storeFailures.increment()
    }
    change(isRemoval: false) { [self] in
      defer { waiting.subtract(blob.count, ordering: .relaxed) }
      try await store.put(blob, for: key)
    }
  }

  func remove(_ key: BitmapKey) { change(isRemoval: true) { [store] in try await store.remove(key) } }

  func removeAll(_ selection: KeySelection) {
    change(isRemoval: true) { [store] in try await store.removeAll(selection) }
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
