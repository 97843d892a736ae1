import Foundation

/// A value that can be written to a file by a ``DiskWriter``.
public protocol Persistable: Sendable {
  /// The usual extension of such files, without the dot, at most 16 bytes.
  var pathExtension: String { get }
  /// About how many bytes it holds in memory, which counts while it waits; 4096 if a type does not say.
  var estimatedByteCount: Int { get }
  /// The bytes of the file. Called in the background.
  func persistedData() throws(StorageError) -> Data
}

extension Persistable {
  /// A page.
  public var estimatedByteCount: Int { 4096 }
}

extension Data: Persistable {
  /// As many as there are.
  public var estimatedByteCount: Int { count }
  /// `data`.
  public var pathExtension: String { "data" }
  /// As it is.
  public func persistedData() throws(StorageError) -> Data { self }
}

extension String: Persistable {
  /// As many as there are.
  public var estimatedByteCount: Int { utf8.count }
  /// `txt`.
  public var pathExtension: String { "txt" }
  /// As UTF-8.
  public func persistedData() throws(StorageError) -> Data { Data(utf8) }
}

/// Any encodable value as JSON, its keys in order.
public struct EncodedJSON<Value: Encodable & Sendable>: Persistable {
  /// What is written.
  public let value: Value

  /// A value to write.
  public init(_ value: Value) { self.value = value }

  /// `json`.
  public var pathExtension: String { "json" }

  /// The document.
  public func persistedData() throws(StorageError) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do { return try encoder.encode(value) } catch { throw .notEncodable("\(type(of: value)) is no JSON: \(error)") }
  }
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

  /// Those of its pixels.
  public var estimatedByteCount: Int { bitmap.byteCount }

  /// The encoded picture.
  public func persistedData() throws(StorageError) -> Data {
    do { return try bitmap.encoded(as: format) } catch { throw .notEncodable(error.description) }
  }
}
