internal import CGessoSystem
import Foundation

/// What storage asks of the system: one small table, so that tests can have any of it fail.
///
/// Each gives 0 or more, or the negative of an `errno`, as the kernel itself does. A directory is a descriptor, or
/// `AT_FDCWD`.
struct FileOperations: Sendable {
  /// Directory, name, flags, mode of a new file. `O_CLOEXEC` is added.
  var open: @Sendable (Int32, String, Int32, mode_t) -> Int = { directory, name, flags, mode in
    Self.result(Int(openat(directory, name, flags | O_CLOEXEC, mode)))
  }
  var close: @Sendable (Int32) -> Int = { Self.result(Int(Glibc.close($0))) }
  var read: @Sendable (Int32, UnsafeMutableRawPointer, Int) -> Int = { Self.result(Glibc.read($0, $1, $2)) }
  var write: @Sendable (Int32, UnsafeRawPointer, Int) -> Int = { Self.result(Glibc.write($0, $1, $2)) }
  /// Pieces, and the place in the file.
  var readAt: @Sendable (Int32, UnsafePointer<iovec>, Int, Int64) -> Int = {
    Self.result(preadv($0, $1, Int32($2), off_t($3)))
  }
  var writeAt: @Sendable (Int32, UnsafePointer<iovec>, Int, Int64) -> Int = {
    Self.result(pwritev($0, $1, Int32($2), off_t($3)))
  }
  /// From a file and a place in it to the place of another, at most so many bytes.
  var copy: @Sendable (Int32, Int64, Int32, Int) -> Int = { Int(gesso_file_copy($0, $1, $2, $3)) }
  var status: @Sendable (Int32, inout stat) -> Int = { Self.result(Int(fstat($0, &$1))) }
  /// Of an entry of a directory; of a link itself.
  var statusOfEntry: @Sendable (Int32, String, inout stat) -> Int = {
    Self.result(Int(fstatat($0, $1, &$2, AT_SYMLINK_NOFOLLOW)))
  }
  var truncate: @Sendable (Int32, Int64) -> Int = { Self.result(Int(ftruncate($0, off_t($1)))) }
  var preallocate: @Sendable (Int32, Int64) -> Int = { Int(gesso_file_preallocate($0, $1)) }
  var sync: @Sendable (Int32) -> Int = { Self.result(Int(fsync($0))) }
  var startSync: @Sendable (Int32) -> Int = { Int(gesso_file_start_sync($0)) }
  /// Within a directory; whether an entry that is there is replaced.
  var rename: @Sendable (Int32, String, String, Bool) -> Int = { Int(gesso_file_rename($0, $1, $2, $3 ? 1 : 0)) }
  var unlink: @Sendable (Int32, String) -> Int = { Self.result(Int(unlinkat($0, $1, 0))) }
  var makeDirectory: @Sendable (String) -> Int = { Self.result(Int(mkdir($0, 0o700))) }
  /// As `flock`.
  var lock: @Sendable (Int32, Int32) -> Int = { Self.result(Int(flock($0, $1))) }
  /// Adds the names in a directory.
  var list: @Sendable (Int32, inout [String]) -> Int = { Self.names(of: $0, &$1) }
  /// Seconds since 1970.
  var now: @Sendable () -> UInt32 = { UInt32(clamping: time(nil)) }

  /// The system's own.
  static let system = FileOperations()

  private static func result(_ value: Int) -> Int { value < 0 ? -Int(errno) : value }

  private static func names(of directory: Int32, _ names: inout [String]) -> Int {
    // Of its own, as reading it moves its place.
    let copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { return -Int(errno) }
    guard let stream = fdopendir(copy) else {
      Glibc.close(copy)
      return -Int(errno)
    }
    defer { closedir(stream) }
    while true {
      errno = 0
      guard let entry = readdir(stream) else { return -Int(errno) }
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
  }
}

extension FileOperations {
  /// Repeats what a signal has interrupted. Not for `close`, which has closed all the same.
  func uninterrupted(_ body: () -> Int) -> Int {
    while true {
      let result = body()
      if result != -Int(EINTR) { return result }
    }
  }

  /// Whether an open file is the one of that name.
  func isFile(_ file: Int32, _ name: String, in directory: Int32) -> Bool {
    var (own, named) = (stat(), stat())
    return status(file, &own) >= 0 && statusOfEntry(directory, name, &named) >= 0
      && own.st_ino == named.st_ino && own.st_dev == named.st_dev
  }

