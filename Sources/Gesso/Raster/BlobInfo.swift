internal import CGesso
import Foundation

/// What a blob is, from its header and table: nothing is decoded.
public struct BlobInfo: Hashable, Sendable {
  /// Full-width rows that are written down together, in the way that is smallest for them.
  public struct Band: Hashable, Sendable {
    /// `stored`, `solid`, `lz4`, `masks` or `filter`: see the description of the format.
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
    let read = blob.withUnsafeBytes { buffer -> (gesso_status, gesso_blob_info, [gesso_blob_band]) in
      var info = gesso_blob_info()
      info.struct_size = MemoryLayout<gesso_blob_info>.size
      guard let base = buffer.baseAddress, !buffer.isEmpty else { return (GESSO_NOT_RECOGNIZED, info, []) }
      let bytes = base.assumingMemoryBound(to: UInt8.self)
      var status = gesso_blob_probe(bytes, buffer.count, &info)
      guard status == GESSO_OK else { return (status, info, []) }
      var band = gesso_blob_band()
      band.struct_size = MemoryLayout<gesso_blob_band>.size
      var bands = [gesso_blob_band](repeating: band, count: Int(info.band_count))
      status = gesso_blob_bands_get(bytes, buffer.count, 0, info.band_count, &bands)
      return (status, info, bands)
    }
    guard read.0 == GESSO_OK else { throw BlobError(read.0, byteCount: blob.count) }
    let info = read.1
    width = Int(info.width)
    height = Int(info.height)
    scale = CGFloat(info.scale)
    format = PixelFormat(info.format)
    isOpaque = info.is_opaque
    byteCount = Int(info.total_bytes)
    bands = read.2.map { band in
      let first = Int(band.first_row)
      return Band(
        mode: String(cString: band.mode), rows: first..<first + Int(band.row_count), offset: Int(band.offset),
        byteCount: Int(band.length))
    }
  }

  /// Checks header, table and every checksum, without decoding. Thread-safety: any thread.
  public static func verify(_ blob: Data) throws(BlobError) {
    let status = blob.withUnsafeBytes { buffer -> gesso_status in
      guard let base = buffer.baseAddress, !buffer.isEmpty else { return GESSO_NOT_RECOGNIZED }
      return gesso_blob_verify(base.assumingMemoryBound(to: UInt8.self), buffer.count)
    }
    guard status == GESSO_OK else { throw BlobError(status, byteCount: blob.count) }
  }
}
