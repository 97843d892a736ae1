import Foundation
import Testing

@testable import Gesso

@Suite("Many keys that are removed at once")
struct DiskCacheRemovalTests {
  /// Every other name of them.
  private func half(_ names: [String]) -> [String] { stride(from: 0, to: names.count, by: 2).map { names[$0] } }

  /// Operations by which nothing can be written, while that is wished.
  private func broken(_ isBroken: Box<Bool>) -> FileOperations {
    var operations = FileOperations.system
    operations.writeAt = { file, pieces, count, offset in
      isBroken.value ? -Int(EIO) : FileOperations.system.writeAt(file, pieces, count, offset)
    }
    return operations
  }

  @Test(
    "are gone, and no others, for this cache and the next, and for one that has lost its index",
    // An index of a thousand pages, of which most have one of them; and one of a few that are full of them.
    arguments: [65_536, 2000])
  func manyRemoved(_ limit: Int) async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(count: limit)
      let all = names(1500), removed = half(all), kept = half(Array(all.dropFirst()))
      let cache = DiskCache.testing(directory, limits: limits)
      try await cache.fill(all, count: 100)
      // Some are not there, and some are named twice.
      try await cache.remove((removed + names(200, "absent") + removed.prefix(100)).map(storeKey))
      func check(_ cache: DiskCache) throws {
        #expect(try cache.found(removed, count: 100) == 0)
        #expect(try cache.found(kept, count: 100) == kept.count)
      }
      try check(cache)
      #expect(try cache.statistics().count == kept.count)
      try check(DiskCache.testing(directory, limits: limits))

