import Foundation
import Testing

@testable import Gesso

@Suite("What a disk cache is asked for")
struct DiskCacheOrderTests {
  /// Operations that wait at a gate before records are written, from when it is armed.
  private func held(_ calls: Box<Int>, _ isArmed: Box<Bool>, _ gates: [Gate]) -> FileOperations {
    var operations = FileOperations.system
    operations.writeAt = { file, pieces, count, offset in
      if isArmed.value, count >= 3 {
        let call = calls.value
        calls.increment()
        if call < gates.count { gates[call].wait() }
      }
      return FileOperations.system.writeAt(file, pieces, count, offset)
    }
    return operations
  }

  @Test("is written when a flush returns, though it was asked for anew meanwhile")
  func supersededFlush() async throws {
    try await withTemporaryDirectory { directory in
      let calls = Box(0), isArmed = Box(false), gates = [Gate(), Gate()]
      let cache = DiskCache.testing(directory, operations: held(calls, isArmed, gates))
      try await cache.fill(["k"], version: 0)
      isArmed.update { $0 = true }
      try cache.putNow(storedBlob("x"), for: storeKey("x"))
      #expect(await eventually { calls.value == 1 })
      try cache.putNow(storedBlob("k", version: 1), for: storeKey("k"))
      let isFlushed = Box(false)
      let flush = Task {
        try await cache.flush()
        isFlushed.update { $0 = true }
      }
      try cache.putNow(storedBlob("k", version: 2), for: storeKey("k"))
      gates[0].open()
      #expect(await eventually { calls.value == 2 })
      #expect(!isFlushed.value, "the first of them is not written yet, nor what took its place")
      gates[1].open()
      try await flush.value
      #expect(try DiskCache.testing(directory).found(["k"], version: 2) == 1)
    }
  }

  @Test("is written when a flush or removal returns, though another key is put again and again")
  func busyKey() async throws {
    try await withTemporaryDirectory { directory in
      var operations = FileOperations.system
      operations.writeAt = { file, pieces, count, offset in
        if count >= 3 { usleep(1000) }
        return FileOperations.system.writeAt(file, pieces, count, offset)
      }
      let cache = DiskCache.testing(directory, operations: operations), isOver = Box(false)
      let putting = onThread {
        while !isOver.value {
          try cache.putNow(Data(count: 100), for: storeKey("hot"))
          usleep(100)
        }
      }
      for _ in 0..<20 {
        try await cache.flush()
        try await cache.remove(storeKey("other"))
      }
      isOver.update { $0 = true }
      try await putting.value
    }
  }

  @Test("waits for no more than was asked for before, whatever is asked for meanwhile")
  func oldest() {
    var changes = StagedChanges()
    let (hot, other) = (storeKey("hot"), storeKey("other"))
    changes.put(StagedBlob(Data([0])), for: hot)
    for _ in 0..<5 {
      let before = changes.version
      let batch = changes.batch()
      changes.put(StagedBlob(Data([1])), for: hot)
      changes.finish(batch)
      #expect(changes.oldest > before, "all before the batch is written")
    }
    changes.put(StagedBlob(Data([2])), for: other)
    let version = changes.version
    changes.put(StagedBlob(Data([3])), for: hot)
    #expect(changes.oldest < version)
    changes.finish(changes.batch())
    #expect(changes.isEmpty && changes.oldest == .max && changes.byteCount == 0 && changes.blobCount == 0)
  }

  @Test("is counted right, when what is being written is dropped meanwhile")
  func droppedWhileWritten() async throws {
    try await withTemporaryDirectory { directory in
      let calls = Box(0), gates = [Gate()]
      let cache = DiskCache.testing(directory, operations: held(calls, Box(true), gates))
      for name in names(8) { try cache.putNow(storedBlob(name, count: 100 << 10), for: storeKey(name)) }
      #expect(await eventually { calls.value == 1 })
      for name in names(40, "q") { try cache.putNow(storedBlob(name, count: 1 << 20), for: storeKey(name)) }
      gates[0].open()
      try await cache.flush()
      #expect(try cache.statistics().waiting == 0)
      #expect(try cache.found(names(8), count: 100 << 10) == 0, "they were given up")
    }
  }

