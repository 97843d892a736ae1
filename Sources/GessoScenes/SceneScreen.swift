import Foundation
import Gesso

/// Shows a scene in a framebuffer, in one of the modes, one stage at a time.
@MainActor
final class SceneScreen {
  /// What is counted while it scrolls.
  struct Counters {
    /// Views that were drawn on the main thread.
    var mainDraws = 0
    /// Pixels of views on screen that had no bitmap, over all frames.
    var blankPixels = 0
    /// The most of them in one frame.
    var worstBlankPixels = 0
  }

  private let scene: any Scene
  private let mode: ScrollMode
  private let viewport: Viewport
  private var back: Framebuffer
  private(set) var front: Framebuffer
  private let registry: CellRegistry
  private var cells: [Int: any SceneCell] = [:]
  private var visible = 0..<0
  /// Pixels from the top of the list to the top of the viewport.
  private var offset = 0

  private(set) var counters = Counters()
  /// Whether a bitmap has come since the last frame was composed.
  private(set) var isDirty = true
  /// Why a view that was on screen had no bitmap, if one failed.
  private(set) var failure: DrawError?

  init(scene: any Scene, mode: ScrollMode, viewport: Viewport, drawer: CachedDrawer) throws {
    self.scene = scene
    self.mode = mode
    self.viewport = viewport
    let size = CGSize(width: viewport.width, height: viewport.height)
    back = try Framebuffer(size: size, scale: CGFloat(viewport.scale))
    front = try Framebuffer(size: size, scale: CGFloat(viewport.scale))
    registry = CellRegistry()
    guard mode != .redraw else { return }
    let most = scene.rows.mostRows(inWindow: viewport.height) + 1
    registry.register(reuseIdentifier: "row", cacheSize: most) { [weak self] in
      if mode == .traditional { return BackedCell { self?.counters.mainDraws += 1 } }
      return SlotCell(drawer: drawer) { self?.isDirty = true }
    }
  }

  var cellStatistics: CellRegistry.Statistics { registry.statistics }

  /// Where the viewport begins, in whole pixels.
  func pixelOffset(_ points: Double) -> Int { Int((points * viewport.scale).rounded()) }

  /// Stage layout: which rows are on screen at an offset in pixels.
  func layout(offset: Int) {
    self.offset = offset
    let top = Double(offset) / viewport.scale
    visible = scene.rows.rows(from: top, to: top + viewport.height)
  }

  /// Stage display: gives back the cells of rows that left, and binds cells to those that came. Or draws all.
  func display() throws {
    if mode == .redraw { return try redraw() }
    for row in cells.keys where !visible.contains(row) {
      try registry.enqueue(cells.removeValue(forKey: row)!, forReuseIdentifier: "row")
      isDirty = true
    }
    for row in visible where cells[row] == nil {
      let cell = try registry.dequeue("row") as! any SceneCell  // registered above, and nothing else is
      try cell.bind(scene.views(inRow: row))
      cells[row] = cell
      isDirty = true
    }
  }

  /// Stage composite: puts the cells' bitmaps where they belong.
  func composite() {
    guard mode != .redraw else { return }
    back.fill(scene.background)
    var blank = 0
    for row in visible {
      guard let cell = cells[row] else { continue }
      for (view, bitmap) in zip(scene.views(inRow: row), cell.bitmaps) {
        let (x, y) = pixelOrigin(of: view, inRow: row)
        if let bitmap {
          back.composite(bitmap, x: x, y: y)
        } else {
          blank += shownPixels(of: view, x: x, y: y)
          failure = failure ?? cell.error
        }
      }
    }
    counters.blankPixels += blank
    counters.worstBlankPixels = max(counters.worstBlankPixels, blank)
    isDirty = false
  }

  /// Stage present: shows what was composed.
  func present() { swap(&front, &back) }

  private func redraw() throws {
    let scale = CGFloat(viewport.scale)
    var draws = 0
    try back.draw { context in
      context.setFillColor(scene.background)
      context.fill(CGRect(x: 0, y: 0, width: viewport.width, height: viewport.height))
      for row in visible {
        for view in scene.views(inRow: row) {
          let (x, y) = pixelOrigin(of: view, inRow: row)
          let bounds = CGRect(origin: .zero, size: view.frame.size)
          context.saveGState()
          context.translateBy(x: CGFloat(x) / scale, y: CGFloat(y) / scale)
          context.clip(to: bounds)
          context.setFillColor(view.request.background)
          context.fill(bounds)
          context.setFillColor(.black)
          try view.request.draw(context, bounds)
          context.restoreGState()
          draws += 1
        }
      }
    }
    counters.mainDraws += draws
  }

  private func pixelOrigin(of view: SceneView, inRow row: Int) -> (x: Int, y: Int) {
    (
      pixelOffset(Double(view.frame.minX)),
      pixelOffset(scene.rows.top(of: row) + Double(view.frame.minY)) - offset
    )
  }

  private func shownPixels(of view: SceneView, x: Int, y: Int) -> Int {
    let width = min(back.width, x + pixelOffset(Double(view.frame.width))) - max(0, x)
    let height = min(back.height, y + pixelOffset(Double(view.frame.height))) - max(0, y)
    return max(0, width) * max(0, height)
  }
}
