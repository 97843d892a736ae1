/// Bitmaps in memory, bounded by their bytes: the least recently used ones go first.
///
/// Looking up, inserting and removing cost the same however many there are. Thread-safety: any thread.
public final class MemoryCache: BitmapCache {
  /// Counts of a moment.
  public struct Statistics: Hashable, Sendable {
    /// Bitmaps that are kept.
    public let count: Int
    /// Their bytes.
    public let byteCount: Int
    /// Bytes that they may take.
    public let limit: Int
    /// Bitmaps that had to go for others, so far.
    public let evictions: Int
  }

  private let entries: Lock<RecencyList>

  /// A cache.
  /// - Parameter limit: bytes of pixels. By default an eighth of the memory that the process may use (the smaller of
  ///   RAM and cgroup limit), at most 768 MiB.
  public init(limit: Int = MemoryCache.defaultLimit) {
    entries = Lock(RecencyList(limit: max(0, limit)))
  }

  /// An eighth of the memory that the process may use, at most 768 MiB.
  public static var defaultLimit: Int { min(768 << 20, SystemResources.memory / 8) }

  /// The bitmap that is kept under a key, which counts as a use.
  public func bitmap(for key: BitmapKey) -> Bitmap? {
    entries.withLock { $0.use(key) }
  }

  /// Keeps a bitmap, in place of an earlier one of the same key. One that is larger than the limit is not kept.
  public func insert(_ bitmap: Bitmap, for key: BitmapKey, cost: Int) {
    // What goes is freed after the lock is given up: freeing megabytes takes a while.
    let gone = entries.withLock { $0.insert(bitmap, for: key, cost: max(0, cost)) }
    withExtendedLifetime(gone) {}
  }

  /// Forgets one.
  public func removeBitmap(for key: BitmapKey) {
    let gone = entries.withLock { $0.remove(key) }
    withExtendedLifetime(gone) {}
  }

  /// Forgets all.
  public func removeAll() {
    let gone = entries.withLock { entries in
      let old = entries
      entries = RecencyList(limit: old.limit, evictions: old.evictions)
      return old
    }
    withExtendedLifetime(gone) {}
  }

  /// Counts of this moment.
  public var statistics: Statistics {
    entries.withLock {
      Statistics(count: $0.count, byteCount: $0.byteCount, limit: $0.limit, evictions: $0.evictions)
    }
  }
}

/// Entries in the order of their last use: a doubly linked list whose links are indices, and a table of keys.
struct RecencyList {
  private struct Entry {
    var key: BitmapKey
    var bitmap: Bitmap?
    var cost: Int
    var newer: Int
    var older: Int
  }

  let limit: Int
  private(set) var byteCount = 0
  private(set) var evictions: Int
  private var index: [BitmapKey: Int] = [:]
  private var entries: [Entry] = []
  private var free: [Int] = []
  private var newest = -1
  private var oldest = -1

  init(limit: Int, evictions: Int = 0) {
    self.limit = limit
    self.evictions = evictions
  }

  var count: Int { index.count }

  mutating func use(_ key: BitmapKey) -> Bitmap? {
    guard let place = index[key] else { return nil }
    if place != newest {
      unlink(place)
      linkAsNewest(place)
    }
    return entries[place].bitmap
  }

  /// Returns what had to go, for the caller to free.
  mutating func insert(_ bitmap: Bitmap, for key: BitmapKey, cost: Int) -> [Bitmap] {
    var gone: [Bitmap] = []
    if let old = remove(key) { gone.append(old) }
    guard cost <= limit else { return gone }
    while byteCount > limit - cost, oldest >= 0 {
      evictions += 1
      if let old = remove(entries[oldest].key) { gone.append(old) }
    }
    let entry = Entry(key: key, bitmap: bitmap, cost: cost, newer: -1, older: -1)
    let place: Int
    if let reused = free.popLast() {
      place = reused
      entries[place] = entry
    } else {
      place = entries.count
      entries.append(entry)
    }
    index[key] = place
    byteCount += cost
    linkAsNewest(place)
    return gone
  }

  mutating func remove(_ key: BitmapKey) -> Bitmap? {
    guard let place = index.removeValue(forKey: key) else { return nil }
    unlink(place)
    byteCount -= entries[place].cost
    let bitmap = entries[place].bitmap
    entries[place].bitmap = nil
    free.append(place)
    return bitmap
  }

  private mutating func unlink(_ place: Int) {
    let (newer, older) = (entries[place].newer, entries[place].older)
    if newer >= 0 { entries[newer].older = older } else { newest = older }
    if older >= 0 { entries[older].newer = newer } else { oldest = newer }
  }

  private mutating func linkAsNewest(_ place: Int) {
    entries[place].newer = -1
    entries[place].older = newest
    if newest >= 0 { entries[newest].newer = place } else { oldest = place }
    newest = place
  }
}
