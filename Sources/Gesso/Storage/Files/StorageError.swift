import Foundation

/// Why something was not written or read.
public enum StorageError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A system call failed: what was being done, to which path, and why (`errno` and its words).
  case system(operation: String, path: String, code: Int32)
  /// The name cannot be a file's: what is wrong with it.
  case invalidName(String, reason: String)
  /// The value could not be turned into bytes: why, and where in it.
  case notEncodable(String)
  /// It was cancelled in time.
  case cancelled
  /// More waits to be written than may, in bytes.
  case queueFull(limit: Int)

  /// A sentence for a person.
  public var description: String {
    switch self {
    case .system(let operation, let path, _): "\(path): cannot \(operation): \(reason)"
    case .invalidName(let name, let reason): "\"\(name)\" cannot be the name of a file: \(reason)"
    case .notEncodable, .cancelled, .queueFull: reason
    }
  }

  /// Why, without what and where.
  var reason: String {
    switch self {
    case .system(_, _, let code): String(cString: strerror(code))
    case .invalidName(_, let reason), .notEncodable(let reason): reason
    case .cancelled: "it was cancelled"
    case .queueFull(let limit): "over \(limit) bytes wait to be written already"
    }
  }

  /// An `errno`, if it was a system call.
  var code: Int32? {
    if case .system(_, _, let code) = self { code } else { nil }
  }

  static func last(_ operation: String, _ path: String) -> StorageError {
    .system(operation: operation, path: path, code: errno)
  }
}
