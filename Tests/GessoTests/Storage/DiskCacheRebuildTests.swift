import Foundation
import Testing

@testable import Gesso

/// Holds the thread that rebuilds an index up, before the n-th look into a segment. Nobody else looks into one before.
private final class HeldRebuild: Sendable {
  private let gate = Gate()
  private let looks = Box(0)
  private let place: Int

  init(atLook place: Int = 1) { self.place = place }

  var isHeld: Bool { looks.value >= place }
  func release() { gate.open() }

  var operations: FileOperations {
    var operations = FileOperations.system
    operations.readAt = { [self] file, pieces, count, offset in
      if pieces[0].iov_len == 4096 {
        looks.increment()
        if looks.value == place { gate.wait() }
      }
      return FileOperations.system.readAt(file, pieces, count, offset)
    }
    return operations
  }
}

@Suite("A disk cache whose index is lost")
struct DiskCacheRebuildTests {
  private func index(_ directory: URL) -> URL { directory.appendingPathComponent("index") }

  private func isRebuilt(_ cache: DiskCache) async -> Bool {
    await eventually { (try? cache.statistics().isRebuilding) == false }
  }

  @Test(
    "finds its records again, the last of each key, and none that was removed",
    arguments: ["absent", "empty", "short", "garbage", "newer", "torn", "directory"])
  func losses(_ loss: String) async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory)
      try await cache.fill(names(300))
      try await cache.fill(names(100), version: 1)
      try await cache.remove(names(300).suffix(50).map(storeKey))
      try await cache.removeAll(.prefix("picture.1"))
      let kept = names(250).filter { !$0.hasPrefix("picture.1") }

      let index = index(directory)
      switch loss {
      case "absent", "directory": try FileManager.default.removeItem(at: index)
      case "empty": try index.edit { $0 = Data() }
      case "short": try index.edit { $0 = $0.prefix(10_000) }
      case "garbage": try index.edit { $0 = Data($0.map { ~$0 }) }
      case "newer":
        // With the right checksum: nothing else is wrong with it.
        try index.edit { data in
          data[8] += 1
          let hash = data.prefix(56).withUnsafeBytes { BlobRecord.hash($0) }
          data.replaceSubrange(56..<64, with: withUnsafeBytes(of: hash.littleEndian) { Data($0) })
        }
      default: try index.edit { $0[64] ^= 1 }
      }
      if loss == "directory" { try FileManager.default.createDirectory(at: index, withIntermediateDirectories: false) }
      let next = DiskCache.testing(directory)
      if loss == "directory" {
        // Nothing that was made by others is removed: it is said, and the cache goes on in memory.
        try next.putNow(storedBlob("a"), for: storeKey("a"))
        let error = await #expect(throws: StorageError.self) { try await next.flush() }
        #expect(error?.description.contains("\(directory.path)/index") == true)
        #expect(try next.found(["a"]) == 1)
        return
      }
      for cache in [next, cache] {
        #expect(await isRebuilt(cache))
        #expect(try cache.found(kept.filter { names(100).contains($0) }, version: 1) > 0)
        for name in kept {
          let version = names(100).contains(name) ? 1 : 0
          #expect(try cache.found([name], version: version) == 1, "\(name)")
        }
        #expect(try cache.found(names(300).filter { !kept.contains($0) }) == 0)
        #expect(try cache.statistics().count == kept.count)
      }
      try await next.fill(["new"])
      #expect(try cache.found(["new"]) == 1)
    }
  }

  @Test("serves what is put meanwhile, and nothing that may be out of date")
  func meanwhile() async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 2 << 20)
      try await DiskCache.testing(directory, limits: limits).fill(names(300))
      try await DiskCache.testing(directory, limits: limits).fill(names(300), version: 1)
      try FileManager.default.removeItem(at: index(directory))
      // Some of the old versions are found, and none of the new ones.
      let held = HeldRebuild(atLook: 40)
      let cache = DiskCache.testing(directory, limits: limits, operations: held.operations)
      _ = try cache.statistics()
      #expect(await eventually { held.isHeld })
      #expect(try cache.statistics().count > 0)
      for name in names(300) { #expect(try cache.blobNow(for: storeKey(name)) != storedBlob(name)) }
      try await cache.fill(names(10), version: 2)
      #expect(try cache.found(names(10), version: 2) == 10)
      held.release()
      #expect(await isRebuilt(cache))
      #expect(try cache.found(names(10), version: 2) == 10)
      #expect(try cache.found(names(300).suffix(290), version: 1) == 290)
    }
  }

  @Test("keeps the later of two versions, though what came between could not be written")
  func sequences() async throws {
    try await withTemporaryDirectory { directory in
      let fails = Box(false)
      var operations = FileOperations.system
      operations.writeAt = { file, pieces, count, offset in
        // The index's numbers after a batch.
        if fails.value, count == 1, offset == 64, pieces[0].iov_len == 64 { return -Int(EIO) }
        return FileOperations.system.writeAt(file, pieces, count, offset)
      }
      let cache = DiskCache.testing(directory, operations: operations)
      try await cache.fill(["x"])
      fails.update { $0 = true }
      try cache.putNow(storedBlob("a", version: 1), for: storeKey("a"))
      await #expect(throws: StorageError.self) { try await cache.flush() }
      try cache.putNow(storedBlob("a", version: 2), for: storeKey("a"))
      fails.update { $0 = false }
      // A try that had begun before may fail still.
      for _ in 0..<1000 where (try? await cache.flush()) == nil {}
      try await cache.flush()
      try FileManager.default.removeItem(at: index(directory))
      let next = DiskCache.testing(directory)
      #expect(await isRebuilt(next))
      #expect(try next.found(["a"], version: 2) == 1)
    }
  }

  @Test("keeps the later of two versions, though the head of its segment is damaged, and it is lost a second time")
  func damagedHead() async throws {
    try await withTemporaryDirectory { directory in
      try await DiskCache.testing(directory).fill(names(10))
      try FileManager.default.removeItem(at: index(directory))
      let second = DiskCache.testing(directory)
      #expect(await isRebuilt(second))
      try await second.fill(names(10), version: 1)
      try directory.files(".segment").last!.edit { $0[20] ^= 1 }
      try FileManager.default.removeItem(at: index(directory))
      // The first lock that is not waited for is that of who rebuilds.
      let gate = Gate(), isHeld = Box(false)
      var operations = FileOperations.system
      operations.lock = { file, operation in
        if operation == LOCK_EX | LOCK_NB, !isHeld.value {
          isHeld.update { $0 = true }
          gate.wait()
        }
        return FileOperations.system.lock(file, operation)
      }
      let third = DiskCache.testing(directory, operations: operations)
      _ = try third.statistics()
      #expect(await eventually { isHeld.value })
      try await third.fill(["picture.9"], version: 2)
      gate.open()
      #expect(await isRebuilt(third))
      #expect(try third.found(["picture.9"], version: 2) == 1)
    }
  }

  @Test("forgets what is removed while it is being rebuilt, one key, all of a prefix, or all")
  func removing() async throws {
    for removal in ["keys", "prefix", "all", "all by another"] {
      try await withTemporaryDirectory { directory in
        try await DiskCache.testing(directory).fill(names(1000), count: 100)
        try FileManager.default.removeItem(at: index(directory))
        let held = HeldRebuild(atLook: removal == "prefix" ? 1 : 20)
        let cache = DiskCache.testing(directory, operations: held.operations)
        _ = try cache.statistics()
        #expect(await eventually { held.isHeld })
        switch removal {
        case "keys": try await cache.remove(names(1000).map(storeKey))
        case "prefix": try await cache.removeAll(.prefix("picture"))
        case "all": try await cache.removeAll(.all)
        default: try await DiskCache.testing(directory).removeAll(.all)
        }
        #expect(try cache.found(names(1000), count: 100) == 0)
        held.release()
        #expect(await isRebuilt(cache))
        #expect(try cache.found(names(1000), count: 100) == 0, "\(removal)")
        #expect(try cache.statistics().count == 0)
      }
    }
  }

  @Test("forgets what is removed by prefix, when the rebuilding ends in the midst of that")
  func removingAtTheEnd() async throws {
    try await withTemporaryDirectory { directory in
      try await DiskCache.testing(directory).fill(names(20))
      try FileManager.default.removeItem(at: index(directory))
      let held = HeldRebuild(), isArmed = Box(false)
      let path = index(directory).path
      let end = 4096 + DiskCacheLimits().bucketCount * 512
      var operations = held.operations
      let readAt = operations.readAt
      operations.readAt = { file, pieces, count, offset in
        let result = readAt(file, pieces, count, offset)
        // After the look at the last slots.
        if isArmed.value, Int(offset) + pieces[0].iov_len == end {
          held.release()
          for _ in 0..<2000 {
            if let bytes = FileManager.default.contents(atPath: path), bytes[76] == 0 { break }
            usleep(2000)
          }
        }
        return result
      }
      let cache = DiskCache.testing(directory, operations: operations)
      _ = try cache.statistics()
      #expect(await eventually { held.isHeld })
      isArmed.update { $0 = true }
      try await cache.removeAll(.prefix("picture"))
      #expect(await isRebuilt(cache))
      #expect(try cache.found(names(20)) == 0)
    }
  }

  @Test("keeps removals, however many of them share a place in the index")
  func manyRemovals() async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 4 << 20, count: 64)
      let first = DiskCache.testing(directory, limits: limits)
      for round in 0..<12 {
        try await first.fill(names(32, "r\(round)"), count: 100)
        try await first.remove(names(32, "r\(round)").map(storeKey))
      }
      try await first.fill(names(8, "k"), count: 100)
      try FileManager.default.removeItem(at: index(directory))
      let held = HeldRebuild()
      let cache = DiskCache.testing(directory, limits: limits, operations: held.operations)
      _ = try cache.statistics()
      #expect(await eventually { held.isHeld })
      try await cache.remove(names(8, "k").map(storeKey))
      held.release()
      #expect(await isRebuilt(cache))
      #expect(try cache.found(names(8, "k"), count: 100) == 0)
      for round in 0..<12 { #expect(try cache.found(names(32, "r\(round)"), count: 100) == 0) }
      #expect(try cache.statistics().count == 0)
    }
  }

  @Test("keeps removals, though their segment goes while it is being rebuilt")
  func evictedRemoval() async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 8 << 20, count: 4000)
      // Its segment is locked for as long as it lives, and cannot go.
      let other = DiskCache.testing(directory, limits: limits)
      try await other.fill(["k"])
      var second: DiskCache? = DiskCache.testing(directory, limits: limits)
      try await second!.remove(storeKey("k"))
      try await second!.fill(names(30, "s"), count: 4000)
      second = nil
      #expect(await eventually { isUnlocked(directory.files(".segment").last!) })
      try FileManager.default.removeItem(at: index(directory))
      let held = HeldRebuild()
      let cache = DiskCache.testing(directory, limits: limits, operations: held.operations)
      _ = try cache.statistics()
      #expect(await eventually { held.isHeld })
      try await cache.fill(["new"])
      try await cache.prune(to: DiskCacheLimits(byteCount: 1 << 20, count: 4000))
      held.release()
      #expect(await isRebuilt(cache))
      #expect(try cache.found(["k"]) == 0)
      withExtendedLifetime(other) {}
    }
  }

  @Test(
    "or whose numbers are older than its segments, as after a power cut, drops the oldest first, and keeps the newest")
  func oldNumbers() async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 2 << 20)
      let first = DiskCache.testing(directory, limits: limits)
      for round in 0..<5 { try await first.fill(names(50, "r\(round)"), count: 4000) }
      let numbers = try Data(contentsOf: index(directory))[64..<128]
      for round in 5..<25 { try await first.fill(names(50, "r\(round)"), count: 4000) }
      try index(directory).edit { $0.replaceSubrange(64..<128, with: numbers) }

      let cache = DiskCache.testing(directory, limits: limits)
      try await cache.fill(names(50, "r24"), version: 1, count: 4000)
      for round in 0..<4 { try await cache.fill(names(50, "s\(round)"), count: 4000) }
      #expect(try cache.found(names(50, "r24"), version: 1, count: 4000) == 50)
      try FileManager.default.removeItem(at: index(directory))
      let next = DiskCache.testing(directory, limits: limits)
      #expect(await isRebuilt(next))
      #expect(try next.found(names(50, "r24"), version: 1, count: 4000) == 50, "and not the version before")
      withExtendedLifetime(first) {}
    }
  }

  @Test("or set back while it is in use, keeps the newest of what is put")
  func setBack() async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory)
      try await cache.fill(names(20))
      let numbers = try Data(contentsOf: index(directory))[64..<128]
      // Another segment, of which the sequence is a later one.
      try await cache.fill(names(20), version: 1, count: 900_000)
      try index(directory).edit { $0.replaceSubrange(64..<128, with: numbers) }
      try await cache.fill(names(20), version: 2)
      try FileManager.default.removeItem(at: index(directory))
      let next = DiskCache.testing(directory)
      #expect(await isRebuilt(next))
      #expect(try next.found(names(20), version: 2) == 20)
    }
  }

  @Test("goes on with that after failures, though nobody writes")
  func failures() async throws {
    try await withTemporaryDirectory { directory in
      try await DiskCache.testing(directory).fill(names(100))
      try FileManager.default.removeItem(at: index(directory))
      let looks = Box(0)
      var operations = FileOperations.system
      operations.readAt = { file, pieces, count, offset in
        if pieces[0].iov_len == 4096 {
          looks.increment()
          if looks.value <= 3 { return -Int(ENOMEM) }
        }
        return FileOperations.system.readAt(file, pieces, count, offset)
      }
      let cache = DiskCache.testing(directory, operations: operations)
      _ = try cache.statistics()
      #expect(await isRebuilt(cache))
      #expect(looks.value > 3)
      #expect(try cache.found(names(100)) == 100)
    }
  }
}
