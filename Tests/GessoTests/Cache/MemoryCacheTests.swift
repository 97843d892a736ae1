import Foundation
import Testing

@testable import Gesso

@Suite("A memory cache")
struct MemoryCacheTests {
  private func key(_ index: Int) -> BitmapKey { request("\(index)").cacheKey }

  @Test("does what a list in the order of use does, operation for operation")
  func model() throws {
    let bitmaps = try (0..<20).map { try solid(Color(white: Double($0) / 20)) }
    let limit = 1000
    let cache = MemoryCache(limit: limit)
    var model: [(index: Int, cost: Int)] = []  // the most recently used first
    var random = SeededGenerator(state: 3)
    for _ in 0..<20_000 {
      let index = Int.random(in: 0..<20, using: &random)
      switch Int.random(in: 0..<20, using: &random) {
      case 0:
        cache.removeBitmap(for: key(index))
        model.removeAll { $0.index == index }
      case 1..<9:
        let cost = Int.random(in: 0...1100, using: &random) / (index + 1)
        cache.insert(bitmaps[index], for: key(index), cost: cost)
        model.removeAll { $0.index == index }
        if cost <= limit {
          while model.reduce(cost, { $0 + $1.cost }) > limit { model.removeLast() }
          model.insert((index, cost), at: 0)
        }
      default:
        let found = cache.bitmap(for: key(index))
        let place = model.firstIndex { $0.index == index }
        #expect((found != nil) == (place != nil))
        if let place {
          #expect(found === bitmaps[index])
          model.insert(model.remove(at: place), at: 0)
        }
      }
      let statistics = cache.statistics
      #expect(statistics.count == model.count && statistics.byteCount == model.reduce(0) { $0 + $1.cost })
    }
    #expect(cache.statistics.evictions > 100)
  }

  @Test("frees what it drops")
  func frees() throws {
    let cache = MemoryCache(limit: 100)
    weak var first: Bitmap?
    do {
      let bitmap = try solid(.red)
      first = bitmap
      cache.insert(bitmap, for: key(1), cost: 60)
    }
    #expect(first != nil)
    cache.insert(try solid(.blue), for: key(2), cost: 60)
    #expect(first == nil && cache.bitmap(for: key(1)) == nil && cache.statistics.evictions == 1)
    cache.removeAll()
    #expect(cache.statistics.count == 0 && cache.statistics.byteCount == 0 && cache.bitmap(for: key(2)) == nil)
  }

  @Test("keeps nothing that is larger than itself, and no earlier bitmap of that key")
  func tooLarge() throws {
    let cache = MemoryCache(limit: 100)
    cache.insert(try solid(.red), for: key(1), cost: 10)
    cache.insert(try solid(.red), for: key(2), cost: 10)
    cache.insert(try solid(.blue), for: key(1), cost: 101)
    #expect(cache.bitmap(for: key(1)) == nil && cache.bitmap(for: key(2)) != nil)
    #expect(MemoryCache(limit: -5).statistics.limit == 0)
  }

  @Test("has a limit that fits the machine")
  func limit() {
    #expect(MemoryCache.defaultLimit > 0 && MemoryCache.defaultLimit <= 768 << 20)
    #expect(MemoryCache.defaultLimit <= Int(ProcessInfo.processInfo.physicalMemory) / 8)
  }

  @Test("is used from many threads at once")
  func threads() async throws {
    let cache = MemoryCache(limit: 500)
    let bitmaps = try (0..<16).map { try solid(Color(white: Double($0) / 16)) }
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          var random = SeededGenerator(state: UInt64(thread))
          for _ in 0..<5000 {
            let index = Int.random(in: 0..<16, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0: cache.removeBitmap(for: key(index))
            case 1: cache.removeAll()
            case 2...4: cache.insert(bitmaps[index], for: key(index), cost: 64)
            default:
              if let found = cache.bitmap(for: key(index)) { #expect(found === bitmaps[index]) }
            }
          }
        }
      }
    }
    #expect(cache.statistics.byteCount <= 500)
  }
}
