import Foundation
import Testing

@testable import Gesso

@Suite("What a memory cache keeps as blobs")
struct CompressedTierTests {
  private static let size = 64 * 64 * 4

  private func key(_ index: Int) -> BitmapKey { request("\(index)").cacheKey }

  /// Bitmaps that blobs of are small, each unlike the others.
  private func stripes(_ count: Int) throws -> [Bitmap] {
    try (0..<count).map { index in
      try Bitmap(size: CGSize(width: 64, height: 64), scale: 1, background: .white) { context, _ in
        for y in stride(from: index % 3, to: 64, by: 3) {
          context.setFillColor(Color(white: Double(index) / 40))
          context.fill(CGRect(x: 0, y: y, width: 64, height: 1))
        }
      }
    }
  }

  private let slow = BitmapCost(byteCount: size, drawNanoseconds: 50_000_000)
  private let fast = BitmapCost(byteCount: size, drawNanoseconds: 10_000)

  /// From memory or from a blob.
  private func find(_ index: Int, in cache: MemoryCache) -> Bitmap? {
    cache.bitmap(for: key(index)) ?? cache.restoredBitmap(for: key(index))
  }

  /// Fills a cache of ten bitmaps, so that all others have to go.
  private func flush(_ cache: MemoryCache, _ stripes: [Bitmap]) {
    for index in 10..<20 { cache.insert(stripes[index], for: key(index), cost: fast) }
  }

  @Test("are those that took very long to draw; within the limit, and with the same pixels")
  func compressing() async throws {
    let stripes = try stripes(40)
    let limit = 10 * Self.size
    let cache = MemoryCache(limit: limit)
    for (index, bitmap) in stripes.enumerated() {
      cache.insert(bitmap, for: key(index), cost: index % 2 == 0 ? slow : fast)
      let statistics = cache.statistics
      #expect(statistics.byteCount + statistics.compressedByteCount <= limit)
      // Each has the time to be encoded: more at a time would not be kept.
      #expect(await eventually { cache.statistics.compressedByteCount < Self.size })
    }
    #expect(cache.statistics.compressedByteCount > 0 && cache.statistics.compressedByteCount <= limit / 8)
    #expect((0..<29).allSatisfy { cache.bitmap(for: key($0)) == nil }, "a lookup decodes nothing")
    let found = (0..<29).filter { cache.restoredBitmap(for: key($0))?.hasSamePixels(as: stripes[$0]) ?? false }
    #expect(found.filter { $0 % 2 == 0 }.count >= 12 && found.filter { $0 % 2 == 1 }.isEmpty)
    cache.trim()
    #expect(cache.statistics.count == 0)
    #expect(await eventually { cache.statistics.compressedByteCount == 0 })
    cache.insert(stripes[0], for: key(0), cost: limit)
    #expect(cache.bitmap(for: key(0)) != nil, "all of the limit is there again")
  }

  @Test("are forgotten with their bitmap, also while they are made")
  func forgetting() async throws {
    let stripes = try stripes(40)
    let cache = MemoryCache(limit: 10 * Self.size)
    for round in 0..<8 {
      cache.insert(stripes[1], for: key(1), cost: slow)
      flush(cache, stripes)
      if round % 2 == 0 { #expect(await eventually { cache.statistics.compressedByteCount < Self.size }) }
      if round < 4 { cache.removeBitmap(for: key(1)) } else { cache.removeBitmaps { $0.identity == "1" } }
      #expect(await eventually { cache.statistics.compressedByteCount == 0 })
      #expect(find(1, in: cache) == nil, "round \(round)")
    }
  }

  @Test("are never older than what was kept last")
  func replacing() async throws {
    let stripes = try stripes(40)
    let cache = MemoryCache(limit: 10 * Self.size)
    cache.insert(stripes[1], for: key(1), cost: slow)
    flush(cache, stripes)
    #expect(await eventually { (1..<Self.size).contains(cache.statistics.compressedByteCount) })
    cache.insert(stripes[2], for: key(1), cost: fast)
    flush(cache, stripes)
    #expect(find(1, in: cache) == nil, "the newer one went, too")
  }

  @Test("are good for no longer than their bitmap was")
  func lifetimes() async throws {
    let stripes = try stripes(40)
    let cache = MemoryCache(.init(limit: 10 * Self.size, lifetime: .milliseconds(600)))
    let begin = MonotonicClock.now
    cache.insert(stripes[1], for: key(1), cost: slow)
    flush(cache, stripes)
    #expect(await eventually { find(1, in: cache) != nil || MonotonicClock.now - begin > 600_000_000 })
    MonotonicClock.sleep(until: begin + 600_000_000)
    #expect(find(1, in: cache) == nil, "reading it back does not renew it")
  }

  @Test("give way to what is on screen")
  func screens() async throws {
    let stripes = try stripes(40)
    let cache = MemoryCache(limit: 10 * Self.size)
    cache.insert(stripes[0], for: key(0), cost: slow)
    cache.viewport = Viewport(list: "a", rows: 1...10) { Int($0) }
    for index in 1...10 { cache.insert(stripes[index], for: key(index), cost: fast) }
    #expect(await eventually { cache.statistics.compressedByteCount == 0 })
    #expect(cache.statistics.byteCount <= 10 * Self.size)
    #expect((1...10).filter { cache.bitmap(for: key($0)) != nil }.count >= 9)
  }
}
