import Foundation

@testable import Gesso

/// A key, as a request for a picture of that name has it.
func storeKey(_ name: String) -> BitmapKey {
  DrawRequest(key: name, size: CGSize(width: 8, height: 8), scale: 1) { _, _ in }.cacheKey
}

/// Bytes that can be told from those of other names and versions.
func storedBlob(_ name: String, version: Int = 0, count: Int = 1000) -> Data {
  var generator = SeededGenerator(state: UInt64(truncatingIfNeeded: version &* 7919))
  for byte in name.utf8 { generator.state = generator.state &* 31 &+ UInt64(byte) }
  // Eight at a time: under a sanitizer each access costs.
  var words = [UInt64](repeating: 0, count: (count + 7) / 8)
  for place in words.indices { words[place] = generator.next() }
  return words.withUnsafeBytes { Data($0.prefix(count)) }
}

extension DiskCache {
  /// A cache with what tests replace; after a failure it tries again at once.
  static func testing(
    _ directory: URL, limits: DiskCacheLimits? = DiskCacheLimits(),
    operations: FileOperations = .system, rehash: @escaping @Sendable (KeyHash) -> KeyHash = { $0 }
  ) -> DiskCache {
    DiskCache(
      directory: directory, limits: limits,
      options: CacheOptions(operations: operations, rehash: rehash, retryDelay: 1_000_000))
  }

  /// Puts blobs, and returns when they are written.
  func fill(_ names: some Sequence<String>, version: Int = 0, count: Int = 1000) async throws {
    for name in names { try putNow(storedBlob(name, version: version, count: count), for: storeKey(name)) }
    try await flush()
  }

  /// How many of the names are there; any other bytes than those that were put are a test's failure.
  func found(_ names: some Sequence<String>, version: Int = 0, count: Int = 1000) throws -> Int {
    try names.count { name in
      guard let blob = try blobNow(for: storeKey(name)) else { return false }
      guard blob == storedBlob(name, version: version, count: count) else { throw WrongBlob(name: name) }
      return true
    }
  }
}

struct WrongBlob: Error { let name: String }

/// `count` names.
func names(_ count: Int, _ prefix: String = "picture") -> [String] { (0..<count).map { "\(prefix).\($0)" } }

/// Whether no process holds the lock of a file.
func isUnlocked(_ url: URL) -> Bool {
  let file = open(url.path, O_RDONLY | O_CLOEXEC)
  defer { close(file) }
  return flock(file, LOCK_EX | LOCK_NB) == 0
}

extension URL {
  /// The files in a directory whose names end so.
  func files(_ ending: String) -> [URL] {
    ((try? FileManager.default.contentsOfDirectory(at: self, includingPropertiesForKeys: nil)) ?? [])
      .filter { $0.lastPathComponent.hasSuffix(ending) }.sorted { $0.path < $1.path }
  }

  /// Changes the bytes of a file in place.
  func edit(_ body: (inout Data) -> Void) throws {
    var data = try Data(contentsOf: self)
    body(&data)
    let file = try FileHandle(forWritingTo: self)
    try file.truncate(atOffset: UInt64(data.count))
    try file.seek(toOffset: 0)
    try file.write(contentsOf: data)
    try file.close()
  }
}
