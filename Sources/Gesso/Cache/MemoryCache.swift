import Foundation

/// Bitmaps in memory, bounded by their bytes.
///
/// Which ones go is decided by the rule that would have missed less: the least recently used, or the least frequently
/// used; shadows, caches of keys alone, tell. A list may say what is on screen, with ``viewport``. Bitmaps of a single
/// colour are kept as that colour; of those that are dropped, the ones that took very long to draw are kept as blobs for
/// a while, in up to an eighth of the limit. When the system says that memory is short, all but what is on screen goes.
///
/// Looking up costs the same however many there are. Thread-safety: any thread; lookups take no lock, unless more than a
/// thousand threads do it.
public final class MemoryCache: BitmapCache {
  /// How a cache is set up.
  public struct Configuration: Sendable {
    /// Bytes of pixels. By default an eighth of the memory that the process may use (the smaller of RAM and cgroup
    /// limit), at most 768 MiB.
    public var limit: Int
    /// How long a bitmap is good after it was kept. `nil`: for ever.
    public var lifetime: Duration?
    /// Whether it is time spent on drawing that is to be saved, rather than misses: then the bitmaps that took long are
    /// kept longer.
    public var savesDrawTime: Bool
    /// Whether ``MemoryCache/trim()`` is called when the kernel tells that memory is short.
    public var trimsUnderPressure: Bool

    /// The defaults, or others.
    public init(
      limit: Int = MemoryCache.defaultLimit, lifetime: Duration? = nil, savesDrawTime: Bool = false,
      trimsUnderPressure: Bool = true
    ) {
      self.limit = limit
      self.lifetime = lifetime
      self.savesDrawTime = savesDrawTime
      self.trimsUnderPressure = trimsUnderPressure
    }
  }

  /// Counts of a moment.
  public struct Statistics: Hashable, Sendable {
    /// Bitmaps that are kept.
    public let count: Int
    /// Their bytes.
    public let byteCount: Int
    /// Bytes of blobs of bitmaps that were dropped.
    public let compressedByteCount: Int
    /// Bytes that they may take.
    public let limit: Int
    /// Bitmaps that had to go for others, so far.
    public let evictions: Int
  }

  private struct State {
    var policy: EvictionPolicy
    var marks: RequestLog.Marks? = RequestLog.Marks()
    var viewport: Viewport?
    /// Grows with each viewport of another list.
    var list = 0
  }

  private let table = BitmapTable()
  private let log = RequestLog()
  /// Held around changes of the table, too, so that the policy and the table know of the same bitmaps.
  private let state: Lock<State>
  private let compressed: CompressedTier
  private let limit: Int
  private let lifetime: Duration?
  private let savesDrawTime: Bool
  private let pressure: Lock<MemoryPressure.Observation?> = Lock(nil)

  /// A cache.
  public init(_ configuration: Configuration) {
    limit = max(0, configuration.limit)
    lifetime = configuration.lifetime
    savesDrawTime = configuration.savesDrawTime
    state = Lock(State(policy: EvictionPolicy(limit: limit)))
    compressed = CompressedTier(limit: limit / 8)
    guard configuration.trimsUnderPressure else { return }
    let observation = MemoryPressure.shared.observe { [weak self] in self?.trim() }
    pressure.withLock { $0 = observation }
  }

  /// A cache of so many bytes.
  public convenience init(limit: Int = MemoryCache.defaultLimit) { self.init(Configuration(limit: limit)) }

  /// An eighth of the memory that the process may use, at most 768 MiB.
  public static var defaultLimit: Int { min(768 << 20, SystemResources.memory / 8) }

  /// The bitmap that is kept under a key, which counts as a use. One of a single colour is made again.
  public func bitmap(for key: BitmapKey) -> Bitmap? {
    switch table.find(key) ?? change({ _ in table.look(key) }) {
    case .missing: return nil
    case .expired(let stored):
      remove([key], if: { $0 === stored })
      return nil
    case .found(let kept):
      log.append(key.hashValue64)
      switch kept {
      case .pixels(let bitmap): return bitmap
      case .solid(let solid): return solid.makeBitmap()
      }
    }
  }

