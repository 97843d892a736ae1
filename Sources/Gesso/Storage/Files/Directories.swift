import Foundation

/// Makes directories.
enum Directories {
  /// Makes a directory and its parents, each for the user alone.
  /// - Returns: those that were not there.
  static func make(_ directory: String, _ operations: FileOperations) throws(StorageError) -> [String] {
    var missing: [String] = []
    var path = directory
    while path.count > 1 {
      // Through links: what is asked is whether there is something, or a directory above it is missing.
      let result = operations.uninterrupted { operations.open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0) }
      if result >= 0 { _ = operations.close(Int32(result)) }
      guard result == -Int(ENOENT) else { break }
      missing.append(path)
      path = (path as NSString).deletingLastPathComponent
      if path.isEmpty { path = "." }
    }
    for path in missing.reversed() {
      let result = operations.makeDirectory(path)
      guard result >= 0 || result == -Int(EEXIST) else {
        throw .system(operation: "make the directory", path: path, code: Int32(-result))
      }
    }
    return missing
  }
}