  @Test("includes pruning, however much is put meanwhile")
  func pruning() async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory), isOver = Box(false)
      let putting = onThread {
        var number = 0
        while !isOver.value {
          try cache.putNow(Data(count: 50_000), for: storeKey("\(number % 5000)"))
          number += 1
        }
      }
      try await cache.prune()
      isOver.update { $0 = true }
      try await putting.value
    }
  }

  @Test("is found by those who write after another process has removed all")
  func clearedByAnother() async throws {
    try await withTemporaryDirectory { directory in
      let first = DiskCache.testing(directory), second = DiskCache.testing(directory)
      try await first.fill(["x"])
      try await second.removeAll(.all)
      try await first.fill(names(50))
      for cache in [first, second, DiskCache.testing(directory)] { #expect(try cache.found(names(50)) == 50) }
      #expect(directory.files(".segment").count == 1)
    }
  }

  @Test(
    "is found at once where another process has made the index anew, and no file is emptied for that which has other names"
  )
  func replacedIndex() async throws {
    try await withTemporaryDirectory { directory in
      var operations = FileOperations.system
      // As if it had looked just now.
      let first = Box<stat?>(nil)
      operations.status = { file, information in
        let result = FileOperations.system.status(file, &information)
        information.st_nlink = 1
        return result
      }
      operations.statusOfEntry = { folder, name, information in
        let result = FileOperations.system.statusOfEntry(folder, name, &information)
        guard name == "index" else { return result }
        let now = information
        first.update { $0 = $0 ?? now }
        information = first.value!
        return result
      }
      let reader = DiskCache.testing(directory, operations: operations)
      try await reader.fill(["a", "b"])
      #expect(try reader.found(["a", "b"]) == 2)
      let larger = DiskCache.testing(directory, limits: DiskCacheLimits(byteCount: 1 << 30))
      try await larger.remove(storeKey("a"))
      #expect(await eventually { (try? larger.statistics().isRebuilding) == false })
      #expect(try reader.found(["b"]) == 1)
      #expect(try reader.found(["a"]) == 0)

      let (index, kept) = (directory.appendingPathComponent("index"), directory.appendingPathComponent("kept"))
      #expect(link(index.path, kept.path) == 0)
      let before = try Data(contentsOf: kept)
      _ = try DiskCache.testing(directory).statistics()
      #expect(try Data(contentsOf: index) != before)
      // Removals that it kept while it was rebuilt may be taken out of its table yet, which comes after limits and numbers.
      let after = try Data(contentsOf: kept)
      #expect(after.count == before.count && after.prefix(128) == before.prefix(128))
    }
  }

  @Test("is done in spite of a step that fails once, and each removal is done")
  func failingShrink() async throws {
    try await withTemporaryDirectory { directory in
      try await DiskCache.testing(directory).fill(names(20, "b"))
      let failures = Box(3)
      var operations = FileOperations.system
      operations.list = { file, names in
        if failures.value > 0 {
          failures.update { $0 -= 1 }
          return -Int(EMFILE)
        }
        return FileOperations.system.list(file, &names)
      }
      let cache = DiskCache.testing(directory, operations: operations)
      try await cache.removeAll(.prefix("zzz"))
      try await cache.removeAll(.prefix("b"))
      #expect(try cache.found(names(20, "b")) == 0)
      #expect(try DiskCache.testing(directory).found(names(20, "b")) == 0)
    }
  }

  @Test("costs the same however much was dropped, where nothing is written")
  func readOnly() async throws {
    try await withTemporaryDirectory { directory in
      try await DiskCache.testing(directory).fill(["x"])
      let cache = DiskCache(directory: directory, isReadOnly: true)
      for number in 0..<4000 { try cache.putNow(Data(count: 20_000), for: storeKey("\(number)")) }
      #expect(try cache.statistics().waiting == 0 && cache.statistics().dropped == 4000)
      #expect(try cache.found(["x"]) == 1)
      try await cache.flush()
    }
  }

  @Test("is kept within the limits that the cache was made with, also when it is made anew")
  func limitsOfAnother() async throws {
    try await withTemporaryDirectory { parent in
      let directory = parent.appendingPathComponent("cache")
      let limits = DiskCacheLimits(byteCount: 2 << 20)
      let cache = DiskCache.testing(directory, limits: limits)
      try await cache.fill(["x"])
      try FileManager.default.removeItem(at: directory)
      try await cache.fill(["y"])
      #expect(try cache.statistics().limits == limits)

      // Known to others who have it open already, though the table is the same.
      let smaller = DiskCacheLimits(byteCount: 1 << 20, count: limits.count, lifetime: .seconds(100))
      #expect(smaller.bucketCount != limits.bucketCount || smaller.count == limits.count)
      let same = DiskCacheLimits(byteCount: 3 << 20, count: limits.count, lifetime: .seconds(100))
      _ = try DiskCache.testing(directory, limits: same).statistics()
      for round in 0..<40 { try await cache.fill(names(50, "r\(round)"), count: 4000) }
      let statistics = try cache.statistics()
      #expect(statistics.limits == same && statistics.byteCount <= same.byteCount)
    }
  }

  @Test("is not kept if it is larger than a quarter of the cache, though the limits were not known when it was put")
  func largeWithoutLimits() async throws {
    try await withTemporaryDirectory { directory in
      try await DiskCache.testing(directory, limits: DiskCacheLimits(byteCount: 1 << 20)).fill(["x"])
      let cache = DiskCache.testing(directory, limits: nil)
      try cache.putNow(Data(count: 20 << 20), for: storeKey("large"))
      try await cache.flush()
      #expect(try cache.statistics().byteCount <= 1 << 20)
      #expect(try cache.blobNow(for: storeKey("large")) == nil)
    }
  }

  @Test("counts for ever, if the lifetime is longer than the clock goes")
  func longLifetime() async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory, limits: DiskCacheLimits(lifetime: .seconds(100 * 365 * 86400)))
      try await cache.fill(["x"])
      #expect(try cache.found(["x"]) == 1)
    }
  }
}
