import Foundation
import Testing

@testable import Gesso

@Suite("A memory cache")
struct MemoryCacheTests {
  private func key(_ index: Int) -> BitmapKey { request("\(index)").cacheKey }

  @Test("is never over its limit, and knows its bytes, whatever is put in and taken out")
  func bounds() throws {
    let bitmaps = try (0..<20).map { try solid(Color(white: Double($0) / 20)) }
    let cache = MemoryCache(limit: 1000)
    var costs: [Int: Int] = [:]
    var random = SeededGenerator(state: 3)
    for _ in 0..<20_000 {
      let index = Int.random(in: 0..<20, using: &random)
      switch Int.random(in: 0..<20, using: &random) {
      case 0: cache.removeBitmap(for: key(index))
      case 1..<9:
        let cost = Int.random(in: 0...1100, using: &random) / (index + 1)
        cache.insert(bitmaps[index], for: key(index), cost: cost)
        costs[index] = max(1, cost)
      default:
        if let found = cache.bitmap(for: key(index)), found !== bitmaps[index] { Issue.record("another's bitmap") }
      }
      let kept = (0..<20).filter { cache.bitmap(for: key($0)) != nil }
      let statistics = cache.statistics, bytes = kept.reduce(0) { $0 + costs[$1]! }
      // An expectation costs a hundred times as much as what it looks at.
      guard statistics.count != kept.count || statistics.byteCount != bytes || bytes > 1000 else { continue }
      Issue.record("\(statistics) of \(kept)")
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

  @Test("drops what was asked for longest ago: each hit counts")
  func recency() throws {
    let cache = MemoryCache(limit: 40), bitmap = try solid(.red)
    for number in 0..<4 { cache.insert(bitmap, for: key(number), cost: 10) }
    #expect(cache.bitmap(for: key(0)) != nil && cache.bitmap(for: key(2)) != nil)
    for number in 4..<6 { cache.insert(bitmap, for: key(number), cost: 10) }
    #expect((0..<6).map { cache.bitmap(for: key($0)) != nil } == [true, false, true, false, true, true])
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

  @Test("forgets what fulfils a condition, and nothing else")
  func conditions() throws {
    let cache = MemoryCache(limit: 1000)
    for index in 0..<20 { cache.insert(try solid(.red), for: key(index), cost: 10) }
    cache.removeBitmaps { $0.identity.hasPrefix("1") }
    for index in 0..<20 { #expect((cache.bitmap(for: key(index)) != nil) == !"\(index)".hasPrefix("1")) }
    #expect(cache.statistics.byteCount == 90)
  }

  @Test("keeps a bitmap of one colour in sixteen bytes, and gives the same pixels back")
  func solids() throws {
    let cache = MemoryCache(limit: 1000)
    for color in [Color(red: 0, green: 1, blue: 0, alpha: 0.5), .red, .clear] {
      let bitmap = try solid(color, width: 300, height: 200, scale: 3)
      cache.insert(bitmap, for: key(1), cost: bitmap.byteCount)
      #expect(cache.statistics.byteCount == 16)
      #expect(try #require(cache.bitmap(for: key(1))).hasSamePixels(as: bitmap))
    }
    let spotted = try Bitmap(size: CGSize(width: 300, height: 200), scale: 1, background: .red) { context, _ in
      context.fill(CGRect(x: 299, y: 199, width: 1, height: 1))
    }
    cache.insert(spotted, for: key(2), cost: spotted.byteCount)
    #expect(cache.bitmap(for: key(2)) == nil, "all of its bytes count, and are too many")
  }

  @Test("gives nothing back that is older than its lifetime")
  func lifetimes() async throws {
    let cache = MemoryCache(.init(limit: 1000, lifetime: .milliseconds(50)))
    let begin = MonotonicClock.now
    cache.insert(try solid(.red), for: key(1), cost: 10)
    #expect(await eventually { cache.bitmap(for: key(1)) == nil })
    #expect(MonotonicClock.now - begin >= 50_000_000, "and everything that is not")
    #expect(cache.statistics.count == 0, "and keeps it no longer")
    let other = MemoryCache(.init(limit: 1000, lifetime: .seconds(1000)))
    other.insert(try solid(.red), for: key(1), cost: 10)
    #expect(other.bitmap(for: key(1)) != nil)
  }

  @Test("drops all but what is on screen when memory is short")
  func trimming() throws {
    let cache = MemoryCache(limit: 1000)
    cache.viewport = Viewport(list: "a", rows: 3...5) { Int($0) }
    for index in 0..<20 { cache.insert(try solid(.red), for: key(index), cost: 10) }
    cache.trim()
    #expect((0..<20).filter { cache.bitmap(for: key($0)) != nil } == [3, 4, 5])
    cache.viewport = nil
    cache.trim()
    #expect(cache.statistics.count == 0)
  }

  @Test("never drops a row on screen, and of the others the farthest first")
  func viewports() throws {
    let cache = MemoryCache(limit: 100)
    for index in 0..<10 { cache.insert(try solid(.red), for: key(index), cost: 10) }
    cache.viewport = Viewport(list: "a", rows: 1...3) { Int($0) }
    cache.insert(try solid(.red), for: key(10), cost: 10)
    #expect((0...10).filter { cache.bitmap(for: key($0)) != nil } == Array(0...8) + [10], "9 was the farthest")
    cache.viewport = Viewport(list: "a", rows: 8...9) { _ in nil }
    cache.insert(try solid(.red), for: key(11), cost: 10)
    #expect(cache.bitmap(for: key(0)) == nil, "the same list asks for no rows again")
    cache.viewport = Viewport(list: "b", rows: 0...100) { Int($0) }
    cache.insert(try solid(.red), for: key(12), cost: 10)
    #expect(cache.bitmap(for: key(12)) == nil && cache.statistics.count == 10, "all is on screen, and stays")
  }

  @Test("goes on where a list takes the place of another one whose rows are just being asked for")
  func listsAtOnce() throws {
    let cache = MemoryCache(limit: 100)
    for index in 0..<10 { cache.insert(try solid(.red), for: key(index), cost: 10) }
    // As another thread may, at any moment.
    cache.viewport = Viewport(list: "a", rows: 0...3) { [weak cache] name in
      cache?.viewport = nil
      return Int(name)
    }
    for index in 10..<30 {
      cache.insert(try solid(.red), for: key(index), cost: 10)
      #expect(cache.bitmap(for: key(index)) != nil)
    }
  }

  @Test("keeps what took long to draw, if it is to save that")
  func drawTimes() throws {
    let cache = MemoryCache(.init(limit: 100, savesDrawTime: true))
    let slow = BitmapCost(byteCount: 10, drawNanoseconds: 5_000_000)
    cache.insert(try solid(.red), for: key(0), cost: slow)
    for index in 1..<50 {
      cache.insert(try solid(.red), for: key(index), cost: BitmapCost(byteCount: 10, drawNanoseconds: 10_000))
    }
    #expect(cache.bitmap(for: key(0)) != nil, "fifty others were cheap")
  }

  @Test("drives nothing out for what cannot fit beside what is on screen")
  func fullScreens() throws {
    let cache = MemoryCache(limit: 10)
    cache.viewport = Viewport(list: "a", rows: 0...5) { Int($0) }
    for index in 0..<10 { cache.insert(try solid(.red), for: key(index), cost: 1) }
    cache.insert(try solid(.red), for: key(20), cost: 5)
    #expect((0..<10).allSatisfy { cache.bitmap(for: key($0)) != nil } && cache.bitmap(for: key(20)) == nil)
  }

  @Test("may be used by what tells it the rows, and takes none below 0 or beyond all", .timeLimit(.minutes(10)))
  func reentrantRows() throws {
    let cache = MemoryCache(limit: 100)
    for index in 0..<5 { cache.insert(try solid(.red), for: key(index), cost: 10) }
    cache.viewport = Viewport(list: "a", rows: 0...5) { [weak cache] name in
      cache?.statistics.count == 0 ? nil : Int(name)
    }
    cache.insert(try solid(.red), for: key(7), cost: 10)
    cache.viewport = Viewport(list: "b", rows: -3...Int.max) { name in name == "1" ? -1 : .max }
    cache.trim()
    #expect(cache.statistics.count == 0)
  }

  @Test(
    "keeps for ever what has a lifetime longer than that",
    arguments: [Duration.seconds(10_000_000_000), .seconds(Int64.max)])
  func longLifetimes(_ lifetime: Duration) throws {
    let cache = MemoryCache(.init(limit: 1000, lifetime: lifetime))
    cache.insert(try solid(.red), for: key(1), cost: 10)
    #expect(cache.bitmap(for: key(1)) != nil)
  }

  @Test("drops what is not on screen when the kernel says that memory is short")
  func pressure() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("memory.events.\(UUID().uuidString)")
    try Data("high 0\n".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let pressure = MemoryPressure(
      pressureFiles: ["/nowhere/memory.pressure"], eventFiles: [file.path, "/nowhere/events"])
    #expect(pressure.isAvailable)
    let calls = Box(0)
    var first: MemoryPressure.Observation? = pressure.observe { calls.increment() }
    try Data("max 5\nhigh 0\n".utf8).write(to: file, options: [])
    usleep(20_000)
    #expect(calls.value == 0, "its limit is reached whenever files are read")
    try Data("max 5\nhigh 1\n".utf8).write(to: file, options: [])
    #expect(await eventually { calls.value == 1 })
    withExtendedLifetime(first) { first = nil }
    let second = pressure.observe { calls.update { $0 += 10 } }
    try Data("max 5\nhigh 1\noom 1\n".utf8).write(to: file, options: [])
    #expect(await eventually { calls.value == 11 }, "who is gone is not called")
    withExtendedLifetime(second) { pressure.end() }
    #expect(!MemoryPressure(pressureFiles: [], eventFiles: ["/nowhere"]).isAvailable)
    let kernels = "/proc/pressure/memory"
    if access(kernels, R_OK | W_OK) == 0 {
      #expect(MemoryPressure(pressureFiles: [kernels], eventFiles: []).isAvailable, "the trigger is one that it takes")
    }
  }
}
