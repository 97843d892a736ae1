import Dispatch
import Foundation
import Synchronization

/// Bitmaps that a memory cache has dropped, as blobs in memory: those that take much longer to draw than to decode.
///
/// The most recently dropped ones, up to a number of bytes. They are encoded in the background. Thread-safety: any thread.
final class CompressedTier: Sendable {
  struct Entry: Sendable {
    let key: BitmapKey
    let blob: Data
    let drawNanoseconds: Int
    let expires: Int64
  }

  private struct State {
    var keys: KeyCache
    var entries = HashTable<Entry>()
  }

  /// About how many nanoseconds a byte of pixels takes to encode and decode.
  private static let codingTime = 0.7
  /// A draw has to take so many times longer: most of what is dropped is not asked for again.
  private static let worthIt = 10.0

  private let state: Lock<State>
  private let limit: Int
  private let held = Atomic(0)
  /// Bytes of bitmaps that wait to be encoded.
  private let waiting = Atomic(0)
  /// Grows when something is forgotten: what was dropped before that does not come in after.
  private let forgotten = Atomic(0)

  init(limit: Int) {
    self.limit = limit
    state = Lock(State(keys: KeyCache(limit: limit)))
  }

  /// Bytes of blobs, and of what is to become some.
  var byteCount: Int { held.load(ordering: .relaxed) + waiting.load(ordering: .relaxed) }

  /// A number that changes when something is forgotten.
  var generation: Int { forgotten.load(ordering: .acquiring) }

  /// Whether a bitmap that took so long to draw is worth it.
  static func pays(byteCount: Int, drawNanoseconds: Int) -> Bool {
    Double(drawNanoseconds) > worthIt * codingTime * Double(byteCount)
  }

  /// Keeps what has just been dropped, if it pays, and if blobs of it are small. False if not; else it calls back when it
  /// is done with it.
  /// - Parameter before: the generation when it was dropped.
  func keep(_ stored: BitmapTable.Stored, since before: Int, _ done: @escaping @Sendable () -> Void) -> Bool {
    guard case .pixels(let bitmap) = stored.bitmap else { return false }
    let size = bitmap.byteCount
    guard Self.pays(byteCount: size, drawNanoseconds: stored.drawNanoseconds) else { return false }
    guard waiting.add(size, ordering: .relaxed).newValue <= limit else {
      waiting.subtract(size, ordering: .relaxed)
      return false
    }
    DispatchQueue.global(qos: .utility).async { [self] in
      if generation == before, let blob = try? bitmap.encoded(level: .fast), blob.count < size / 2 {
        let entry = Entry(
          key: stored.key, blob: blob, drawNanoseconds: stored.drawNanoseconds, expires: stored.expires)
        let gone = state.withLock { state in generation == before ? insert(entry, into: &state) : [] }
        withExtendedLifetime(gone) {}
      }
      waiting.subtract(size, ordering: .relaxed)
      done()
    }
    return true
  }

  private func insert(_ entry: Entry, into state: inout State) -> [Entry] {
    let hash = entry.key.hashValue64, size = entry.blob.count
    var gone = [remove(hash, from: &state)]
    guard size <= limit else { return gone.compactMap { $0 } }
    while state.keys.byteCount > limit - size, let victim = state.keys.recencyVictim() {
      gone.append(remove(victim, from: &state))
    }
    state.keys.insert(hash, size: size)
    state.entries.update(entry, for: hash)
    held.store(state.keys.byteCount, ordering: .relaxed)
    return gone.compactMap { $0 }
  }

  /// Takes a blob out.
  func take(_ key: BitmapKey) -> Entry? {
    guard byteCount > 0 else { return nil }
    return state.withLock { state in
      guard state.entries[key.hashValue64]?.key == key else { return nil }
      return remove(key.hashValue64, from: &state)
    }
  }

  /// Forgets one.
  func remove(_ key: BitmapKey) {
    forgotten.add(1, ordering: .acquiringAndReleasing)
    let gone = take(key)
    withExtendedLifetime(gone) {}
  }

  /// Forgets all whose keys fulfil a condition.
  func remove(where condition: (BitmapKey) -> Bool) {
    forgotten.add(1, ordering: .acquiringAndReleasing)
    guard byteCount > 0 else { return }
    for key in state.withLock({ $0.entries.all.map(\.key) }) where condition(key) {
      let gone = take(key)
      withExtendedLifetime(gone) {}
    }
  }

  private func remove(_ hash: UInt64, from state: inout State) -> Entry? {
    let entry = state.entries.remove(hash)
    state.keys.remove(hash)
    held.store(state.keys.byteCount, ordering: .relaxed)
    return entry
  }
}
