/// Where a ``CachedDrawer`` keeps decoded bitmaps. ``MemoryCache`` is one; a program may bring its own.
///
/// Thread-safety: all methods are called from any thread, also at the same time. They must not call the drawer, which
/// holds a lock while it inserts and removes.
public protocol BitmapCache: Sendable {
  /// The bitmap that is kept under a key; on the hot path of every hit.
  func bitmap(for key: BitmapKey) -> Bitmap?
  /// The bitmap, from where it takes longer to get it, such as from a blob; `nil` if there is none. Called on a worker,
  /// before a bitmap is drawn.
  func restoredBitmap(for key: BitmapKey) -> Bitmap?
  /// Keeps a bitmap, or does not: a cache may refuse, and may drop others for it.
  func insert(_ bitmap: Bitmap, for key: BitmapKey, cost: BitmapCost)
  /// Forgets one.
  func removeBitmap(for key: BitmapKey)
  /// Forgets all whose keys fulfil a condition, which is quick and calls nothing of the cache or the drawer.
  func removeBitmaps(where condition: (BitmapKey) -> Bool)
  /// Forgets all.
  func removeAll()
}

extension BitmapCache {
  /// None.
  public func restoredBitmap(for key: BitmapKey) -> Bitmap? { nil }
}

/// What keeping a bitmap takes, and what it saves.
public struct BitmapCost: Hashable, Sendable {
  /// Bytes of memory.
  public var byteCount: Int
  /// Nanoseconds that drawing it took; 0 if nobody knows.
  public var drawNanoseconds: Int

  /// A cost.
  public init(byteCount: Int, drawNanoseconds: Int = 0) {
    self.byteCount = byteCount
    self.drawNanoseconds = drawNanoseconds
  }
}

/// What a list shows, as a hint for a cache: rows on screen are never dropped, and of the others those go first that are
/// farthest from it, behind rather than ahead of where the list goes.
public struct Viewport: Sendable {
  /// Names the list: while it is the same, rows of keys are not asked for again.
  public var list: String
  /// The rows on screen, from the first to the last.
  public var rows: ClosedRange<Int>
  /// The row that a request's key is for; `nil` if it is for none. Called from any thread; quick, without waiting for a
  /// lock that is held somewhere around a call of the drawer, and without asking the drawer to forget anything.
  public var row: @Sendable (String) -> Int?

  /// A viewport.
  public init(list: String, rows: ClosedRange<Int>, row: @escaping @Sendable (String) -> Int?) {
    self.list = list
    self.rows = rows
    self.row = row
  }
}
