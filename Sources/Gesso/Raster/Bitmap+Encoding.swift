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

/// How hard the encoder of blobs tries.
public enum BlobLevel: Sendable {
  /// For caches: encoded fast.
  case fast
  /// For what is kept: smaller, and slower to encode.
  case small
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

  /// The bitmap as a blob, which ``init(decoding:maximumByteCount:)`` reads.
  ///
  /// Work for a background thread. Thread-safety: any thread.
  /// - Parameter level: how hard to try; blobs of both levels are read alike.
  /// - Throws: `ImageFileError.cannotEncode` if there is no memory.
  public func encoded(level: BlobLevel) throws(ImageFileError) -> Data {
    var options = gesso_blob_options()
    options.struct_size = MemoryLayout<gesso_blob_options>.size
    options.level = level == .small ? GESSO_BLOB_SMALL : GESSO_BLOB_FAST
    var bytes: UnsafeMutablePointer<UInt8>?
    var length = 0
    let status = gesso_blob_encode_new(handle, &options, &bytes, &length)
    guard status == GESSO_OK, let bytes else {
      throw .cannotEncode(.blob, reason: String(cString: gesso_status_string(status)))
    }
    return Data(bytesNoCopy: bytes, count: length, deallocator: .custom { pointer, _ in gesso_free(pointer) })
  }

  /// Decodes a blob, as ``encoded(as:)`` makes it.
  ///
  /// Any bytes are safe: a damaged blob is an error and never other pixels.
  /// - Parameters:
  ///   - blob: all of its bytes, no more and no less.
  ///   - maximumByteCount: bytes of pixels that the result may take; nothing is allocated for more.
  public convenience init(decoding blob: Data, maximumByteCount: Int = 1 << 30) throws(BlobError) {
    var limits = gesso_limits()
    limits.struct_size = MemoryLayout<gesso_limits>.size
    limits.maximum_bytes = UInt64(max(1, maximumByteCount))
    var handle: OpaquePointer?
    let status = blob.withUnsafeBytes { buffer -> gesso_status in
      guard let base = buffer.baseAddress, !buffer.isEmpty else { return GESSO_NOT_RECOGNIZED }
      return gesso_blob_decode(base.assumingMemoryBound(to: UInt8.self), buffer.count, &limits, &handle)
    }
    guard status == GESSO_OK, let handle else { throw BlobError(status, byteCount: blob.count) }
    self.init(frozen: handle)
  }
}

/// What can be wrong with the bytes of a blob.
public enum BlobError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The bytes do not begin as a blob does.
  case notABlob
  /// The bytes end too early; how many there are.
  case truncated(byteCount: Int)
  /// A checksum or a size does not fit the rest.
  case corrupt
  /// A newer version, or a kind of band or pixel that this version does not know.
  case unsupported
  /// More pixels than the caller allows.
  case overLimit
  /// The system had no memory for the pixels.
  case outOfMemory

  /// A sentence for a person.
  public var description: String {
    switch self {
    case .notABlob: "not a blob: the first bytes are not its mark"
    case .truncated(let count): "the blob is cut off after \(count) bytes"
    case .corrupt: "the blob is damaged: a checksum or a size does not fit"
    case .unsupported: "the blob is of a newer version or an unknown kind"
    case .overLimit: "the blob's picture is larger than the caller allows"
    case .outOfMemory: "out of memory"
    }
  }

  init(_ status: gesso_status, byteCount: Int) {
    switch status {
    case GESSO_NOT_RECOGNIZED: self = .notABlob
    case GESSO_TRUNCATED: self = .truncated(byteCount: byteCount)
    case GESSO_UNSUPPORTED: self = .unsupported
    case GESSO_OVER_LIMIT: self = .overLimit
    case GESSO_OUT_OF_MEMORY: self = .outOfMemory
    default: self = .corrupt
    }
  }
}
