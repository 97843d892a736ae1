import Foundation

/// What processes have left behind that were killed while they wrote: temporary files, and directories of them.
///
/// A process holds a lock on each of its own, which the kernel gives back when it ends, in whatever container it ran. What
/// is not locked, and older than a minute, belongs to nobody.
enum StaleFiles {
  /// Between making one and locking it no process takes so long.
  static let leastAge: Double = 60

  private static let swept = Lock<Set<String>>([])

  /// Takes a lock for as long as the descriptor is open. A file system without locks has none to give, and nothing is swept
  /// there.
  static func claim(_ descriptor: Int32) { _ = flock(descriptor, LOCK_EX | LOCK_NB) }

  /// Removes what nobody owns from a directory: once in a process.
  static func sweepOnce(_ directory: String) {
    guard swept.withLock({ $0.insert(directory).inserted }) else { return }
    sweep(directory, .file)
  }

  /// What is swept: nothing but what this library makes, by its whole name.
  enum Kind {
    /// A file that was being written.
    case file
    /// The temporary directory of a process.
    case directory

    var prefix: String { self == .file ? AtomicFile.temporaryPrefix : StorageDirectories.temporaryPrefix }
    var suffix: String { self == .file ? ".tmp" : "" }
    var mode: mode_t { self == .file ? S_IFREG : S_IFDIR }

    /// Prefix, number of a process, UUID, suffix.
    func contains(_ name: String) -> Bool {
      guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
      let parts = name.dropFirst(prefix.count).dropLast(suffix.count).split(
        separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
      return parts.count == 2 && Int32(parts[0]) != nil && UUID(uuidString: String(parts[1])) != nil
    }
  }

  /// Removes entries of a directory that nobody owns. Errors are nobody's concern.
  static func sweep(_ directory: String, _ kind: Kind) {
    let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return }
    defer { close(folder) }
    for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] where kind.contains(name) {
      let entry = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard entry >= 0 else { continue }
      defer { close(entry) }
      var information = stat()
      guard fstat(entry, &information) == 0, information.st_uid == geteuid(),
        information.st_mode & S_IFMT == kind.mode
      else { continue }
      let age = Date().timeIntervalSince1970 - Double(information.st_mtim.tv_sec)
      guard age > leastAge, flock(entry, LOCK_EX | LOCK_NB) == 0 else { continue }
      if kind == .file {
        unlinkat(folder, name, 0)
      } else {
        try? FileManager.default.removeItem(atPath: directory + "/" + name)
      }
    }
  }
}