  /// The bitmap that was dropped, and kept as a blob, which is kept again.
  public func restoredBitmap(for key: BitmapKey) -> Bitmap? {
    let before = compressed.generation
    guard let entry = compressed.take(key), entry.expires == .max || MonotonicClock.now < entry.expires,
      let bitmap = try? Bitmap(decoding: entry.blob)
    else { return nil }
    let cost = BitmapCost(byteCount: bitmap.byteCount, drawNanoseconds: entry.drawNanoseconds)
    insert(bitmap, for: key, cost: cost, expires: entry.expires, generation: before)
    return bitmap
  }

  /// Keeps a bitmap, in place of an earlier one of the same key. One that is larger than the limit is not kept.
  public func insert(_ bitmap: Bitmap, for key: BitmapKey, cost: BitmapCost) {
    let older = compressed.take(key)
    withExtendedLifetime(older) {}
    insert(
      bitmap, for: key, cost: cost, expires: lifetime.map { MonotonicClock.time(after: $0) } ?? .max, generation: nil)
  }

  /// - Parameter generation: of the blobs; the bitmap is not kept if something was forgotten since.
  private func insert(_ bitmap: Bitmap, for key: BitmapKey, cost: BitmapCost, expires: Int64, generation: Int?) {
    let kept = BitmapTable.Kept(bitmap)
    let size = max(1, kept.byteCount(of: cost.byteCount))
    let weight = savesDrawTime ? Float(max(1, cost.drawNanoseconds)) / 1000 : 1
    let stored = BitmapTable.Stored(
      key: key, bitmap: kept, expires: expires, drawNanoseconds: cost.drawNanoseconds)
    let (viewport, list) = state.withLock { ($0.viewport, $0.list) }
    // Which is the user's code, and called without a lock.
    let row = Self.row(of: key, in: viewport)
    // What goes is freed after the lock is given up: freeing megabytes takes a while.
    var now = 0
    let (evicted, old) = change { state -> ([BitmapTable.Stored], BitmapTable.Stored?) in
      now = compressed.generation
      if let generation, now != generation { return ([], nil) }
      let result = state.policy.insert(key.hashValue64, size: size, cost: weight, row: state.list == list ? row : -1)
      let evicted = result.evicted.compactMap { table.remove($0) }
      return (evicted, result.isKept ? table.put(stored) : table.remove(key.hashValue64))
    }
    withExtendedLifetime(old) {}
    var isKept = false
    for stored in evicted {
      if compressed.keep(stored, since: now, { [weak self] in self?.makeRoomForBlobs() }) { isKept = true }
    }
    if isKept { makeRoomForBlobs() }
  }

  /// Blobs take their bytes from the limit.
  private func makeRoomForBlobs() {
    let (gone, fits) = change { state -> ([BitmapTable.Stored], Bool) in
      let gone = state.policy.setLimit(limit - compressed.byteCount).compactMap { table.remove($0) }
      return (gone, state.policy.keys.byteCount <= limit - compressed.byteCount)
    }
    withExtendedLifetime(gone) {}
    // What is on screen comes first.
    if !fits { compressed.remove { _ in true } }
  }

  /// A row as the policy has it; -1 for none, and for one that cannot be.
  private static func row(of key: BitmapKey, in viewport: Viewport?) -> Int32 {
    viewport?.row(key.identity).flatMap { $0 >= 0 ? Int32(exactly: $0) : nil } ?? -1
  }

  /// The same, where only the bytes are known.
  public func insert(_ bitmap: Bitmap, for key: BitmapKey, cost: Int) {
    insert(bitmap, for: key, cost: BitmapCost(byteCount: cost))
  }

