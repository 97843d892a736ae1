import Foundation

/// Where a ``DiskWriter`` puts files.
public enum StorageLocation: CaseIterable, Hashable, Sendable {
  /// Can be made again: whole or absent after a crash, perhaps missing after a power cut.
  case cache
  /// For as long as the process lives.
  case temporary
  /// The user's: survives a power cut once it is reported as written.
  case documents
}

/// The directories behind the locations.
public struct StorageDirectories: Hashable, Sendable {
  /// For ``StorageLocation/cache``.
  public var cache: URL
  /// For ``StorageLocation/temporary``.
  public var temporary: URL
  /// For ``StorageLocation/documents``.
  public var documents: URL

  /// These directories. They are made when something is written to them.
  public init(cache: URL, temporary: URL, documents: URL) {
    self.cache = cache
    self.temporary = temporary
    self.documents = documents
  }

  /// All three in one directory, as `cache`, `temporary` and `documents`.
  public init(in directory: URL) {
    self.init(
      cache: directory.appendingPathComponent("cache"), temporary: directory.appendingPathComponent("temporary"),
      documents: directory.appendingPathComponent("documents"))
  }

  /// What the XDG base directory specification says for this program: `$XDG_CACHE_HOME/NAME` (or `~/.cache/NAME`),
  /// `$XDG_DATA_HOME/NAME/documents` (or `~/.local/share/NAME/documents`), and a directory of this process alone in
  /// `$TMPDIR` (or `/tmp`), which is made at once, and removed when the process exits.
  /// - Parameter name: the program's; its process name by default.
  public static func standard(name: String = ProcessInfo.processInfo.processName) -> StorageDirectories {
    let environment = ProcessInfo.processInfo.environment
    func base(_ variable: String, _ fallback: String) -> URL {
      // The specification: a relative path is to be ignored.
      if let path = environment[variable], path.hasPrefix("/") { return URL(fileURLWithPath: path, isDirectory: true) }
      return URL(fileURLWithPath: NSHomeDirectory() + fallback, isDirectory: true)
    }
    return StorageDirectories(
      cache: base("XDG_CACHE_HOME", "/.cache").appendingPathComponent(name),
      temporary: TemporaryDirectory.url,
      documents: base("XDG_DATA_HOME", "/.local/share").appendingPathComponent(name)
        .appendingPathComponent("documents"))
  }

  static let temporaryPrefix = "gesso-temporary-"

  func url(of location: StorageLocation) -> URL {
    switch location {
    case .cache: cache
    case .temporary: temporary
    case .documents: documents
    }
  }
}

/// The directory of this process's temporary files, mode 0700, removed when it exits, or by the next one if it was killed.
private enum TemporaryDirectory {
  static let url: URL = {
    let parent = ProcessInfo.processInfo.environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
    StaleFiles.sweep(parent, .directory)
    let url = URL(fileURLWithPath: parent, isDirectory: true)
      .appendingPathComponent("\(StorageDirectories.temporaryPrefix)\(getpid())-\(UUID().uuidString.lowercased())")
    // Locked for as long as the process lives. Where it cannot be made, writing to it will say so.
    if mkdir(url.path, 0o700) == 0 { StaleFiles.claim(open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) }
    atexit { try? FileManager.default.removeItem(at: TemporaryDirectory.url) }
    return url
  }()
}
