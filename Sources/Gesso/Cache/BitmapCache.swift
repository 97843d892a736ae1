/// Where a ``CachedDrawer`` keeps decoded bitmaps. ``MemoryCache`` is one; a program may bring its own.
///
/// Thread-safety: all methods are called from any thread, also at the same time. They must not call the drawer.
public protocol BitmapCache: Sendable {
  /// The bitmap that is kept under a key; on the hot path of every hit.
  func bitmap(for key: BitmapKey) -> Bitmap?
  /// Keeps a bitmap, or does not: a cache may refuse, and may drop others for it. `cost` is in bytes.
  func insert(_ bitmap: Bitmap, for key: BitmapKey, cost: Int)
  /// Forgets one.
  func removeBitmap(for key: BitmapKey)
  /// Forgets all.
  func removeAll()
}