  /// Forgets one.
  public func removeBitmap(for key: BitmapKey) {
    // What is being restored from a blob notices the first, and what is on its way to become one the second.
    compressed.remove(key)
    remove([key])
    compressed.remove(key)
  }

  /// Forgets all whose keys fulfil a condition.
  public func removeBitmaps(where condition: (BitmapKey) -> Bool) {
    compressed.remove(where: condition)
    remove(change { _ in table.keys }.filter(condition))
    compressed.remove(where: condition)
  }

  /// Forgets all.
  public func removeAll() { removeBitmaps { _ in true } }

  /// Drops all that is not on screen, because memory is short. What was learned about requests stays.
  public func trim() {
    let gone = change(waits: true) { state in state.policy.trim().compactMap { table.remove($0) } }
    withExtendedLifetime(gone) {}
    compressed.remove { _ in true }
  }

  /// What the list in front shows now, or that there is none.
  ///
  /// Setting it costs little while the list is the same, and asks for the row of each bitmap when it is another one.
  public var viewport: Viewport? {
    get { state.withLock { $0.viewport } }
    set {
      let screen = newValue.map { viewport in
        Int32(clamping: viewport.rows.lowerBound)...Int32(clamping: viewport.rows.upperBound)
      }
      let old = change { state -> (viewport: Viewport?, isSameList: Bool, list: Int) in
        let isSameList = state.viewport?.list == newValue?.list
        let old = state.viewport
        state.viewport = newValue
        state.policy.show(screen, isSameList: isSameList)
        if !isSameList { state.list += 1 }
        return (old, isSameList, state.list)
      }
      if old.isSameList { return }
      // Bitmaps that come in from now on are asked for by who brings them.
      var rows: [UInt64: Int32] = [:]
      if newValue != nil {
        for key in change({ _ in table.keys }) { rows[key.hashValue64] = Self.row(of: key, in: newValue) }
      }
      change { state in
        // Another thread may have put another list in front meanwhile, and knows its rows.
        guard state.list == old.list else { return }
        state.policy.setRows { hash, row in rows[hash] ?? (newValue == nil ? -1 : row) }
      }
    }
  }

  /// Counts of this moment.
  public var statistics: Statistics {
    change { state in
      let policy = state.policy
      return Statistics(
        count: policy.keys.count, byteCount: policy.keys.byteCount, compressedByteCount: compressed.byteCount,
        limit: limit, evictions: policy.evictions)
    }
  }

  /// The rule by which bitmaps go at this moment.
  var rule: EvictionRule { change { $0.policy.rule } }

  private func remove(_ keys: [BitmapKey], if condition: (BitmapTable.Stored) -> Bool = { _ in true }) {
    // Of one it may be later that its memory is free.
    let gone = change(waits: keys.count > 1) { state in
      keys.compactMap { key -> BitmapTable.Stored? in
        // Another key of the same hash may have taken its place.
        guard let stored = table.remove(key.hashValue64) else { return nil }
        if stored.key != key || !condition(stored) { return table.put(stored) }
        state.policy.remove(key.hashValue64)
        return stored
      }
    }
    withExtendedLifetime(gone) {}
  }

  /// Does something with the state, after telling the policy of the hits since the last time.
  /// - Parameter waits: memory that it sets free is free when this returns, though others may be looking at it.
  private func change<Result>(waits: Bool = false, _ body: (inout State) -> Result) -> Result {
    let (result, retired) = state.withLock { state in
      // Taken out, and not copied: it is changed while the policy is.
      var marks: RequestLog.Marks? = nil
      swap(&marks, &state.marks)
      log.drain(&marks!) { state.policy.hit($0) }
      swap(&marks, &state.marks)
      state.policy.limit = limit - compressed.byteCount
      return (body(&state), table.takeRetired(waits: waits))
    }
    BitmapTable.free(retired)
    return result
  }
}
