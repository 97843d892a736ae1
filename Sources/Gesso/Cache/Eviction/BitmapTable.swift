/// Bitmaps by their keys, in parts that each have a lock: threads that look up different keys seldom meet.
///
/// There is one bitmap for each hash. Keys are compared in full: another key of the same hash is not found.
final class BitmapTable: Sendable {
  /// A reference that the table counts by hand: a lookup writes to no more memory than the lock and the bitmap's count,
  /// for which two threads wait when they look the same up.
  final class Stored: Sendable {
    let key: BitmapKey
    let bitmap: Kept
    /// When it is too old, by the monotonic clock.
    let expires: Int64
    /// What drawing it took; 0 if nobody knows.
    let drawNanoseconds: Int

    init(key: BitmapKey, bitmap: Kept, expires: Int64, drawNanoseconds: Int) {
      self.key = key
      self.bitmap = bitmap
      self.expires = expires
      self.drawNanoseconds = drawNanoseconds
    }
  }

  /// A bitmap, or the little that is needed to make one of a single colour again.
  enum Kept: Sendable {
    case pixels(Bitmap)
    case solid(SolidBitmap)

    /// Small bitmaps stay as they are: a hit of one that is made again allocates memory.
    private static let worthIt = 1024

    init(_ bitmap: Bitmap) {
      if bitmap.byteCount > Self.worthIt, let solid = SolidBitmap(bitmap) {
        self = .solid(solid)
      } else {
        self = .pixels(bitmap)
      }
    }

    /// Bytes that it takes.
    func byteCount(of cost: Int) -> Int { if case .solid = self { SolidBitmap.byteCount } else { cost } }
  }

  enum Lookup {
    case found(Kept)
    case expired(Stored)
    case missing
  }

  private static let bits: UInt64 = 5
  // Proof of safety: the pointer never changes, and what it points to are locks. An array would be counted as used by each
  // lookup, which is what threads would meet at.
  private nonisolated(unsafe) let parts: UnsafeMutablePointer<Lock<HashTable<Unmanaged<Stored>>>>

  init() {
    parts = .allocate(capacity: 1 << Self.bits)
    for place in 0..<1 << Self.bits { (parts + place).initialize(to: Lock(HashTable())) }
  }

  deinit {
    for place in 0..<1 << Self.bits { for stored in parts[place].withLock({ $0.all }) { stored.release() } }
    parts.deinitialize(count: 1 << Self.bits)
    parts.deallocate()
  }

  private func place(of hash: UInt64) -> Int { Int(hash >> (64 - Self.bits)) }

  func find(_ key: BitmapKey) -> Lookup {
    parts[place(of: key.hashValue64)].withLock { entries in
      guard let stored = entries[key.hashValue64] else { return .missing }
      return stored._withUnsafeGuaranteedRef { stored in
        guard stored.key == key else { return .missing }
        if stored.expires != .max, MonotonicClock.now >= stored.expires { return .expired(stored) }
        return .found(stored.bitmap)
      }
    }
  }

  /// Returns what was there.
  func put(_ stored: Stored) -> Stored? {
    parts[place(of: stored.key.hashValue64)].withLock {
      $0.update(.passRetained(stored), for: stored.key.hashValue64)?.takeRetainedValue()
    }
  }

  /// Returns what was there.
  func remove(_ hash: UInt64) -> Stored? {
    parts[place(of: hash)].withLock { $0.remove(hash)?.takeRetainedValue() }
  }

  /// The keys that fulfil a condition, of this moment.
  func keys(where condition: (BitmapKey) -> Bool) -> [BitmapKey] {
    (0..<1 << Self.bits).flatMap { place in
      parts[place].withLock { entries in entries.all.map { $0.takeUnretainedValue().key } }.filter(condition)
    }
  }
}
