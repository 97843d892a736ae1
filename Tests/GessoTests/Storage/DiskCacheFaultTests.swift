import Foundation
import Testing

@testable import Gesso

@Suite("A disk cache whose system fails")
struct DiskCacheFaultTests {
  /// What was asked for, and what may be found for it.
  private struct Expected {
    /// By name: versions that were put since the last change that is known to have been written, and that one.
    var possible: [String: Set<Int>] = [:]
    /// Names that may be absent. All may, as a cache may forget; these have to be.
    var absent: Set<String> = []

    mutating func put(_ name: String, _ version: Int) {
      possible[name, default: []].insert(version)
      absent.remove(name)
    }
    mutating func isWritten(_ name: String, _ version: Int) { possible[name] = [version] }
    mutating func remove(_ name: String) { possible[name] = [] }
  }

  private static let limits = DiskCacheLimits(byteCount: 1 << 20)

  /// Puts, replaces, removes and evicts.
  private func work(_ cache: DiskCache) async -> Expected {
    var expected = Expected()
    func flush(_ put: [(String, Int)]) async {
      if (try? await cache.flush()) != nil { for (name, version) in put { expected.isWritten(name, version) } }
    }
    func put(_ names: [String], _ version: Int) async {
      for name in names {
        try? cache.putNow(storedBlob(name, version: version, count: 3000), for: storeKey(name))
        expected.put(name, version)
      }
      await flush(names.map { ($0, version) })
    }
    await put(names(8, "a"), 1)
    await put(names(8, "b"), 1)
    await put(names(4, "a"), 2)
    // This process forgets at once, whether or not it can be written; others, if that is reported.
    for name in ["a.1", "b.1"] where (try? await cache.remove(storeKey(name))) != nil { expected.remove(name) }
    if (try? await cache.removeAll(.prefix("b.7"))) != nil { expected.remove("b.7") }
    for round in 0..<3 { await put(names(40, "c\(round)"), 1) }
    // So many that they are looked after together; half of them are not there.
    let many = names(40, "c2") + names(40, "absent")
    if (try? await cache.remove(many.map(storeKey))) != nil { for name in many { expected.remove(name) } }
    for name in names(8, "a") { _ = try? cache.blobNow(for: storeKey(name)) }
    for round in 3..<7 { await put(names(40, "c\(round)"), 1) }
    await put(["a.5"], 3)
    return expected
  }

  /// Each name has one of the versions that it may have, or none.
  private func check(_ cache: DiskCache, _ expected: Expected, _ comment: String) {
    for (name, versions) in expected.possible {
      guard let blob = try? cache.blobNow(for: storeKey(name)) else { continue }
      #expect(versions.contains { blob == storedBlob(name, version: $0, count: 3000) }, "\(name), \(comment)")
    }
  }

