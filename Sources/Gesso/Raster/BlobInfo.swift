internal import CGesso
import Foundation

/// What a blob is, from its header and table: nothing is decoded.
public struct BlobInfo: Hashable, Sendable {
  /// Full-width rows that are written down together, in the way that is smallest for them.
  public struct Band: Hashable, Sendable {
    /// `stored`, `solid`, `lz4`, `masks`, `filter` or `operations`: see the description of the format.
    public let mode: String
    /// The first of its rows, and how many there are.
    public let rows: Range<Int>
    /// Where its bytes begin in the blob.
    public let offset: Int
    /// How many bytes it takes.
    public let byteCount: Int
  }

  /// Columns of pixels.
  public let width: Int
  /// Rows of pixels.
  public let height: Int
  /// Pixels per point.
  public let scale: CGFloat
  /// How pixels are stored once they are decoded.
  public let format: PixelFormat
  /// Whether every pixel is known to be opaque.
  public let isOpaque: Bool
  /// Bytes of the blob.
  public let byteCount: Int
  /// From the top to the bottom.
  public let bands: [Band]

  /// Bytes that the pixels take.
  public var pixelByteCount: Int { width * height * (format == .a8 ? 1 : 4) }

  /// Reads and checks header and table, and not the bands. Thread-safety: any thread.
  public init(_ blob: Data) throws(BlobError) {
    let read = blob.withUnsafeBytes { buffer -> (gesso_blob_info, [gesso_blob_band])? in
      var info = gesso_blob_info()
      info.struct_size = MemoryLayout<gesso_blob_info>.size
      let bytes = Self.bytes(of: buffer)
      guard gesso_blob_probe(bytes, buffer.count, &info) == GESSO_OK else { return nil }
      var band = gesso_blob_band()
      band.struct_size = MemoryLayout<gesso_blob_band>.size
      var bands = [gesso_blob_band](repeating: band, count: Int(info.band_count))
      guard gesso_blob_bands_get(bytes, buffer.count, 0, info.band_count, &bands) == GESSO_OK else { return nil }
      return (info, bands)
    }
    // Which finds the same fault first, and says where it is.
    guard let read else { throw Self.fault(of: blob) ?? .outOfMemory }
    let info = read.0
    width = Int(info.width)
    height = Int(info.height)
    scale = CGFloat(info.scale)
    format = PixelFormat(info.format)
    isOpaque = info.is_opaque
    byteCount = Int(info.total_bytes)
    bands = read.1.map { band in
      let first = Int(band.first_row)
      return Band(
        mode: String(cString: band.mode), rows: first..<first + Int(band.row_count), offset: Int(band.offset),
        byteCount: Int(band.length))
    }
  }

  /// Checks header, table and every checksum, without decoding. Thread-safety: any thread.
  public static func verify(_ blob: Data) throws(BlobError) {
    if let fault = fault(of: blob) { throw fault }
  }

  private static func fault(of blob: Data) -> BlobError? {
    var fault = gesso_blob_fault()
    fault.struct_size = MemoryLayout<gesso_blob_fault>.size
    let status = blob.withUnsafeBytes { gesso_blob_verify(bytes(of: $0), $0.count, &fault) }
    return status == GESSO_OK ? nil : BlobError(status, fault)
  }

  /// Bytes as C takes them: an empty buffer may have no address, and C wants one.
  static func bytes(of buffer: UnsafeRawBufferPointer) -> UnsafePointer<UInt8> {
    buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? UnsafePointer(bitPattern: 1)!
  }
}