      try FileManager.default.removeItem(at: directory.appendingPathComponent("index"))
      let rebuilt = DiskCache.testing(directory, limits: limits)
      #expect(await eventually { (try? rebuilt.statistics().isRebuilding) == false })
      try check(rebuilt)
    }
  }

  @Test("are gone as soon as that is asked for, and what is put under one of them after that stays")
  func putAfterwards() async throws {
    try await withTemporaryDirectory { directory in
      let isHeld = Box(false), gate = Gate(), all = names(200)
      var operations = FileOperations.system
      operations.writeAt = { file, pieces, count, offset in
        if isHeld.value { gate.wait() }
        return FileOperations.system.writeAt(file, pieces, count, offset)
      }
      let cache = DiskCache.testing(directory, operations: operations)
      try await cache.fill(all.prefix(150))
      isHeld.update { $0 = true }
      // Those that are not written yet are among them.
      for name in all.suffix(50) { try cache.putNow(storedBlob(name), for: storeKey(name)) }
      let removal = Task { try await cache.remove(all.map(storeKey)) }
      #expect(await eventually { (try? cache.found(all)) == 0 })
      let anew = half(all)
      for name in anew { try cache.putNow(storedBlob(name, version: 1), for: storeKey(name)) }
      #expect(try cache.found(anew, version: 1) == anew.count)
      gate.open()
      try await removal.value
      try await cache.flush()
      for cache in [cache, DiskCache.testing(directory)] {
        #expect(try cache.found(anew, version: 1) == anew.count)
        #expect(try cache.found(half(Array(all.dropFirst()))) == 0)
        #expect(try cache.statistics().count == anew.count)
      }
    }
  }

  @Test("are gone, though the index has two slots of one of them, as a power cut may leave them", arguments: [1, 100])
  func twoSlots(_ count: Int) async throws {
    try await withTemporaryDirectory { directory in
      let all = names(count), key = storeKey(all[0])
      try await DiskCache.testing(directory).fill(all, version: 0)
      let folder = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      defer { close(folder) }
      let index = try #require(try IndexFile.open(in: folder, isReadOnly: false, .system))
      let older = try #require(try index.find(key.storeHash))
      try await DiskCache.testing(directory).fill([all[0]], version: 1)

      // The older one comes back, to a slot of the key that is free.
      let (first, second) = index.buckets(of: key.storeHash), slots = IndexFile.slotsPerBucket
      let places = [first, second].flatMap { $0 * slots..<($0 + 1) * slots }
      let taken = Box<Set<Int>>([])
      try index.forEachPart { placed in taken.update { $0.formUnion(placed.map(\.place)) } }
      let free = try #require(places.first { !taken.value.contains($0) })
      var bytes = [UInt8](repeating: 0, count: IndexSlot.length)
      bytes.withUnsafeMutableBytes { older.slot.write(to: $0) }
      try bytes.withUnsafeBytes { try index.write($0, at: index.offset(ofSlot: free)) }

      let cache = DiskCache.testing(directory)
      #expect(try cache.found([all[0]], version: 1) == 1)
      try await cache.remove(all.map(storeKey))
      #expect(try cache.blobNow(for: key) == nil)
      #expect(try DiskCache.testing(directory).blobNow(for: key) == nil)
    }
  }

  @Test("stay within the quota, however long they are")
  func longKeys() async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 16 << 20, count: 200)
      let most = Box(0)
      var operations = FileOperations.system
      operations.writeAt = { file, pieces, count, offset in
        let result = FileOperations.system.writeAt(file, pieces, count, offset)
        let bytes = directory.files(".segment").reduce(0) {
          var information = stat()
          return stat($1.path, &information) == 0 ? $0 + Int(information.st_size) : $0
        }
        most.update { $0 = max($0, bytes) }
        return result
      }
      let cache = DiskCache.testing(directory, limits: limits, operations: operations)
      let long = names(120).map { $0 + String(repeating: "x", count: 100_000) }
      try await cache.fill(long, count: 10)
      try await cache.remove(long.map(storeKey))
      #expect(try cache.found(long, count: 10) == 0)
      #expect(most.value <= limits.byteCount + limits.segmentLength)
    }
  }

  @Test("are remembered once, however often that is asked for while nothing can be written")
  func again() async throws {
    try await withTemporaryDirectory { directory in
      let isBroken = Box(false), cache = DiskCache.testing(directory, operations: broken(isBroken))
      try await cache.fill(names(3) + names(100, "x"))
      isBroken.update { $0 = true }
      let many = (names(100, "x") + names(20_000, "y")).map(storeKey)
      for _ in 0..<6 {
        await #expect(throws: StorageError.self) { try await cache.remove(many) }
        await #expect(throws: StorageError.self) { try await cache.removeAll(.prefix("z")) }
      }
      #expect(try cache.found(names(3)) == 3 && cache.found(names(100, "x")) == 0)
      isBroken.update { $0 = false }
      try await cache.fill(["x.1"], version: 2)
      let next = DiskCache.testing(directory)
      #expect(try next.found(names(3)) == 3 && next.found(["x.1"], version: 2) == 1)
      #expect(try next.found(names(100, "x").filter { $0 != "x.1" }) == 0)
    }
  }

  @Test("or selected, are gone, though another process writes one of them anew at that moment")
  func evictedMeanwhile() async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 1 << 20)
      let other = DiskCache.testing(directory, limits: limits)
      try await other.fill(names(5, "used"), count: 2000)
      for round in 0..<10 { try await other.fill(names(20, "r\(round)"), count: 3000) }
      #expect(try other.found(names(5, "used"), count: 2000) == 5)
      let isArmed = Box(false)
      var operations = FileOperations.system
      operations.open = { folder, name, flags, mode in
        if isArmed.value, name == "00000001.segment" {
          isArmed.update { $0 = false }
          let done = DispatchSemaphore(value: 0)
          Task {
            var round = 10
            while !directory.files("00000001.segment").isEmpty, round < 100 {
              try? await other.fill(names(5, "r\(round)"), count: 3000)
              round += 1
            }
            done.signal()
          }
          done.wait()
        }
        return FileOperations.system.open(folder, name, flags, mode)
      }
      let cache = DiskCache.testing(directory, limits: nil, operations: operations)
      isArmed.update { $0 = true }
      try await cache.removeAll(.prefix("used"))
      #expect(!isArmed.value && directory.files("00000001.segment").isEmpty)
      #expect(try other.statistics().reinserted > 0)
      #expect(try other.found(names(5, "used"), count: 2000) == 0)
    }
  }

  @Test("are told apart from others whose hashes are half the same")
  func halfHashes() async throws {
    try await withTemporaryDirectory { directory in
      let all = names(20), removed = half(all)
      let cache = DiskCache.testing(directory) { KeyHash(low: 1, high: $0.high, identity: $0.identity) }
      try await cache.fill(all)
      try await cache.remove((removed + names(100, "absent")).map(storeKey))
      #expect(try cache.found(all) == 10 && cache.found(removed) == 0)
    }
  }

  @Test("are forgotten with all others, where so many cannot be remembered until something can be written again")
  func tooMany() async throws {
    try await withTemporaryDirectory { directory in
      let isBroken = Box(false), cache = DiskCache.testing(directory, operations: broken(isBroken))
      try await cache.fill(names(3))
      isBroken.update { $0 = true }
      await #expect(throws: StorageError.self) { try await cache.remove(names(60_000, "x").map(storeKey)) }
      #expect(try cache.found(names(3)) == 3, "these are remembered")
      await #expect(throws: StorageError.self) { try await cache.remove(names(60_000, "y").map(storeKey)) }
      #expect(try cache.found(names(3)) == 0, "those are not")
      isBroken.update { $0 = false }
      try await cache.fill(["later"])
      #expect(try DiskCache.testing(directory).found(names(3) + ["later"]) == 1)
    }
  }
}
