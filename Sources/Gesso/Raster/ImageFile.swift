internal import CGesso
internal import CGessoFiles
import Dispatch
import Foundation

/// What can go wrong when an image file is read or written.
public enum ImageFileError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file could not be opened or read; the system's reason.
  case cannotRead(path: String, reason: String)
  /// Not a PNG, JPEG or WebP. `source` is a path, or says how many bytes there were.
  case notAnImage(source: String)
  /// The file ends too early.
  case truncated(source: String)
  /// The file contradicts itself.
  case corrupt(source: String)
  /// A valid file of a kind that is not read.
  case unsupported(source: String)
  /// More pixels than ``ImageOptions/maximumByteCount`` allows.
  case overLimit(source: String)
  /// The system had no memory for the pixels.
  case outOfMemory(source: String)
  /// The bitmap could not be written in this format.
  case cannotEncode(ImageFormat, reason: String)

  /// A sentence for a person.
  public var description: String {
    switch self {
    case .cannotRead(let path, let reason): "\(path): cannot be read: \(reason)"
    case .notAnImage(let source): "\(source): not a PNG, JPEG or WebP picture"
    case .truncated(let source): "\(source): the picture is cut off"
    case .corrupt(let source): "\(source): the picture is damaged"
    case .unsupported(let source): "\(source): a kind of picture that is not supported"
    case .overLimit(let source): "\(source): the picture is larger than allowed"
    case .outOfMemory(let source): "\(source): no memory for the picture"
    case .cannotEncode(let format, let reason): "cannot be written as \(format.pathExtension): \(reason)"
    }
  }

  init(_ status: gesso_status, source: String) {
    switch status {
    case GESSO_NOT_RECOGNIZED: self = .notAnImage(source: source)
    case GESSO_TRUNCATED: self = .truncated(source: source)
    case GESSO_UNSUPPORTED: self = .unsupported(source: source)
    case GESSO_OVER_LIMIT, GESSO_TOO_LARGE: self = .overLimit(source: source)
    case GESSO_OUT_OF_MEMORY: self = .outOfMemory(source: source)
    default: self = .corrupt(source: source)
    }
  }
}

/// How an image file is decoded.
public struct ImageOptions: Hashable, Sendable {
  /// Pixels that the picture has to fit into, in its own proportions; it is made smaller, never larger. `nil`: as it is.
  public var fitting: CGSize?
  /// Pixels per point of the bitmap. It changes no pixels.
  public var scale: CGFloat
  /// Whether the picture is turned as its EXIF orientation says.
  public var appliesOrientation: Bool
  /// Bytes of pixels that may be decoded; a larger picture is an error, before anything is allocated. 1 GiB by default.
  public var maximumByteCount: Int

  /// Options; the defaults decode the whole picture, upright.
  public init(
    fitting: CGSize? = nil, scale: CGFloat = 1, appliesOrientation: Bool = true, maximumByteCount: Int = 1 << 30
  ) {
    self.fitting = fitting
    self.scale = scale
    self.appliesOrientation = appliesOrientation
    self.maximumByteCount = maximumByteCount
  }
}

extension Bitmap {
  /// Decodes the bytes of a PNG, JPEG or WebP on the calling thread.
  public convenience init(image data: Data, options: ImageOptions = ImageOptions()) throws(ImageFileError) {
    try self.init(image: data, source: "\(data.count) bytes", options: options)
  }

  /// Reads and decodes a PNG, JPEG or WebP file on the calling thread; ``load(contentsOf:options:)`` does it in the
  /// background.
  public convenience init(contentsOf url: URL, options: ImageOptions = ImageOptions()) throws(ImageFileError) {
    try self.init(image: Self.read(url), source: url.path, options: options)
  }

  private static func read(_ url: URL) throws(ImageFileError) -> Data {
    do { return try FileBytes.read(url.path) } catch { throw .cannotRead(path: url.path, reason: error.reason) }
  }

  private static let fileQueue = DispatchQueue(label: "gesso.files", attributes: .concurrent)

  /// Reads and decodes an image file on a worker thread.
  public static func load(
    contentsOf url: URL, options: ImageOptions = ImageOptions()
  ) async throws(ImageFileError) -> Bitmap {
    let result: Result<Bitmap, ImageFileError> = await callback { finish in
      fileQueue.async {
        // A slow disk keeps a thread of its own waiting, and no worker.
        let data = Result { () throws(ImageFileError) in try read(url) }
        WorkerPool.shared.submit {
          finish(
            Result { () throws(ImageFileError) in
              try Bitmap(image: data.get(), source: url.path, options: options)
            })
        }
      }
    }
    return try result.get()
  }

  private convenience init(image data: Data, source: String, options: ImageOptions) throws(ImageFileError) {
    guard options.scale.isFinite, options.scale > 0 else {
      throw .cannotRead(path: source, reason: "a scale of \(options.scale)")
    }
    var decoding = gesso_image_options()
    decoding.struct_size = MemoryLayout<gesso_image_options>.size
    decoding.limits.struct_size = MemoryLayout<gesso_limits>.size
    decoding.limits.maximum_bytes = UInt64(max(1, options.maximumByteCount))
    decoding.ignores_orientation = !options.appliesOrientation
    if let target = options.fitting {
      guard target.width >= 1, target.height >= 1, target.width <= 1e6, target.height <= 1e6 else {
        throw .cannotRead(path: source, reason: "a target of \(target.width) × \(target.height) pixels")
      }
      decoding.target_width = UInt32(target.width)
      decoding.target_height = UInt32(target.height)
    }
    var handle: OpaquePointer?
    let status = data.withUnsafeBytes { buffer -> gesso_status in
      guard let base = buffer.baseAddress, !buffer.isEmpty else { return GESSO_NOT_RECOGNIZED }
      return gesso_image_decode(base.assumingMemoryBound(to: UInt8.self), buffer.count, &decoding, &handle)
    }
    guard status == GESSO_OK, let handle else { throw ImageFileError(status, source: source) }
    gesso_bitmap_set_scale(handle, Double(options.scale))
    self.init(frozen: handle)
  }
}
