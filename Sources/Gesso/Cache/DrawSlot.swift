import Foundation

/// A place on screen that shows one bitmap at a time: the newest request wins, and an older result can never arrive.
///
///     let slot = DrawSlot(drawer: .shared) { bitmap in view.show(bitmap) }
///     slot.show(request)   // when the cell is configured
///     slot.clear()         // in prepareForReuse
@MainActor
public final class DrawSlot {
  private let drawer: CachedDrawer
  private let placeholder: Bitmap?
  private let display: @MainActor (Bitmap?) -> Void
  private var task: DrawTask?
  private var wanted: BitmapKey?
  /// How many invalidations there had been when it was asked for.
  private var since = 0
  /// Whose bitmap is shown; `nil`: the placeholder is, or nothing.
  private var shown: String?
  /// Grows with each change of what is wanted, so that a late result is known by its number.
  private var generation = 0

  /// What is shown now: a bitmap, the placeholder, or nothing.
  public private(set) var bitmap: Bitmap?
  /// Whether a bitmap is on its way.
  public var isPending: Bool { task != nil }
  /// Why there is no bitmap, if the last request failed.
  public private(set) var error: DrawError?

  /// A slot.
  /// - Parameters:
  ///   - drawer: what draws.
  ///   - placeholder: shown while another picture is on its way.
  ///   - display: called on the main actor whenever what is shown changes.
  public init(
    drawer: CachedDrawer = .shared, placeholder: Bitmap? = nil, display: @escaping @MainActor (Bitmap?) -> Void
  ) {
    self.drawer = drawer
    self.placeholder = placeholder
    self.display = display
  }

  deinit { task?.cancel() }

  /// Shows a picture: at once if it is in memory. Otherwise the old bitmap stays if it has the same key (in another
  /// size, say, or out of date), and the placeholder shows if not. Asking for what is shown or on its way does nothing, unless
  /// it has been invalidated since.
  public func show(_ request: DrawRequest) {
    if wanted == request.cacheKey, error == nil, !drawer.wasInvalidated(request.key, since: since) { return }
    let isSamePicture = shown == request.key
    cancel(for: request)
    wanted = request.cacheKey
    since = drawer.invalidationCount
    let expected = generation
    if let hit = drawer.hit(request) { return display(bitmap: hit, of: request.key) }
    if !isSamePicture { display(bitmap: placeholder) }
    // What is shown may have asked for another one.
    guard expected == generation else { return }
    let isMainActor = drawer.completions.isMainActor
    let started = drawer.draw(request) { [weak self] outcome in
      let finish: @MainActor () -> Void = { self?.finish(outcome, generation: expected) }
      if isMainActor { MainActor.assumeIsolated(finish) } else { DispatchQueue.main.async(execute: finish) }
    }
    // It may have been answered at once, by a draw that ended since the look above.
    if !started.isFinished { task = started }
  }

  /// Shows nothing, and wants nothing.
  public func clear() {
    cancel()
    wanted = nil
    display(bitmap: nil)
  }

  private func cancel(for newer: DrawRequest? = nil) {
    generation += 1
    error = nil
    if newer == nil { task?.cancel() } else { task?.supersede() }
    task = nil
  }

  private func finish(_ outcome: DrawOutcome, generation finished: Int) {
    guard finished == generation else { return }
    task = nil
    switch outcome {
    case .memoryHit(let bitmap), .diskHit(let bitmap), .remoteHit(let bitmap), .drawn(let bitmap):
      display(bitmap: bitmap, of: wanted?.identity)
    // By the drawer, which has given all up: the same may be asked for again.
    case .cancelled: wanted = nil
    case .failed(let error):
      self.error = error
      display(bitmap: placeholder)
    }
  }

  private func display(bitmap new: Bitmap?, of identity: String? = nil) {
    shown = identity
    guard new !== bitmap else { return }
    bitmap = new
    display(new)
  }
}
