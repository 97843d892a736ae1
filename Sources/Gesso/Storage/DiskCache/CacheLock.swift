import Foundation

/// The lock of a disk cache, for the threads of all processes that write to it.
///
/// Thread-safety: any thread.
final class CacheLock: Sendable {
  static let name = "lock"

  private let operations: FileOperations
  private let directory: Descriptor
  /// Keeps this process's threads apart, which the lock of a file does not.
  private let mutex = Lock(())
  private let state: Lock<State>

  private struct State: Sendable {
    var file: Descriptor?
    var hasFailed = false
  }

  /// Opens the lock's file, which is made if it is not there.
  init(in directory: Descriptor, _ operations: FileOperations) throws(FileFailure) {
    (self.operations, self.directory) = (operations, directory)
    state = Lock(State(file: try Self.open(in: directory, operations)))
  }

  private static func open(in directory: Descriptor, _ operations: FileOperations) throws(FileFailure) -> Descriptor {
    try Descriptor(directory.number, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, operations)
  }

  private func file() throws(FileFailure) -> Descriptor {
    if let file = state.withLock({ $0.file }) { return file }
    let file = try Self.open(in: directory, operations)
    state.withLock { $0.file = file }
    return file
  }

  /// Whether other processes can be kept apart: not on a network file system without locks.
  var isShared: Bool { !state.withLock { $0.hasFailed } }

  /// Does something while no other thread or process does.
  func exclusively<Result>(_ body: () throws(FileFailure) -> Result) throws(FileFailure) -> Result {
    mutex.lock()
    defer { mutex.unlock() }
    let file = try file()
    let result = operations.uninterrupted { operations.lock(file.number, LOCK_EX) }
    if result < 0 { state.withLock { $0.hasFailed = true } }
    defer {
      // What cannot be unlocked would hold up all for as long as it is open: closing it unlocks, too.
      if result >= 0, operations.uninterrupted({ operations.lock(file.number, LOCK_UN) }) < 0 {
        state.withLock { $0.file = nil }
      }
    }
    return try body()
  }

  /// Whether the lock's file in the directory of that path is this one still.
  func isCurrent(_ path: String) -> Bool {
    guard let file = try? file() else { return false }
    return operations.isFile(file.number, path + "/" + Self.name, in: AT_FDCWD)
  }
}
