import Foundation
import Synchronization

/// Bitmaps that a memory cache has dropped, as blobs in memory: those that take much longer to draw than to decode.
///
/// The most recently dropped ones, up to a number of bytes. Thread-safety: any thread.
final class CompressedTier: Sendable {
  private struct Entry: Sendable {
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

  init(limit: Int) {
    self.limit = limit
    state = Lock(State(keys: KeyCache(limit: limit)))
  }

  /// Bytes of blobs.
  var byteCount: Int { held.load(ordering: .relaxed) }

  /// Whether a bitmap that took so long to draw is worth it.
  static func pays(byteCount: Int, drawNanoseconds: Int) -> Bool {
    Double(drawNanoseconds) > worthIt * codingTime * Double(byteCount)
  }

  /// Keeps what was dropped, if it pays, and if blobs of it are small.
  func keep(_ stored: BitmapTable.Stored) {
    guard case .pixels(let bitmap) = stored.bitmap,
      Self.pays(byteCount: bitmap.byteCount, drawNanoseconds: stored.drawNanoseconds),
      let blob = try? bitmap.encoded(level: .fast), blob.count < bitmap.byteCount / 2, blob.count <= limit
    else { return }
    let hash = stored.key.hashValue64
    let entry = Entry(
      key: stored.key, blob: blob, drawNanoseconds: stored.drawNanoseconds, expires: stored.expires)
    state.withLock { state in
      _ = state.entries.remove(hash)
      state.keys.remove(hash)
      while state.keys.byteCount > limit - blob.count, let victim = state.keys.recencyVictim() {
        state.keys.remove(victim)
        _ = state.entries.remove(victim)
      }
      state.keys.insert(hash, size: blob.count)
      state.entries.update(entry, for: hash)
      held.store(state.keys.byteCount, ordering: .relaxed)
    }
  }

  /// Takes a bitmap out, and what it took to draw.
  func take(_ key: BitmapKey) -> (bitmap: Bitmap, drawNanoseconds: Int)? {
    guard byteCount > 0 else { return nil }
    let entry = state.withLock { state -> Entry? in
      guard let entry = state.entries[key.hashValue64], entry.key == key else { return nil }
      remove(key.hashValue64, from: &state)
      return entry
    }
    guard let entry, entry.expires == .max || MonotonicClock.now < entry.expires,
      let bitmap = try? Bitmap(decoding: entry.blob)
    else { return nil }
    return (bitmap, entry.drawNanoseconds)
  }

  /// Forgets one.
  func remove(_ key: BitmapKey) {
    guard byteCount > 0 else { return }
    state.withLock { state in
      if state.entries[key.hashValue64]?.key == key { remove(key.hashValue64, from: &state) }
    }
  }

  /// Forgets all whose keys fulfil a condition.
  func remove(where condition: (BitmapKey) -> Bool) {
    guard byteCount > 0 else { return }
    for key in state.withLock({ $0.entries.all.map(\.key) }) where condition(key) { remove(key) }
  }

  private func remove(_ hash: UInt64, from state: inout State) {
    _ = state.entries.remove(hash)
    state.keys.remove(hash)
    held.store(state.keys.byteCount, ordering: .relaxed)
  }
}
