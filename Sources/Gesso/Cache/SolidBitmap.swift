internal import CGesso
import Foundation

/// A bitmap whose pixels are all the same, without them.
struct SolidBitmap: Sendable {
  /// What is said to be taken by one: a pixel, width and height, and what else there is.
  static let byteCount = 16

  private let pixel: UInt32
  private let width: UInt32
  private let height: UInt32
  private let format: gesso_format
  private let scale: Double

  /// `nil` if some pixel is unlike the first one: mostly found at once.
  init?(_ bitmap: Bitmap) {
    let handle = bitmap.handle
    (width, height) = (gesso_bitmap_width(handle), gesso_bitmap_height(handle))
    (format, scale) = (gesso_bitmap_format(handle), gesso_bitmap_scale(handle))
    guard let pixels = gesso_bitmap_pixels(handle) else { return nil }
    let stride = gesso_bitmap_stride(handle), size = format == GESSO_FORMAT_A8 ? 1 : 4, row = Int(width) * size
    for y in 0..<Int(height) where memcmp(pixels, pixels + y * stride, size) != 0 { return nil }
    for y in 0..<Int(height) where memcmp(pixels + y * stride, pixels + y * stride + size, row - size) != 0 {
      return nil
    }
    var first: UInt32 = 0
    memcpy(&first, pixels, size)
    pixel = first
  }

  /// The bitmap again; `nil` without memory for it.
  func makeBitmap() -> Bitmap? {
    var handle: OpaquePointer?
    guard gesso_bitmap_create(width, height, format, scale, &handle) == GESSO_OK, let handle else { return nil }
    let stride = gesso_bitmap_stride(handle)
    guard let pixels = gesso_bitmap_mutable_pixels(handle) else { return nil }
    for y in 0..<Int(height) {
      let row = pixels + y * stride
      if format == GESSO_FORMAT_A8 {
        memset(row, Int32(pixel), Int(width))
      } else {
        row.assumingMemoryBound(to: UInt32.self).update(repeating: pixel, count: Int(width))
      }
    }
    return Bitmap(frozen: handle)
  }
}