  private func run(_ faults: Faults, _ comment: String) async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory, limits: Self.limits, operations: faults.operations)
      let expected = await work(cache)
      let comment = "\(comment), \(faults.failed.value.prefix(3))"
      check(cache, expected, comment)
      faults.end()
      // What is being written may have failed before.
      try? await cache.flush()
      // What is in order again is used again.
      #expect(await eventually { (try? cache.statistics().failure) == .some(nil) }, "\(comment)")
      try await cache.fill(["later"])
      #expect(try cache.found(["later"]) == 1, "\(comment)")
      let next = DiskCache.testing(directory, limits: nil)
      #expect(try next.found(["later"]) == 1, "\(comment)")
      check(next, expected, comment)
      let statistics = try next.statistics()
      #expect(statistics.byteCount <= Self.limits.byteCount + Self.limits.segmentLength, "\(comment)")
      #expect(try next.verify().damaged.isEmpty, "\(comment)")
    }
  }

  @Test(
    "gives what was put or nothing, and goes on when the system does, whichever operation fails",
    arguments: [true, false])
  func everyOperation(_ isOnce: Bool) async throws {
    let quiet = Faults()
    try await run(quiet, "none")
    let count = quiet.count
    #expect(count > 300)
    let step = testsAllFaults ? 1 : 29
    for place in stride(from: isOnce ? 1 : 2, through: count, by: step) {
      // A code after the other: all of them, with time.
      let turns = testsAllFaults ? 14 : 1
      for turn in 0..<turns { try await run(Faults(at: place, isOnce: isOnce, turn: turn + place / step), "\(place)") }
    }
  }

  @Test("reads and writes on when it is interrupted, and when less is done than was asked for")
  func shortOperations() async throws {
    try await withTemporaryDirectory { directory in
      let faults = Faults(isShort: true)
      let cache = DiskCache.testing(directory, operations: faults.operations)
      try await cache.fill(names(100), count: 5000)
      #expect(try cache.found(names(100), count: 5000) == 100)
      try await cache.remove(storeKey("picture.1"))
      #expect(try DiskCache.testing(directory).found(names(100), count: 5000) == 99)
      #expect(try cache.verify().intact == 99)
      #expect(try cache.statistics().writeFailures == 0)
    }
  }

  @Test("goes on in memory where nothing can be written, says why, and writes when it can")
  func readOnlyDirectory() async throws {
    try await withTemporaryDirectory { directory in
      try await DiskCache.testing(directory).fill(["a", "b"])
      let isReadOnly = Box(true)
      var operations = FileOperations.system
      operations.open = { folder, name, flags, mode in
        isReadOnly.value && flags & (O_RDWR | O_WRONLY) != 0
          ? -Int(EROFS) : FileOperations.system.open(folder, name, flags, mode)
      }
      let cache = DiskCache.testing(directory, operations: operations)
      #expect(try cache.found(["a", "b"]) == 2)
      try cache.putNow(storedBlob("c"), for: storeKey("c"))
      let error = await #expect(throws: StorageError.self) { try await cache.flush() }
      #expect(error?.description.contains(directory.path) == true && error?.code == EROFS)
      await #expect(throws: StorageError.self) { try await cache.remove(storeKey("a")) }
      #expect(try cache.found(["a", "b", "c"]) == 2, "a is forgotten here, and c is in memory")
      #expect(try cache.statistics().isReadOnly)
      isReadOnly.update { $0 = false }
      #expect(await eventually { (try? cache.statistics().failure) == .some(nil) })
      try await cache.flush()
      let next = DiskCache.testing(directory)
      #expect(try next.found(["b", "c"]) == 2 && next.found(["a"]) == 0)
    }
  }

  @Test("makes its directory anew that was removed, and says what is wrong with one that cannot be made")
  func removedDirectory() async throws {
    try await withTemporaryDirectory { parent in
      let directory = parent.appendingPathComponent("cache")
      let cache = DiskCache.testing(directory)
      try await cache.fill(["a"])
      try FileManager.default.removeItem(at: directory)
      try await cache.fill(["b"])
      #expect(try cache.found(["b"]) == 1 && cache.found(["a"]) == 0)
      #expect(try DiskCache.testing(directory).found(["b"]) == 1)

      // Replaced by a file.
      try FileManager.default.removeItem(at: directory)
      try Data("precious".utf8).write(to: directory)
      try cache.putNow(storedBlob("c"), for: storeKey("c"))
      await #expect(throws: StorageError.self) { try await cache.flush() }
      #expect(try Data(contentsOf: directory) == Data("precious".utf8))
      #expect(try cache.found(["c"]) == 1, "in memory")

      // By a link to somewhere else.
      let elsewhere = parent.appendingPathComponent("elsewhere")
      try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: true)
      let link = parent.appendingPathComponent("link")
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: elsewhere)
      #expect(rename(link.path, directory.path) == 0)
      await #expect(throws: StorageError.self) { try await cache.flush() }
      #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path).isEmpty)

      try FileManager.default.removeItem(at: directory)
      #expect(await eventually { (try? cache.statistics().failure) == .some(nil) })
      try await cache.flush()
      #expect(try DiskCache.testing(directory).found(["c"]) == 1)
    }
  }

  @Test("does not write through links that lie in its directory")
  func links() async throws {
    try await withTemporaryDirectory { directory in
      let target = directory.appendingPathComponent("target")
      try Data("safe".utf8).write(to: target)
      let folder = directory.appendingPathComponent("cache")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for name in ["index", "index.new", "00000001.segment", "00000002.segment"] {
        try FileManager.default.createSymbolicLink(at: folder.appendingPathComponent(name), withDestinationURL: target)
      }
      let cache = DiskCache.testing(folder)
      try await cache.fill(names(10))
      #expect(try DiskCache.testing(folder).found(names(10)) == 10)
      #expect(try Data(contentsOf: target) == Data("safe".utf8))
    }
  }

  @Test("takes a file system without locks for one process, and says so")
  func withoutLocks() async throws {
    try await withTemporaryDirectory { directory in
      var operations = FileOperations.system
      operations.lock = { _, _ in -Int(ENOLCK) }
      let cache = DiskCache.testing(directory, limits: Self.limits, operations: operations)
      for round in 0..<20 { try await cache.fill(names(50, "r\(round)"), count: 3000) }
      #expect(try cache.found(names(50, "r19"), count: 3000) == 50)
      let statistics = try cache.statistics()
      #expect(!statistics.isShared && statistics.byteCount <= Self.limits.byteCount + Self.limits.segmentLength)

      // Nor does it wait for a lock to find lost records again.
      try FileManager.default.removeItem(at: directory.appendingPathComponent("index"))
      let next = DiskCache.testing(directory, limits: nil, operations: operations)
      #expect(await eventually { (try? next.statistics().isRebuilding) == false })
      #expect(try next.found(names(50, "r19"), count: 3000) == 50)
    }
  }

  @Test("holds up nobody with a lock that it cannot give back")
  func unlocking() async throws {
    try await withTemporaryDirectory { directory in
      var operations = FileOperations.system
      operations.lock = { file, operation in
        operation == LOCK_UN ? -Int(EIO) : FileOperations.system.lock(file, operation)
      }
      let cache = DiskCache.testing(directory, operations: operations)
      for name in names(3) {
        try await cache.fill([name])
        #expect(isUnlocked(directory.appendingPathComponent("lock")))
      }
      #expect(try cache.found(names(3)) == 3)
    }
  }

  @Test(
    "gives up, and says so, where each name for a segment is taken, or is somebody else's", arguments: [true, false])
  func takenNames(_ exists: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let isTaken = Box(true)
      var operations = FileOperations.system
      operations.open = { folder, name, flags, mode in
        isTaken.value && exists && name.hasSuffix(".segment") && flags & O_EXCL != 0
          ? -Int(EEXIST) : FileOperations.system.open(folder, name, flags, mode)
      }
      operations.lock = { file, operation in
        isTaken.value && !exists && operation & LOCK_NB != 0
          ? -Int(EWOULDBLOCK) : FileOperations.system.lock(file, operation)
      }
      let cache = DiskCache.testing(directory, operations: operations)
      try cache.putNow(storedBlob("a"), for: storeKey("a"))
      let error = await #expect(throws: StorageError.self) { try await cache.flush() }
      #expect(error?.code == (exists ? EEXIST : EWOULDBLOCK) && error?.description.contains(".segment") == true)
      #expect(directory.files(".segment").isEmpty)
      #expect(try cache.found(["a"]) == 1, "in memory")
      isTaken.update { $0 = false }
      try await cache.flush()
      #expect(try DiskCache.testing(directory).found(["a"]) == 1)
    }
  }
}
