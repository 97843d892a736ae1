import Foundation
import Testing

@testable import Gesso

@Suite("A disk cache whose files are damaged")
struct DamagedCacheTests {
  @Test(
    "has a miss for each blob in which a byte is not what it was, and never another blob",
    arguments: ["segment", "index"])
  func flippedBytes(_ file: String) async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 1 << 20, count: 64)
      try await DiskCache.testing(directory, limits: limits).fill(names(12), count: 150)
      let url = directory.files(file).first!
      let bytes = try Data(contentsOf: url)
      let used = file == "segment" ? try #require(bytes.lastIndex { $0 != 0 }) + 1 : bytes.count
      var random = SeededGenerator(state: 3), misses = 0
      // Each of a segment's bytes; and of the index's all of the head and some of the slots.
      let places = Array(0..<used).filter { file == "segment" || testsAllFaults || $0 < 128 || $0 % 23 == 0 }
      for place in places {
        // One that forgets nothing, so that each byte is looked at.
        let cache = DiskCache(directory: directory, isReadOnly: true)
        let changed = bytes[place] ^ UInt8(1 << Int.random(in: 0..<8, using: &random))
        try write(changed, at: place, of: url)
        do {
          let found = try cache.found(names(12), count: 150)
          misses += 12 - found
          if file == "segment" {
            let intact = try cache.verify().intact
            #expect(found >= 11 && intact == found)
          }
        } catch is StorageError {
          misses += 12
        }
        try write(bytes[place], at: place, of: url)
      }
      // All bytes of a segment count but those of its own head, which is needed only to find records again, and zeros.
      #expect(file == "index" ? misses > 0 : misses > used - SegmentFile.headLength - 12 * 8)
      #expect(try DiskCache.testing(directory, limits: nil).found(names(12), count: 150) == 12)
    }
  }

  private func write(_ byte: UInt8, at place: Int, of url: URL) throws {
    let file = open(url.path, O_RDWR)
    defer { close(file) }
    var byte = byte
    #expect(pwrite(file, &byte, 1, off_t(place)) == 1)
  }

  @Test(
    "has what is left of segments that were cut, swapped, emptied or removed",
    arguments: ["cut", "swapped", "emptied", "removed"])
  func segments(_ damage: String) async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 2 << 20)
      let cache = DiskCache.testing(directory, limits: limits)
      try await cache.fill(names(100), count: 4000)
      let segments = directory.files(".segment")
      #expect(segments.count >= 3)
      switch damage {
      case "cut": for segment in segments { try segment.edit { $0 = $0.prefix($0.count / 2 + 100) } }
      case "swapped":
        let other = directory.appendingPathComponent("other")
        try FileManager.default.moveItem(at: segments[0], to: other)
        try FileManager.default.moveItem(at: segments[1], to: segments[0])
        try FileManager.default.moveItem(at: other, to: segments[1])
      case "emptied": try segments[0].edit { $0 = Data() }
      default: try FileManager.default.removeItem(at: segments[0])
      }
      let next = DiskCache.testing(directory, limits: nil)
      let found = try next.found(names(100), count: 4000)
      #expect(found < 100 && found > 20)
      try await next.flush()
      #expect(try next.verify().damaged.isEmpty, "what was found to be damaged is forgotten")
      #expect(try next.statistics().damaged == 100 - found)
      try await next.fill(names(100), version: 1, count: 4000)
      #expect(try DiskCache.testing(directory, limits: nil).found(names(100), version: 1, count: 4000) == 100)
    }
  }

  @Test(
    "does not crash or hang on files that are nobody's",
    arguments: ["last number", "pipe", "long record", "long files", "short index"])
  func hostileFiles(_ kind: String) async throws {
    try await withTemporaryDirectory { directory in
      let first = directory.appendingPathComponent("00000001.segment")
      let running = DiskCache.testing(directory.appendingPathComponent("running"))
      switch kind {
      case "last number": try Data().write(to: directory.appendingPathComponent("ffffffff.segment"))
      case "pipe": #expect(mkfifo(first.path, 0o600) == 0)
      case "long files":
        // Of exabytes, where a file system takes them.
        for number in 1...2 {
          let url = directory.appendingPathComponent("0000000\(number).segment")
          try Data().write(to: url)
          for power in (40...62).reversed() where truncate(url.path, 1 << power) == 0 { break }
        }
      case "long record": try writeLongRecord(first)
      default:
        // While it is open.
        try await running.fill(["x"])
        #expect(truncate(running.directory.appendingPathComponent("index").path, 4096) == 0)
        // A miss, until the index that is made anew knows it again.
        #expect(try running.found(["x"]) <= 1)
        #expect(await eventually { (try? running.found(["x"])) == 1 })
        try await running.fill(names(5))
        #expect(try running.found(names(5)) == 5)
      }
      let cache = DiskCache.testing(directory)
      #expect(await eventually { (try? cache.statistics().isRebuilding) == false })
      try await cache.fill(["x"])
      #expect(try DiskCache.testing(directory).found(["x"]) == 1)
    }
  }

  /// A record of four gigabytes, of which there are none, and one after it.
  private func writeLongRecord(_ url: URL) throws {
    let file = open(url.path, O_RDWR | O_CREAT, 0o600)
    let segment = SegmentFile(number: 1, file: Descriptor(file, .system))
    try segment.write(SegmentFile.Head(sequence: 0, completeLength: 0))
    var key: [UInt8] = []
    storeKey("x").append(to: &key)
    var offset = SegmentFile.headLength
    for length in [0xFFFF_FFFF, 8] {
      var record = BlobRecord(kind: .blob, key: key.count)
      (record.blobLength, record.sequence, record.created) = (length, UInt64(offset), 1)
      var bytes = [UInt8](repeating: 0, count: BlobRecord.headLength) + key
      bytes.withUnsafeMutableBytes { record.write(to: $0) }
      #expect(pwrite(file, bytes, bytes.count, off_t(offset)) == bytes.count)
      offset += record.paddedLength
    }
    #expect(ftruncate(file, off_t(offset)) == 0)
  }

  /// Operations by which all but the head of a segment cannot be read, once that is wished.
  private func unreadable(_ segment: String, _ isArmed: Box<Bool>) -> FileOperations {
    let bad = Box<Set<Int>>([])
    var operations = FileOperations.system
    operations.open = { folder, name, flags, mode in
      let result = FileOperations.system.open(folder, name, flags, mode)
      bad.update { if name == segment { $0.insert(result) } else { $0.remove(result) } }
      return result
    }
    operations.readAt = { file, pieces, count, offset in
      if isArmed.value, offset >= 64, bad.value.contains(Int(file)) { return -Int(EIO) }
      return FileOperations.system.readAt(file, pieces, count, offset)
    }
    return operations
  }

  @Test("keeps to its quota when a segment cannot be read")
  func badSector() async throws {
    try await withTemporaryDirectory { directory in
      let isArmed = Box(false), operations = unreadable("00000001.segment", isArmed)
      let limits = DiskCacheLimits(byteCount: 2 << 20)
      let cache = DiskCache.testing(directory, limits: limits, operations: operations)
      for round in 0..<3 { try await cache.fill(names(50, "r\(round)"), count: 4000) }
      isArmed.update { $0 = true }
      for round in 3..<40 { try await cache.fill(names(50, "r\(round)"), count: 4000) }
      #expect(try cache.statistics().byteCount <= limits.byteCount)
      #expect(directory.files("00000001.segment").isEmpty)
    }
  }

  @Test("goes on where the segment cannot be read in which a process has died")
  func unreadableUnfinished() async throws {
    try await withTemporaryDirectory { parent in
      let living = parent.appendingPathComponent("living"), directory = parent.appendingPathComponent("dead")
      let writer = DiskCache.testing(living)
      try await writer.fill(names(20))
      // As it lies there while its writer is at work, which no copy's lock tells of.
      try FileManager.default.copyItem(at: living, to: directory)
      let cache = DiskCache.testing(directory, operations: unreadable("00000001.segment", Box(true)))
      try await cache.fill(names(20, "new"))
      #expect(try cache.found(names(20, "new")) == 20)
      #expect(try cache.statistics().failure == nil)
    }
  }

  @Test("forgets what is selected, and says what is damaged, though a segment cannot be read")
  func unreadableSelection() async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 2 << 20), isArmed = Box(false)
      let cache = DiskCache.testing(
        directory, limits: limits, operations: unreadable("00000001.segment", isArmed))
      for round in 0..<3 { try await cache.fill(names(50, "r\(round)"), count: 4000) }
      isArmed.update { $0 = true }
      let found = try cache.verify()
      #expect(found.damaged.contains { $0.hasPrefix("00000001.segment") } && found.intact > 0)
      try await cache.removeAll(.prefix("r"))
      try await cache.fill(["later"])
      let next = DiskCache.testing(directory, limits: limits)
      for round in 0..<3 { #expect(try next.found(names(50, "r\(round)"), count: 4000) == 0) }
      #expect(try next.found(["later"]) == 1)
    }
  }

  @Test("does not count for ever what went with segments that somebody else removed")
  func removedSegments() async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 4 << 20, count: 1600)
      try await DiskCache.testing(directory, limits: limits).fill(names(1550, "old"), count: 100)
      for file in directory.files(".segment") { try FileManager.default.removeItem(at: file) }
      let cache = DiskCache.testing(directory, limits: limits)
      for round in 0..<12 { try await cache.fill(names(100, "new\(round)"), count: 100) }
      var found = 0
      for round in 0..<12 { found += try cache.found(names(100, "new\(round)"), count: 100) }
      #expect(found == 1200)
    }
  }

  @Test("gives the room of segments back that another process has removed")
  func heldSegments() async throws {
    try await withTemporaryDirectory { directory in
      let limits = DiskCacheLimits(byteCount: 4 << 20)
      let reader = DiskCache.testing(directory, limits: limits), writer = DiskCache.testing(directory, limits: limits)
      for round in 0..<40 {
        try await writer.fill(names(50, "r\(round)"), count: 4000)
        _ = try reader.found(names(50, "r\(round)"), count: 4000)
      }
      let held = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
      }.filter { $0.hasPrefix(directory.path) && $0.hasSuffix(".segment (deleted)") }
      #expect(held.count < 4)
    }
  }
}
