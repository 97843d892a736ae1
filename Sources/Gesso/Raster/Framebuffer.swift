internal import CGesso
import Foundation

/// Pixels that a program composes frames in: opaque, mutable, without a window.
///
/// Thread-safety: used by one thread at a time; it is not `Sendable`, so that the compiler sees to it.
public final class Framebuffer {
  private let handle: OpaquePointer

  /// A framebuffer, black.
  /// - Parameters:
  ///   - size: in points, rounded up to whole pixels.
  ///   - scale: pixels per point.
  public init(size: CGSize, scale: CGFloat = Screen.scale) throws(RasterError) {
    let pixels = try PixelSize(points: size, scale: scale)
    var handle: OpaquePointer?
    let status = gesso_bitmap_create(pixels.width, pixels.height, GESSO_FORMAT_XRGB32, Double(scale), &handle)
    guard status == GESSO_OK, let handle else { throw RasterError(status) }
    self.handle = handle
    fill(.black)
  }

  deinit { gesso_bitmap_release(handle) }

  /// Columns of pixels.
  public var width: Int { Int(gesso_bitmap_width(handle)) }
  /// Rows of pixels.
  public var height: Int { Int(gesso_bitmap_height(handle)) }
  /// Pixels per point.
  public var scale: CGFloat { CGFloat(gesso_bitmap_scale(handle)) }

  /// Fills everything with a colour.
  public func fill(_ color: Color) {
    fill(color, x: 0, y: 0, width: width, height: height)
  }

  /// Fills a rectangle of pixels with a colour; what is outside of the framebuffer is left out.
  public func fill(_ color: Color, x: Int, y: Int, width: Int, height: Int) {
    guard width > 0, height > 0 else { return }
    gesso_fill(
      handle, Int64(x), Int64(y), UInt32(clamping: width), UInt32(clamping: height), color.red, color.green,
      color.blue, 1)
  }

  /// Puts a bitmap at a pixel, one to one: a copy if it is opaque, blended over if not.
  /// - Parameter alpha: opacity of all of it, 0…1.
  public func composite(_ bitmap: Bitmap, x: Int, y: Int, alpha: Double = 1) {
    gesso_composite(handle, bitmap.handle, Int64(x), Int64(y), alpha)
  }

  /// Draws onto what is there.
  public func draw(_ body: (borrowing DrawingContext) throws -> Void) throws(DrawError) {
    var context: OpaquePointer?
    let status = gesso_context_create_for_bitmap(&context, handle)
    guard status == GESSO_OK, let context else { throw .raster(RasterError(status)) }
    do {
      try body(DrawingContext(context))
    } catch {
      gesso_context_release(context)
      throw .drawBlock(error)
    }
    let finished = gesso_context_finish(context, nil)
    guard finished == GESSO_OK else { throw .raster(RasterError(finished)) }
  }

  /// What it shows now, as a bitmap of its own.
  public func snapshot() throws(RasterError) -> Bitmap {
    var copy: OpaquePointer?
    let status = gesso_bitmap_copy(handle, &copy)
    guard status == GESSO_OK, let copy else { throw RasterError(status) }
    return Bitmap(frozen: copy)
  }
}
