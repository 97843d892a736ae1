internal import CGesso

/// What can be wrong with the bytes of a blob.
public enum BlobError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The bytes do not begin as a blob does.
  case notABlob
  /// The bytes end too early; how many there are.
  case truncated(byteCount: Int)
  /// Something does not fit the rest, such as a checksum: what, and at which byte.
  case corrupt(_ what: String, offset: Int)
  /// A newer version, or a kind of band or pixel that this version does not know: what, and at which byte.
  case unsupported(_ what: String, offset: Int)
  /// More pixels than the caller allows.
  case overLimit
  /// The system had no memory for the pixels.
  case outOfMemory

  /// A sentence for a person.
  public var description: String {
    switch self {
    case .notABlob: "not a blob: the first bytes are not its mark"
    case .truncated(let count): "the blob is cut off after \(count) bytes"
    case .corrupt(let what, let offset): "the blob is damaged: wrong \(what) at byte \(offset)"
    case .unsupported(let what, let offset): "the blob is of a newer version or kind: unknown \(what) at byte \(offset)"
    case .overLimit: "the blob's picture is larger than the caller allows"
    case .outOfMemory: "out of memory"
    }
  }

  init(_ status: gesso_status, _ fault: gesso_blob_fault) {
    let what = fault.what.map { String(cString: $0) } ?? "bytes"
    let offset = Int(clamping: fault.offset)
    switch status {
    case GESSO_NOT_RECOGNIZED: self = .notABlob
    case GESSO_TRUNCATED: self = .truncated(byteCount: offset)
    case GESSO_UNSUPPORTED: self = .unsupported(what, offset: offset)
    case GESSO_OVER_LIMIT: self = .overLimit
    case GESSO_OUT_OF_MEMORY: self = .outOfMemory
    default: self = .corrupt(what, offset: offset)
    }
  }
}
