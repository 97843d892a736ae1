/// A way to show a list.
public enum ScrollMode: String, CaseIterable, Codable, Sendable {
  /// Everything on screen is drawn in each frame, as a naive program does.
  case redraw
  /// Each cell has backing bitmaps, drawn on the main thread when a row is bound to it, as UIKit does.
  case traditional
  /// Bitmaps come from a drawer, which begins with nothing.
  case cached
  /// The same scroll again.
  case warm
  /// The first scroll of a program that was started again: nothing in memory, and all on the disk.
  case restart
}

/// What is scrolled through.
public struct Viewport: Hashable, Sendable {
  /// In points.
  public var width: Double
  /// In points.
  public var height: Double
  /// Pixels per point.
  public var scale: Double

  /// A viewport.
  public init(width: Double, height: Double, scale: Double) {
    self.width = width
    self.height = height
    self.scale = scale
  }
}

/// Lengths in points that end between pixels, at any scale: so that bitmaps lie side by side without a seam.
struct PixelGrid: Sendable {
  /// Pixels per point.
  let scale: Double

  /// The next one that is not shorter. A billionth of a pixel does not count.
  func up(_ points: Double) -> Double { (points * scale - 1e-9).rounded(.up) / scale }
  /// The next one that is not longer.
  func down(_ points: Double) -> Double { (points * scale + 1e-9).rounded(.down) / scale }
}
