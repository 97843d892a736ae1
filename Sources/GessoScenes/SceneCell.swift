import Foundation
import Gesso

/// A cell of a scene: it shows the views of one row.
@MainActor
protocol SceneCell: ReusableCell {
  /// Shows a row.
  func bind(_ views: [SceneView]) throws(DrawError)
  /// A bitmap for each view of the row; `nil` where there is none yet.
  var bitmaps: [Bitmap?] { get }
  /// Why a view has no bitmap, if it failed.
  var error: DrawError? { get }
}

/// Draws its views on the main thread when a row is bound to it.
@MainActor
final class BackedCell: SceneCell {
  private(set) var bitmaps: [Bitmap?] = []
  /// Views drawn by all such cells of a screen.
  private let didDraw: @MainActor () -> Void

  required convenience init() { self.init {} }

  init(didDraw: @escaping @MainActor () -> Void) { self.didDraw = didDraw }

  func bind(_ views: [SceneView]) throws(DrawError) {
    bitmaps = []
    for view in views {
      didDraw()
      bitmaps.append(try view.request.makeBitmap())
    }
  }

  /// Thrown when it is bound.
  var error: DrawError? { nil }

  func prepareForReuse() { bitmaps = [] }
}

/// Has a slot of a drawer for each view.
@MainActor
final class SlotCell: SceneCell {
  private let drawer: CachedDrawer
  private let changed: @MainActor () -> Void
  private var slots: [DrawSlot] = []
  private var used = 0

  required convenience init() { self.init(drawer: .shared) {} }

  init(drawer: CachedDrawer, changed: @escaping @MainActor () -> Void) {
    self.drawer = drawer
    self.changed = changed
  }

  func bind(_ views: [SceneView]) {
    while slots.count < views.count {
      slots.append(DrawSlot(drawer: drawer) { [changed] _ in changed() })
    }
    used = views.count
    for (slot, view) in zip(slots, views) { slot.show(view.request) }
  }

  func prepareForReuse() {
    for slot in slots { slot.clear() }
    used = 0
  }

  var bitmaps: [Bitmap?] { slots.prefix(used).map(\.bitmap) }

  var error: DrawError? { slots.prefix(used).lazy.compactMap(\.error).first }
}
