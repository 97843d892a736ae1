import Foundation
import Testing

@testable import Gesso

@Suite("A disk cache")
struct DiskCacheTests {
  @Test(
    "gives back what was put: at once, once it is written, and in the next process", arguments: [0, 1, 7, 8, 100_000])
  func roundTrip(_ count: Int) async throws {
    try await withTemporaryDirectory { directory in
      let (key, blob) = (storeKey("a"), storedBlob("a", count: count))
      let cache = DiskCache.testing(directory)
      #expect(try await cache.blob(for: key) == nil)
      try await cache.put(blob, for: key)
      #expect(try await cache.blob(for: key) == blob)
      try await cache.flush()
      #expect(try cache.statistics().waiting == 0)
      #expect(try await cache.blob(for: key) == blob)
      let next = DiskCache.testing(directory)
      #expect(try await next.blob(for: key) == blob)
      #expect(try next.statistics().hits == 1)
    }
  }

  @Test("keeps the last of what was put under a key, whether the one before was written or not")
  func replacing() async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory)
      for version in 0..<5 {
        try await cache.fill(["a", "b"], version: version)
        try cache.putNow(storedBlob("a", version: 10 + version), for: storeKey("a"))
        #expect(try cache.found(["a"], version: 10 + version) == 1)
      }
      try await cache.flush()
      let next = DiskCache.testing(directory)
      #expect(try next.found(["a"], version: 14) == 1)
      #expect(try next.found(["b"], version: 4) == 1)
      #expect(try next.statistics().count == 2)
    }
  }

  @Test("forgets a key, all sizes of a user's key, all that begin so, or all: at once and for good")
  func removing() async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory)
      func size(_ side: Int) -> BitmapKey {
        DrawRequest(key: "sizes", size: CGSize(width: side, height: side), scale: 1) { _, _ in }.cacheKey
      }
      try await cache.fill(names(20, "a") + names(20, "b") + names(20, "b.c"))
      for side in 1...3 { try cache.putNow(Data([UInt8(side)]), for: size(side)) }
      try await cache.flush()
      try cache.putNow(storedBlob("b.c.waits"), for: storeKey("b.c.waits"))

      try await cache.remove(storeKey("a.3"))
      try await cache.removeAll(.key("sizes"))
      try await cache.removeAll(.prefix("b.c"))
      for cache in [cache, DiskCache.testing(directory)] {
        #expect(try cache.found(names(20, "a")) == 19)
        #expect(try cache.found(names(20, "b")) == 20)
        #expect(try cache.found(names(20, "b.c") + ["b.c.waits"]) == 0)
        for side in 1...3 { #expect(try cache.blobNow(for: size(side)) == nil) }
        #expect(try cache.statistics().count == 39)
      }
      try await cache.removeAll(.all)
      #expect(try cache.found(names(20, "a") + names(20, "b")) == 0)
      #expect(directory.files(".segment").isEmpty)
      try await cache.fill(["new"])
      #expect(try DiskCache.testing(directory).found(["new"] + names(20, "b")) == 1)
    }
  }

  @Test("tells keys apart that look alike, and takes any bytes in them")
  func hostileKeys() async throws {
    try await withTemporaryDirectory { directory in
      let keys = [
        "", "a", "/", "..", "../../etc/passwd", "a\u{0}b", "a\u{0}", "\u{e9}", "e\u{301}",
        String(repeating: "k", count: 255),
        String(repeating: "k", count: 256), String(repeating: "/x", count: 50_000),
      ]
      let cache = DiskCache.testing(directory)
      for (number, key) in keys.enumerated() { try cache.putNow(Data([UInt8(number)]), for: storeKey(key)) }
      try await cache.flush()
      let next = DiskCache.testing(directory)
      for (number, key) in keys.enumerated() {
        #expect(try next.blobNow(for: storeKey(key)) == Data([UInt8(number)]))
      }
      #expect(try next.verify().intact == keys.count)
      try await next.removeAll(.prefix("e"))
      #expect(try next.blobNow(for: storeKey("e\u{301}")) == nil)
      #expect(try next.blobNow(for: storeKey("\u{e9}")) != nil, "another key, by its bytes")
      try await next.removeAll(.prefix("/x/x"))
      #expect(try next.blobNow(for: storeKey(keys.last!)) == nil)
    }
  }

  @Test("has a miss, and never another picture, for a key with the same hash")
  func collisions() async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory) { _ in KeyHash(low: 1, high: 2, identity: 3) }
      try await cache.fill(["a"])
      #expect(try cache.found(["a"]) == 1)
      #expect(try cache.found(["b", "picture of the same length"]) == 0)
      try await cache.fill(["b"])
      #expect(try cache.found(["a", "b"]) == 1)
    }
  }

  @Test("takes blobs larger than a segment, and refuses those larger than a quarter of the cache, naming the directory")
  func largeBlobs() async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory, limits: DiskCacheLimits(byteCount: 420 << 20))
      let large = Data(repeating: 7, count: 100_000_000)
      try cache.putNow(large, for: storeKey("large"))
      try await cache.flush()
      try await cache.fill(["small"])
      let next = DiskCache.testing(directory, limits: nil)
      #expect(try next.blobNow(for: storeKey("large")) == large)
      #expect(try next.found(["small"]) == 1)
      try await next.fill(["other"])
      let error = #expect(throws: StorageError.self) {
        try next.putNow(Data(count: (105 << 20) + 1), for: storeKey("large"))
      }
      #expect(error?.description.contains(directory.path) == true)
      #expect(try next.blobNow(for: storeKey("large")) == nil, "the older one is not what was put")
    }
  }

  @Test("keeps what waits within bounds, and forgets the keys of what it drops")
  func staging() async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory)
      try await cache.fill(["a"])
      let blocked = Gate()
      // The one thread that writes is held up, so that what waits is more than may wait.
      var operations = FileOperations.system
      operations.writeAt = { file, pieces, count, offset in
        if offset >= 64, pieces[0].iov_len > 64 { blocked.wait() }
        return FileOperations.system.writeAt(file, pieces, count, offset)
      }
      let slow = DiskCache.testing(directory, operations: operations)
      try slow.putNow(storedBlob("a", version: 1), for: storeKey("a"))
      for name in names(40) { try slow.putNow(storedBlob(name, count: 1 << 20), for: storeKey(name)) }
      let statistics = try slow.statistics()
      #expect(statistics.waiting <= 16 && statistics.dropped >= 24)
      #expect(try slow.found(["a"], version: 1) == 0, "the version that is on the disk is older than the dropped one")
      let found = try slow.found(names(40), count: 1 << 20)
      #expect(found == statistics.waiting)
      blocked.open()
      try await slow.flush()
      #expect(try DiskCache.testing(directory).found(names(40), count: 1 << 20) == found)
    }
  }

  @Test("stays within its quota in bytes and in records, and drops the oldest")
  func quota() async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 2 << 20, count: 400)
      let cache = DiskCache.testing(directory, limits: limits)
      for round in 0..<40 {
        try await cache.fill(names(50, "round\(round)"), count: 4000)
        let statistics = try cache.statistics()
        #expect(statistics.byteCount <= limits.byteCount + limits.segmentLength)
        #expect(statistics.count <= limits.count + 64)
        #expect(try cache.found(names(50, "round\(round)"), count: 4000) == 50)
      }
      #expect(try cache.statistics().count > 200)
      #expect(try cache.found(names(50, "round0"), count: 4000) == 0)
      for round in 36..<40 { #expect(try cache.found(names(50, "round\(round)"), count: 4000) == 50) }

      let small = DiskCache.testing(directory.appendingPathComponent("small"), limits: limits)
      for round in 0..<20 { try await small.fill(names(100, "round\(round)"), count: 10) }
      let count = try small.statistics().count
      #expect(count <= limits.count && count > limits.count / 2, "\(count)")
    }
  }

  @Test("of limits beyond all disks has an index that can be")
  func largestLimits() {
    let limits = DiskCacheLimits(byteCount: .max, count: .max)
    #expect(limits.bucketCount <= Int(UInt32.max) && limits.bucketCount >= limits.count / 5)
  }

  @Test("has room in its index for as many records as it was made for")
  func fullIndex() async throws {
    try await withTemporaryDirectory { directory in
      let names = names(2000), blob = storedBlob("any", count: 16)
      let cache = DiskCache.testing(directory, limits: DiskCacheLimits(byteCount: 16 << 20, count: names.count))
      try await onThread { for name in names { try cache.putNow(blob, for: storeKey(name)) } }.value
      try await cache.flush()
      // Four in 100,000 find no place, if keys are spread as they should be.
      let found = try await onThread { try names.count { try cache.blobNow(for: storeKey($0)) == blob } }.value
      #expect(found >= names.count - 1, "\(found)")
    }
  }

  @Test("keeps what is read when its segment goes, and drops what is not")
  func reinsertion() async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory, limits: DiskCacheLimits(byteCount: 2 << 20))
      let used = names(10, "used")
      try await cache.fill(used, count: 2000)
      for round in 0..<60 {
        try await cache.fill(names(20, "round\(round)"), count: 4000)
        #expect(try cache.found(used, count: 2000) == 10, "after \(round)")
      }
      #expect(try cache.statistics().reinserted > 0)
      // Known to the next process, too.
      var next: DiskCache? = DiskCache.testing(directory, limits: nil)
      #expect(try next!.found(used, count: 2000) == 10)
      next = nil
    }
  }

  @Test("lets blobs expire, and those that a clock that was set back since has made")
  func expiry() async throws {
    try await withTemporaryDirectory { directory in
      let now = Box<UInt32>(1_000_000)
      var operations = FileOperations.system
      operations.now = { now.value }
      let cache = DiskCache.testing(
        directory, limits: DiskCacheLimits(lifetime: .seconds(60)), operations: operations)
      try await cache.fill(["a"])
      now.update { $0 += 59 }
      #expect(try cache.found(["a"]) == 1)
      now.update { $0 += 1 }
      #expect(try cache.found(["a"]) == 0)
      now.update { $0 -= 61 }
      #expect(try cache.found(["a"]) == 0)
      now.update { $0 += 1 }
      #expect(try cache.found(["a"]) == 1)
      now.update { $0 += 100 }
      try await cache.fill(["b"])
      try await cache.prune()
      #expect(try cache.statistics().count == 1)
    }
  }

  @Test("is pruned to less, the oldest first")
  func pruning() async throws {
    try await withTemporaryDirectory { directory in
      let cache = DiskCache.testing(directory, limits: DiskCacheLimits(byteCount: 4 << 20))
      for round in 0..<30 { try await cache.fill(names(20, "round\(round)"), count: 5000) }
      try await cache.prune(to: DiskCacheLimits(byteCount: 1 << 20))
      let statistics = try cache.statistics()
      #expect(statistics.byteCount <= 1 << 20 && statistics.count > 20)
      #expect(try cache.found(names(20, "round29"), count: 5000) == 20)
      #expect(statistics.limits.byteCount == 4 << 20, "for this once")
    }
  }

  @Test("drops what is too old, and nothing else though another process holds an old segment")
  func oldSegments() async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(lifetime: .seconds(60))
      let idle = DiskCache.testing(directory, limits: limits)
      try await idle.fill(["old"])
      let old = try #require(directory.files(".segment").first)
      // One that nobody holds, and that is young.
      var ended: DiskCache? = DiskCache.testing(directory, limits: limits)
      try await ended!.fill(names(20))
      ended = nil
      #expect(await eventually { isUnlocked(directory.files(".segment").last!) })
      let cache = DiskCache.testing(directory, limits: limits)
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -1000)], ofItemAtPath: old.path)
      try await cache.prune()
      #expect(try cache.found(names(20)) == 20)
      withExtendedLifetime(idle) {}
    }
  }

  @Test("takes over other limits, and finds the records again for which the index is made anew")
  func changedLimits() async throws {
    try await withTemporaryDirectory { directory in
      try await DiskCache.testing(directory).fill(names(500))
      let larger = DiskCache.testing(directory, limits: DiskCacheLimits(byteCount: 512 << 20, lifetime: .seconds(1000)))
      #expect(await eventually { (try? larger.found(names(500))) == 500 })
      #expect(try DiskCache.testing(directory, limits: nil).statistics().limits.lifetime == .seconds(1000))
    }
  }
}
