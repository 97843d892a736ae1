import Foundation

/// Writes a file all or nothing: under its name there is the old file or the new one, never a part of one.
struct AtomicFile {
  /// Where the file goes; made, with what is missing above it, if it is not there.
  let directory: String
  /// The file's name in it.
  let name: String
  /// Whether success means that the file survives a power cut.
  let isDurable: Bool

  var path: String { directory + "/" + name }

  /// What the names of files begin with that are being written.
  static let temporaryPrefix = ".gesso-"

  func write(_ data: Data) throws(StorageError) {
    try makeDirectory()
    let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw .last("open", directory) }
    defer { close(folder) }
    StaleFiles.sweepOnce(directory)
    let temporary = "\(Self.temporaryPrefix)\(getpid())-\(UUID().uuidString).tmp"
    // Not through a link that somebody has put there, and not into a file that exists.
    let file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .last("make a file in", directory) }
    StaleFiles.claim(file)
    do throws(StorageError) {
      try fill(file, with: data)
      guard renameat(folder, temporary, folder, name) == 0 else { throw .last("rename to", path) }
    } catch {
      unlinkat(folder, temporary, 0)
      throw error
    }
    guard isDurable else { return }
    guard fsync(folder) == 0 else { throw .last("sync", directory) }
    try DurableDirectories.shared.keep(directory)
  }

  /// Writes all bytes and closes, whatever happens.
  private func fill(_ file: Int32, with data: Data) throws(StorageError) {
    var failure: Int32 = 0
    data.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = Glibc.write(file, bytes.baseAddress! + done, bytes.count - done)
        if count < 0, errno == EINTR { continue }
        // A disk that takes nothing and names no error is full all the same.
        if count <= 0 {
          failure = count < 0 ? errno : ENOSPC
          return
        }
        done += count
      }
    }
    if failure == 0, isDurable, fsync(file) != 0 { failure = errno }
    // The last chance of a network file system to say that it has not kept the bytes.
    if close(file) != 0, failure == 0, errno != EINTR { failure = errno }
    guard failure == 0 else { throw .system(operation: "write", path: path, code: failure) }
  }

  /// Makes the directory and its parents.
  private func makeDirectory() throws(StorageError) {
    var missing: [String] = []
    var path = directory
    var information = stat()
    while path.count > 1, stat(path, &information) != 0, errno == ENOENT {
      missing.append(path)
      path = (path as NSString).deletingLastPathComponent
      if path.isEmpty { path = "." }
    }
    for path in missing.reversed() {
      guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last("make the directory", path) }
      DurableDirectories.shared.forget(path)
    }
  }
}

/// Which directories are known to survive a power cut: their entries in the directories above them have been synced.
///
/// Each one once in a process, whoever made it: a directory that another write has made is no safer for that.
private final class DurableDirectories: Sendable {
  static let shared = DurableDirectories()
  private let kept = Lock<Set<String>>([])

  func forget(_ directory: String) { kept.withLock { _ = $0.remove(directory) } }

  /// Syncs the directories above one, up to the first that may not be opened, which then is not ours.
  func keep(_ directory: String) throws(StorageError) {
    var path = directory
    while path.count > 1, !kept.withLock({ $0.contains(path) }) {
      var parent = (path as NSString).deletingLastPathComponent
      if parent.isEmpty { parent = "." }
      let folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard folder >= 0 else { return }
      defer { close(folder) }
      // File systems that have no syncing of directories say EINVAL: there is no more to be had.
      guard fsync(folder) == 0 || errno == EINVAL || errno == EROFS else { throw .last("sync", parent) }
      let safe = path
      kept.withLock { _ = $0.insert(safe) }
      if parent == "." { return }
      path = parent
    }
  }
}

/// What a file may be called.
enum FileName {
  static func check(_ name: String) throws(StorageError) {
    if name.isEmpty { throw .invalidName(name, reason: "it is empty") }
    if name == "." || name == ".." { throw .invalidName(name, reason: "it is a directory") }
    if name.utf8.contains(UInt8(ascii: "/")) { throw .invalidName(name, reason: "it contains a /") }
    if name.utf8.contains(0) { throw .invalidName(name, reason: "it contains NUL") }
    if name.utf8.count > 255 { throw .invalidName(name, reason: "it is longer than 255 bytes") }
  }

  static func unique(pathExtension: String) throws(StorageError) -> String {
    if pathExtension.isEmpty { return UUID().uuidString.lowercased() }
    if pathExtension.hasPrefix(".") { throw .invalidName(pathExtension, reason: "an extension begins with a dot") }
    if pathExtension.utf8.count > 16 { throw .invalidName(pathExtension, reason: "an extension of over 16 bytes") }
    let name = UUID().uuidString.lowercased() + "." + pathExtension
    try check(name)
    return name
  }
}
