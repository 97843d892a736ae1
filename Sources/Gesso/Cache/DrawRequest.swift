import Foundation

/// How urgent a draw is, from least to most.
public enum DrawPriority: Int, CaseIterable, Comparable, Sendable {
  /// When nothing else is to do.
  case veryLow
  /// Rows that may be needed.
  case low
  /// The default.
  case normal
  /// Rows that will be needed next.
  case high
  /// What is on screen now.
  case veryHigh

  /// By urgency.
  public static func < (a: DrawPriority, b: DrawPriority) -> Bool { a.rawValue < b.rawValue }
}

/// A picture that can be drawn, and the key that it is kept under.
///
/// The draw block runs on a worker thread, or on that of a caller who asks for the bitmap now. It must draw the same
/// picture whenever the key, the size, the scale and the background are the same.
public struct DrawRequest: Sendable {
  /// Draws into the context; the rectangle is the whole bitmap in points, from (0, 0).
  public typealias DrawBlock = @Sendable (borrowing DrawingContext, CGRect) throws -> Void

  /// The user's key: what the picture shows.
  public var key: String { cacheKey.identity }
  /// The size in points.
  public let size: CGSize
  /// Pixels per point.
  public let scale: CGFloat
  /// What the bitmap is filled with first. If it is opaque, the bitmap is: drawn, kept and composited faster.
  public let background: Color
  /// How urgent it is.
  public var priority: DrawPriority
  /// When it should be there: of draws that are as urgent, the one with the nearest deadline is first.
  public var deadline: ContinuousClock.Instant? {
    get { boxedDeadline?.instant }
    set { boxedDeadline = newValue.map { DrawDeadline($0) } }
  }
  /// Whether the drawer's stores are asked and written to.
  public var usesStores: Bool
  /// What draws.
  public let draw: DrawBlock
  /// What the bitmap is kept under.
  public let cacheKey: BitmapKey

  let pixels: Result<PixelSize, RasterError>

  private(set) var boxedDeadline: DrawDeadline?

  /// A request. A size or scale that cannot be is reported when it is drawn.
  public init(
    key: String, size: CGSize, scale: CGFloat = Screen.scale, background: Color = .clear,
    priority: DrawPriority = .normal, deadline: ContinuousClock.Instant? = nil, usesStores: Bool = true,
    draw: @escaping DrawBlock
  ) {
    self.size = size
    self.scale = scale
    self.background = background
    self.priority = priority
    boxedDeadline = deadline.map { DrawDeadline($0) }
    self.usesStores = usesStores
    self.draw = draw
    pixels = Result { () throws(RasterError) in try PixelSize(points: size, scale: scale) }
    cacheKey = BitmapKey(
      identity: key, size: size, pixels: try? pixels.get(), scale: Double(scale), background: background)
  }

  /// Draws the bitmap now, on the calling thread, without any cache.
  public func makeBitmap() throws(DrawError) -> Bitmap {
    try Bitmap(size: size, scale: scale, background: background, draw: draw)
  }
}

/// Why there is no bitmap.
public enum DrawError: Error, Sendable, CustomStringConvertible {
  /// The bitmap could not be made, or a drawing call failed.
  case raster(RasterError)
  /// The draw block threw this error.
  case drawBlock(any Error)
  /// The request was cancelled.
  case cancelled
  /// A draw block asked for the bitmap that it is drawing.
  case recursive(key: String)

  /// A sentence for a person.
  public var description: String {
    switch self {
    case .raster(let error): error.description
    case .drawBlock(let error): "the draw block failed: \(error)"
    case .cancelled: "the request was cancelled"
    case .recursive(let key): "the draw block of \"\(key)\" asked for \"\(key)\" itself"
    }
  }
}

/// How a request ended.
public enum DrawOutcome: Sendable {
  /// It was in memory.
  case memoryHit(Bitmap)
  /// A store on this machine had it.
  case diskHit(Bitmap)
  /// A store on another machine had it.
  case remoteHit(Bitmap)
  /// It was drawn, for this request or for another one of the same key.
  case drawn(Bitmap)
  /// It was cancelled.
  case cancelled
  /// There is no bitmap, and this is why.
  case failed(DrawError)

  /// The bitmap, if there is one.
  public var bitmap: Bitmap? {
    switch self {
    case .memoryHit(let bitmap), .diskHit(let bitmap), .remoteHit(let bitmap), .drawn(let bitmap): bitmap
    case .cancelled, .failed: nil
    }
  }

  /// The bitmap, or the error.
  public func get() throws(DrawError) -> Bitmap {
    switch self {
    case .memoryHit(let bitmap), .diskHit(let bitmap), .remoteHit(let bitmap), .drawn(let bitmap): return bitmap
    case .cancelled: throw .cancelled
    case .failed(let error): throw error
    }
  }
}

/// An instant in a box, which few requests have: the compiler does not know an instant's layout, and copying one for each hit
/// costs as much as a lookup.
final class DrawDeadline: Sendable {
  let instant: ContinuousClock.Instant
  init(_ instant: ContinuousClock.Instant) { self.instant = instant }
}

extension DrawDeadline? {
  /// Whether one deadline is before another one; none is after all. They are compared as they were given: by another
  /// clock, equal ones would differ by the moment at which they are looked at.
  func comes(before other: DrawDeadline?) -> Bool {
    guard let self else { return false }
    guard let other else { return true }
    return self !== other && self.instant < other.instant
  }
}
