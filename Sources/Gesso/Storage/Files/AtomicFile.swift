import Foundation

/// A file that is being written: under its name there is the old file or the new one, never a part of one.
///
/// Steps, each of which may fail: make, fill, sync or close, commit. What is not committed is removed, at once if a step fails.
final class AtomicFile {
  /// What the names of files begin with that are being written.
  static let temporaryPrefix = ".gesso-"

  let folder: FileFolder
  let name: String
  private let operations: FileOperations
  private let temporary = "\(temporaryPrefix)\(getpid())-\(UUID.quick.uuidString).tmp"
  private var file: Int32 = -1
  private var isMade = false

  /// Makes an empty file under a name of its own.
  init(in folder: FileFolder, named name: String) throws(StorageError) {
    (self.folder, self.name, operations) = (folder, name, folder.operations)
    // Not through a link that somebody has put there, and not into a file that exists.
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
    let result = operations.uninterrupted { operations.open(folder.descriptor.number, temporary, flags, 0o600) }
    guard result >= 0 else { throw folder.error("make a file in", result) }
    (file, isMade) = (Int32(result), true)
    _ = operations.lock(file, LOCK_EX | LOCK_NB)  // see StaleFiles
  }

  deinit { discard() }

  /// Removes what is not committed: before anybody is told that it will not be.
  func discard() {
    if file >= 0 { _ = operations.close(file) }
    if isMade { _ = operations.unlink(folder.descriptor.number, temporary) }
    (file, isMade) = (-1, false)
  }

  private func error(_ operation: String, _ result: Int) -> StorageError {
    .system(operation: operation, path: folder.path + "/" + name, code: Int32(-result))
  }

  private func check(_ result: Int, _ operation: String) throws(StorageError) {
    guard result < 0 else { return }
    discard()
    throw error(operation, result)
  }

  /// Writes more bytes.
  func write(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
    try check(operations.writeAll(file, bytes), "write")
  }

  /// Copies more bytes of another file, at most so many.
  /// - Returns: how many; 0 at its end. `nil`: the kernel cannot copy between the two.
  func copy(from source: Int32, at offset: Int64, _ count: Int) throws(StorageError) -> Int? {
    let result = operations.uninterrupted { operations.copy(source, offset, file, count) }
    if [EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EBADF, EPERM].contains(Int32(-result)) { return nil }
    try check(result, "write")
    return result
  }

  /// Lets the disk begin with what was written.
  func startSync() { _ = operations.startSync(file) }

  /// Makes sure that the bytes survive a power cut. What failed once is lost: it is not tried again.
  func sync() throws(StorageError) { try check(operations.uninterrupted { operations.sync(file) }, "sync") }

  /// The last chance of a network file system to say that it has not kept the bytes.
  func close() throws(StorageError) {
    let result = operations.close(file)
    file = -1
    if result != -Int(EINTR) { try check(result, "write") }
  }

  /// Gives the file its name.
  /// - Parameter replaces: whether a file of that name goes; if not, it is an error.
  func commit(replaces: Bool) throws(StorageError) {
    var result = rename(replaces)
    // A file system that cannot tell: the name is one that nobody else has made up.
    if !replaces, result == -Int(EINVAL) { result = rename(true) }
    try check(result, "rename to")
    isMade = false
  }

  private func rename(_ replaces: Bool) -> Int {
    operations.uninterrupted { operations.rename(folder.descriptor.number, temporary, name, replaces) }
  }
}

/// A directory that files are written to.
struct FileFolder {
  let path: String
  let descriptor: Descriptor
  let operations: FileOperations

  /// Opens a directory; made, with what is missing above it, if it is not there.
  init(_ path: String, _ operations: FileOperations) throws(StorageError) {
    (self.path, self.operations) = (path, operations)
    func open() -> Int { operations.uninterrupted { operations.open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0) } }
    var result = open()
    if result == -Int(ENOENT) {
      for made in try Directories.make(path, operations) { DurableDirectories.shared.forget(made) }
      result = open()
    }
    guard result >= 0 else { throw .system(operation: "open", path: path, code: Int32(-result)) }
    descriptor = Descriptor(Int32(result), operations)
    StaleFiles.sweepOnce(path)
  }

  func error(_ operation: String, _ result: Int) -> StorageError {
    .system(operation: operation, path: path, code: Int32(-result))
  }

  /// Makes sure that the names in it, and its own, survive a power cut.
  func sync() throws(StorageError) {
    let result = operations.uninterrupted { operations.sync(descriptor.number) }
    guard result >= 0 else { throw error("sync", result) }
    try DurableDirectories.shared.keep(path, operations)
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
  func keep(_ directory: String, _ operations: FileOperations) throws(StorageError) {
    var path = directory
    while path.count > 1, !kept.withLock({ $0.contains(path) }) {
      var parent = (path as NSString).deletingLastPathComponent
      if parent.isEmpty { parent = "." }
      let result = operations.uninterrupted { operations.open(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY, 0) }
      if [EACCES, EPERM].contains(Int32(-result)) { return }
      guard result >= 0 else { throw .system(operation: "open", path: parent, code: Int32(-result)) }
      let folder = Descriptor(Int32(result), operations)
      let synced = operations.uninterrupted { operations.sync(folder.number) }
      // File systems that have no syncing of directories say EINVAL: there is no more to be had.
      guard synced >= 0 || synced == -Int(EINVAL) || synced == -Int(EROFS) else {
        throw .system(operation: "sync", path: parent, code: Int32(-synced))
      }
      let safe = path
      kept.withLock { _ = $0.insert(safe) }
      if parent == "." { return }
      path = parent
    }
  }
}