  /// Writes all bytes, however many at a time the system takes.
  /// - Returns: 0, or the negative of an `errno`.
  func writeAll(_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    var done = 0
    while done < bytes.count {
      let count = uninterrupted { write(file, bytes.baseAddress! + done, bytes.count - done) }
      // A disk that takes nothing and names no error is full all the same.
      if count <= 0 { return count < 0 ? count : -Int(ENOSPC) }
      done += count
    }
    return 0
  }

  /// Writes all pieces to a place.
  func writeAll(_ file: Int32, _ pieces: UnsafeMutableBufferPointer<iovec>, at offset: Int64) -> Int {
    transfer(pieces, at: offset, isWrite: true) { writeAt(file, $0, $1, $2) }
  }

  /// Writes bytes to a place.
  func writeAll(_ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int {
    withUnsafeTemporaryAllocation(of: iovec.self, capacity: 1) { pieces in
      let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
      pieces.initializeElement(at: 0, to: iovec(iov_base: base, iov_len: bytes.count))
      return writeAll(file, pieces, at: offset)
    }
  }

  /// Reads pieces from a place, up to the end of the file.
  /// - Returns: bytes read, or the negative of an `errno`.
  func readAll(_ file: Int32, _ pieces: UnsafeMutableBufferPointer<iovec>, at offset: Int64) -> Int {
    transfer(pieces, at: offset, isWrite: false) { readAt(file, $0, $1, $2) }
  }

  /// Reads bytes from a place, up to the end of the file.
  func readAll(_ file: Int32, into bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
    var done = 0
    while done < bytes.count {
      var piece = iovec(iov_base: bytes.baseAddress! + done, iov_len: bytes.count - done)
      let count = uninterrupted { readAt(file, &piece, 1, offset + Int64(done)) }
      if count < 0 { return count }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Goes on where the system has stopped, which is usually nowhere.
  private func transfer(
    _ pieces: UnsafeMutableBufferPointer<iovec>, at offset: Int64, isWrite: Bool,
    _ call: (UnsafePointer<iovec>, Int, Int64) -> Int
  ) -> Int {
    let whole = pieces.reduce(0) { $0 + $1.iov_len }
    var (first, done) = (0, 0)
    while done < whole {
      let count = uninterrupted {
        call(pieces.baseAddress! + first, min(pieces.count - first, 1024), offset + Int64(done))
      }
      if count < 0 { return count }
      if count == 0 { return isWrite ? -Int(ENOSPC) : done }
      done += count
      var left = count
      while left > 0, left >= pieces[first].iov_len {
        left -= pieces[first].iov_len
        first += 1
      }
      while first < pieces.count, pieces[first].iov_len == 0 { first += 1 }
      if left > 0 {
        pieces[first].iov_base += left
        pieces[first].iov_len -= left
      }
    }
    return isWrite ? 0 : done
  }
}

/// An open file, closed when nobody has it any more.
final class Descriptor: Sendable {
  let number: Int32
  let operations: FileOperations

  init(_ number: Int32, _ operations: FileOperations) {
    self.number = number
    self.operations = operations
  }

  /// Opens an entry of a directory.
  convenience init(
    _ directory: Int32, _ name: String, _ flags: Int32, mode: mode_t = 0o600, _ operations: FileOperations
  ) throws(FileFailure) {
    let number = operations.uninterrupted { operations.open(directory, name, flags, mode) }
    guard number >= 0 else { throw FileFailure("open", name, number) }
    self.init(Int32(number), operations)
  }

  deinit { _ = operations.close(number) }
}

/// What of storage went wrong within a directory: which operation on which entry of it, and why.
struct FileFailure: Error {
  let operation: String
  let name: String
  /// An `errno`.
  let code: Int32

  /// - Parameter result: the negative of an `errno`.
  init(_ operation: String, _ name: String, _ result: Int) {
    (self.operation, self.name, code) = (operation, name, Int32(-result))
  }

  /// Whether the disk cannot give what a segment has there: for good, mostly.
  func isUnreadable(_ segment: SegmentFile) -> Bool { code == EIO && name == segment.name }

  func error(in directory: String) -> StorageError {
    .system(operation: operation, path: name.isEmpty ? directory : "\(directory)/\(name)", code: code)
  }
}

/// The result of an operation, or why it failed.
@discardableResult
func check(_ result: Int, _ operation: String, _ name: @autoclosure () -> String) throws(FileFailure) -> Int {
  guard result >= 0 else { throw FileFailure(operation, name(), result) }
  return result
}
