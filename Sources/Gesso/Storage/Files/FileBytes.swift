import Foundation

/// Whole files in memory.
public enum FileBytes {
  /// Reads a file to its end.
  /// - Parameters:
  ///   - limit: bytes; a longer file is an error (`EFBIG`), so that a device without end is no trap.
  ///   - waits: for what comes through a pipe. If not, a pipe without a writer is empty, and no trap.
  public static func read(_ path: String, limit: Int = 2 << 30, waits: Bool = false) throws(StorageError) -> Data {
    let file = open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
    guard file >= 0 else { throw .last("open", path) }
    defer { close(file) }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = buffer.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress!, $0.count) }
      if count < 0 {
        if errno == EINTR { continue }
        throw .last("read", path)
      }
      if count == 0 { return data }
      guard data.count + count <= limit else { throw .system(operation: "read", path: path, code: EFBIG) }
      data.append(buffer, count: count)
    }
  }
}
