internal import CGesso
import Foundation

/// How a bitmap's pixels lie in memory.
public enum PixelFormat: Sendable {
  /// 32-bit native-endian words, alpha in the top byte, then red, green, blue; premultiplied.
  case argb32
  /// The same words, always opaque; the top byte is 255.
  case xrgb32
  /// One byte of alpha a pixel.
  case a8

  init(_ format: gesso_format) {
    switch format {
    case GESSO_FORMAT_XRGB32: self = .xrgb32
    case GESSO_FORMAT_A8: self = .a8
    default: self = .argb32
    }
  }
}

/// Pixels that no longer change, shared freely between threads.
///
/// A bitmap is drawn with ``init(size:scale:background:draw:)``, comes out of a ``CachedDrawer``, or is read from a
/// file with ``init(contentsOf:options:)``.
///
/// Thread-safety: any thread.
public final class Bitmap: Sendable {
  // Proof of safety: the handle never changes, its count is atomic, and `init(frozen:)`, the only way in, freezes the
  // pixels, after which C hands out no pointer for writing to them.
  nonisolated(unsafe) let handle: OpaquePointer

  /// Takes over one reference to a C bitmap, which is frozen if it was not.
  init(frozen handle: OpaquePointer) {
    gesso_bitmap_freeze(handle)
    self.handle = handle
  }

  deinit { gesso_bitmap_release(handle) }

  /// Draws a bitmap on the calling thread.
  ///
  /// - Parameters:
  ///   - size: in points, rounded up to whole pixels.
  ///   - scale: pixels per point.
  ///   - background: what the bitmap is filled with first. If it is opaque, so is the bitmap.
  ///   - draw: draws into the context; the rectangle is the whole bitmap in points, from (0, 0).
  /// - Throws: `DrawError.raster` for a size that cannot be, or a drawing call that failed; `DrawError.drawBlock` with
  ///   the error that `draw` threw.
  public convenience init(
    size: CGSize, scale: CGFloat = Screen.scale, background: Color = .clear,
    draw: (borrowing DrawingContext, CGRect) throws -> Void
  ) throws(DrawError) {
    let pixels: PixelSize
    do { pixels = try PixelSize(points: size, scale: scale) } catch { throw .raster(error) }
    var options = gesso_context_options()
    options.struct_size = MemoryLayout<gesso_context_options>.size
    options.format = background.isOpaque ? GESSO_FORMAT_XRGB32 : GESSO_FORMAT_ARGB32
    options.scale = Double(scale)
    options.background = (background.red, background.green, background.blue, background.alpha)
    var handle: OpaquePointer?
    let status = gesso_context_create(&handle, pixels.width, pixels.height, &options)
    guard status == GESSO_OK, let handle else { throw .raster(RasterError(status)) }
    do {
      try draw(DrawingContext(handle), CGRect(origin: .zero, size: size))
    } catch {
      gesso_context_release(handle)
      throw .drawBlock(error)
    }
    var bitmap: OpaquePointer?
    let finished = gesso_context_finish(handle, &bitmap)
    guard finished == GESSO_OK, let bitmap else { throw .raster(RasterError(finished)) }
    self.init(frozen: bitmap)
  }

  /// Columns of pixels.
  public var width: Int { Int(gesso_bitmap_width(handle)) }
  /// Rows of pixels.
  public var height: Int { Int(gesso_bitmap_height(handle)) }
  /// Pixels per point.
  public var scale: CGFloat { CGFloat(gesso_bitmap_scale(handle)) }
  /// Width and height in points.
  public var size: CGSize { CGSize(width: CGFloat(width) / scale, height: CGFloat(height) / scale) }
  /// How the pixels lie in memory.
  public var format: PixelFormat { PixelFormat(gesso_bitmap_format(handle)) }
  /// Whether nothing can show through: by format, not by looking at pixels.
  public var isOpaque: Bool { gesso_bitmap_is_opaque(handle) }
  /// Bytes from one row to the next.
  public var bytesPerRow: Int { gesso_bitmap_stride(handle) }
  /// Bytes of memory that the pixels take; for a crop, what it spans of the bitmap that it shares.
  public var byteCount: Int { gesso_bitmap_byte_count(handle) }

  /// Lends the pixels: rows from the top, ``bytesPerRow`` apart, each `width` pixels of ``format`` and perhaps padding.
  /// The pointer is valid until `body` returns.
  public func withPixels<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: gesso_bitmap_pixels(handle), count: byteCount))
  }

  /// A rectangle of this bitmap, sharing its pixels. Nothing is copied, and all of this bitmap's memory stays while
  /// the crop is kept.
  ///
  /// - Parameter rectangle: in pixels, made integral outwards.
  /// - Throws: `RasterError.outsideBitmap` when it is empty or not wholly inside.
  public func cropped(to rectangle: CGRect) throws(RasterError) -> Bitmap {
    let edges = [rectangle.minX, rectangle.minY, rectangle.maxX, rectangle.maxY].map { Double($0) }
    guard edges.allSatisfy({ $0.isFinite && abs($0) < 1e9 }) else { throw .invalidArgument }
    let x = Int(edges[0].rounded(.down))
    let y = Int(edges[1].rounded(.down))
    let width = Int(edges[2].rounded(.up)) - x
    let height = Int(edges[3].rounded(.up)) - y
    guard x >= 0, y >= 0, width > 0, height > 0, !rectangle.isEmpty else {
      throw .outsideBitmap(x: x, y: y, width: width, height: height)
    }
    var crop: OpaquePointer?
    let status = gesso_bitmap_crop(handle, UInt32(x), UInt32(y), UInt32(width), UInt32(height), &crop)
    guard status != GESSO_INVALID_SIZE else { throw .outsideBitmap(x: x, y: y, width: width, height: height) }
    guard status == GESSO_OK, let crop else { throw RasterError(status) }
    return Bitmap(frozen: crop)
  }

  /// Whether both have the same dimensions, scale, format and pixels.
  public func hasSamePixels(as other: Bitmap) -> Bool {
    guard width == other.width, height == other.height, scale == other.scale, format == other.format else {
      return false
    }
    let row = width * (format == .a8 ? 1 : 4)
    return withPixels { mine in
      other.withPixels { theirs in
        (0..<height).allSatisfy { y in
          memcmp(mine.baseAddress! + y * bytesPerRow, theirs.baseAddress! + y * other.bytesPerRow, row) == 0
        }
      }
    }
  }
}
