import Foundation

/// A value that can be written to a file by a ``DiskWriter``.
public protocol Persistable: Sendable {
  /// The usual extension of such files, without the dot, at most 16 bytes.
  var pathExtension: String { get }
  /// The bytes of the file. Called in the background.
  func persistedData() throws(StorageError) -> Data
}

extension Data: Persistable {
  /// `data`.
  public var pathExtension: String { "data" }
  /// As it is.
  public func persistedData() throws(StorageError) -> Data { self }
}

/// A bitmap that is written in a format.
public struct EncodedBitmap: Persistable {
  /// The picture.
  public let bitmap: Bitmap
  /// The format.
  public let format: ImageFormat

  /// A picture to write.
  public init(_ bitmap: Bitmap, as format: ImageFormat) {
    self.bitmap = bitmap
    self.format = format
  }

  /// The format's.
  public var pathExtension: String { format.pathExtension }

  /// The encoded picture.
  public func persistedData() throws(StorageError) -> Data {
    do { return try bitmap.encoded(as: format) } catch { throw .notEncodable(error.description) }
  }
}
