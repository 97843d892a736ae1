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
    sweep(directory, prefix: AtomicFile.temporaryPrefix)
  }

  /// Removes entries of a directory whose names begin so, and that nobody owns. Errors are nobody's concern.
  static func sweep(_ directory: String, prefix: String) {
    let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return }
    defer { close(folder) }
    for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] where name.hasPrefix(prefix) {
      let entry = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard entry >= 0 else { continue }
      defer { close(entry) }
      var information = stat()
      guard fstat(entry, &information) == 0, information.st_uid == geteuid() else { continue }
      let age = Date().timeIntervalSince1970 - Double(information.st_mtim.tv_sec)
      guard age > leastAge, flock(entry, LOCK_EX | LOCK_NB) == 0 else { continue }
      if information.st_mode & S_IFMT == S_IFREG {
        unlinkat(folder, name, 0)
      } else if information.st_mode & S_IFMT == S_IFDIR {
        try? FileManager.default.removeItem(atPath: directory + "/" + name)
      }
    }
  }
}
