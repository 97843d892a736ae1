import Foundation
import Gesso
import Testing

@Suite("gesso cache")
struct CacheCommandTests {
  /// A cache with so many blobs of 5,000 bytes.
  private func withCache(_ count: Int, _ body: (String) throws -> Void) async throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("gesso-tests-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }
    let cache = DiskCache(directory: url, limits: DiskCacheLimits(byteCount: 4 << 20))
    for number in 0..<count { try cache.putNow(Data(repeating: UInt8(number & 255), count: 5000), for: key(number)) }
    try await cache.flush()
    try body(url.path)
  }

  private func key(_ number: Int) -> BitmapKey {
    DrawRequest(key: "\(number)", size: CGSize(width: 8, height: 8)) { _, _ in }.cacheKey
  }

  private func json(_ run: Run) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
  }

  @Test("tells what is in one, for a person and for a program")
  func stats() async throws {
    try await withCache(100) { directory in
      let run = try gesso("cache", "stats", directory)
      #expect(run.status == 0 && run.output.contains("\(directory): 100 records, of at most 1024"), "\(run.errors)")
      let document = try json(gesso("cache", "stats", directory, "--json"))
      #expect(document["records"] as? Int == 100 && document["byteLimit"] as? Int == 4 << 20)
      #expect((document["bytes"] as? Int ?? 0) > 500_000)
    }
  }

  @Test("finds what is damaged, says where, and forgets it")
  func verify() async throws {
    try await withCache(40) { directory in
      #expect(try gesso("cache", "verify", directory).output.contains("40 records are as they were put, 0 are not"))
      let segment = try #require(FileManager.default.contentsOfDirectory(atPath: directory).sorted().first)
      let url = URL(fileURLWithPath: directory).appendingPathComponent(segment)
      var bytes = try Data(contentsOf: url)
      bytes[64 + 5080 * 10 + 3000] ^= 1
      try bytes.write(to: url)
      let run = try gesso("cache", "verify", directory)
      #expect(run.status == 1 && run.output.contains("\(segment) at byte "), "\(run.output)")
      #expect(run.errors.contains("1 damaged records were forgotten"))
      let again = try gesso("cache", "verify", directory, "--json")
      #expect(again.status == 0)
      #expect(try json(again)["intact"] as? Int == 39)
    }
  }

  @Test("prunes to fewer bytes or records, and clears")
  func removing() async throws {
    try await withCache(400) { directory in
      let run = try gesso("cache", "prune", directory, "--bytes", "1M", "--json")
      #expect(run.status == 0, "\(run.errors)")
      let document = try json(run)
      #expect((document["bytes"] as? Int ?? .max) <= 1 << 20 && (document["removedRecords"] as? Int ?? 0) > 100)
      let fewer = try json(gesso("cache", "prune", directory, "--count", "60", "--json"))
      #expect((document["records"] as? Int ?? 0) > 60 && (fewer["records"] as? Int ?? .max) <= 60)
      let cleared = try gesso("cache", "clear", directory)
      #expect(cleared.output.contains(", 0 records and "))
      #expect(try json(gesso("cache", "stats", directory, "--json"))["records"] as? Int == 0)
    }
  }

  @Test("leaves directories alone that are no cache, and says so")
  func otherDirectories() throws {
    try withDirectory { directory in
      for action in ["stats", "verify", "prune", "clear"] {
        let absent = try gesso("cache", action, directory + "/none")
        #expect(absent.status == 1 && absent.errors.contains("none: is not there"))
      }
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      try Data([1]).write(to: URL(fileURLWithPath: directory + "/precious"))
      for action in ["stats", "verify", "prune", "clear"] {
        let run = try gesso("cache", action, directory)
        #expect(run.status == 1 && run.errors.contains("there is no disk cache in it"))
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["precious"])
      #expect(try gesso("cache", "melt", directory).status == 2)
      #expect(try gesso("cache", "stats").status == 2)
      #expect(try gesso("cache", "prune", directory, "--bytes", "many").status != 0)
    }
  }
}
