internal import CGesso
internal import CGessoFiles
import Foundation

/// A way to write a bitmap down.
public enum ImageFormat: Hashable, Sendable {
  /// Lossless, read everywhere.
  case png
  /// Lossy, for photos; transparent pixels are put on white. Quality from 0 to 1.
  case jpeg(quality: Double = 0.8)
  /// Lossy or lossless. Quality from 0 to 1; `nil` is lossless.
  case webp(quality: Double? = nil)
  /// Gesso's own, for caches: lossless, with scale and format, and read much faster than any of the others.
  case blob

  /// The usual extension of a file's name, without the dot.
  public var pathExtension: String {
    switch self {
    case .png: "png"
    case .jpeg: "jpg"
    case .webp: "webp"
    case .blob: "gbl"
    }
  }
}

extension Bitmap {
  /// The bitmap as the bytes of a file.
  ///
  /// Work for a background thread. Thread-safety: any thread.
  /// - Throws: `ImageFileError.cannotEncode` for a quality outside of 0…1, more pixels than the format can hold
  ///   (JPEG 65,500, WebP 16,383 on a side), or no memory.
  public func encoded(as format: ImageFormat) throws(ImageFileError) -> Data {
    var bytes: UnsafeMutablePointer<UInt8>?
    var length = 0
    let status: gesso_status
    switch format {
    case .png: status = gesso_png_encode(handle, 6, &bytes, &length)
    case .jpeg(let quality): status = gesso_jpeg_encode(handle, quality, &bytes, &length)
    case .webp(let quality?) where !(0...1).contains(quality): status = GESSO_INVALID_ARGUMENT
    case .webp(let quality): status = gesso_webp_encode(handle, quality ?? -1, &bytes, &length)
    case .blob: return try encoded(level: .fast)
    }
    guard status == GESSO_OK, let bytes else {
      throw .cannotEncode(format, reason: String(cString: gesso_status_string(status)))
    }
    return Data(bytesNoCopy: bytes, count: length, deallocator: .custom { pointer, _ in gesso_free(pointer) })
  }
}
