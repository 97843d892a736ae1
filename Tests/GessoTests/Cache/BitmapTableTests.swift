import Foundation
import Testing

@testable import Gesso

// One test at a time, as each thread of one may take a place that another one counts on.
@Suite("A table of bitmaps", .serialized)
struct BitmapTableTests {
  private func stored(_ name: String, shade: Int = 0) throws -> BitmapTable.Stored {
    let bitmap = try solid(Color(white: Double(shade % 256) / 255))
    return BitmapTable.Stored(key: storeKey(name), bitmap: .pixels(bitmap), expires: .max, drawNanoseconds: 0)
  }

  /// What a lookup finds, once this thread has a place: other tests have threads, too.
  private func look(_ table: BitmapTable, _ key: BitmapKey) -> BitmapTable.Lookup {
    for _ in 0..<20_000 {
      if let found = table.find(key) { return found }
      usleep(1000)
    }
    Issue.record("no place becomes free")
    return .missing
  }

  private func found(_ table: BitmapTable, _ name: String) -> Bitmap? {
    guard case .found(.pixels(let bitmap)) = look(table, storeKey(name)) else { return nil }
    return bitmap
  }

  @Test("finds what was put last, and not what was removed, as it grows and shrinks")
  func model() throws {
    let table = BitmapTable()
    var expected: [String: BitmapTable.Stored] = [:]
    var random = SeededGenerator(state: 7)
    // As many as there are names, then few, and so on: slots that are removed are used again, or cleared away.
    for step in 0..<60_000 {
      let name = "n\(Int.random(in: 0..<(step / 10_000 % 2 == 0 ? 3000 : 40), using: &random))"
      if Int.random(in: 0..<3, using: &random) > 0 {
        let new = try stored(name)
        #expect(table.put(new) === expected.updateValue(new, forKey: name))
      } else {
        #expect(table.remove(storeKey(name).hashValue64) === expected.removeValue(forKey: name))
      }
      BitmapTable.free(table.takeRetired(waits: true))
    }
    for number in 0..<3000 {
      let name = "n\(number)"
      guard case .pixels(let bitmap) = expected[name]?.bitmap else {
        #expect(found(table, name) == nil)
        continue
      }
      #expect(found(table, name) === bitmap)
    }
    #expect(Set(table.keys) == Set(expected.values.map(\.key)))
  }

  /// Of one key the same slot is used again and again; of more, others are.
  @Test(
    "gives whole bitmaps of the right key to threads, while others put, replace and remove them", arguments: [1, 40])
  func concurrently(_ count: Int) async throws {
    let table = BitmapTable(), lock = Lock(()), isOver = Box(false), hits = Box(0), wrong = Box(0)
    let blobs = try (0..<count).map { try solid(Color(white: Double($0 + 1) / 255)).encoded(level: .fast) }
    let keys = (0..<count).map { storeKey("n\($0)") }
    defer { isOver.update { $0 = true } }
    func untilOver(_ body: @escaping @Sendable (Int) -> Void) -> Task<Void, any Error> {
      onThread {
        var turn = 0
        while !isOver.value {
          body(turn % count)
          turn += 1
        }
      }
    }
    @Sendable func change(_ body: () -> BitmapTable.Stored?) {
      lock.lock()
      let old = body()
      let retired = table.takeRetired(waits: false)
      lock.unlock()
      BitmapTable.free(retired)
      withExtendedLifetime(old) {}
    }
    let readers = (0..<2).map { _ in
      untilOver { number in
        guard case .found(.pixels(let bitmap)) = table.find(keys[number]) else { return }
        // Its shade tells whose it is.
        if Int(pixel(bitmap, 1, 1) & 0xFF) != number + 1 { wrong.increment() }
        hits.increment()
      }
    }
    let remover = untilOver { number in
      change { table.remove(keys[number].hashValue64) }
      // The lock is not fair: without a pause nobody else would get it.
      usleep(20)
    }
    let writer = onThread {
      for turn in 0..<5000 {
        // Another one each time, that nobody else has.
        let number = turn % count, bitmap = try Bitmap(decoding: blobs[number])
        let new = BitmapTable.Stored(key: keys[number], bitmap: .pixels(bitmap), expires: .max, drawNanoseconds: 0)
        change { table.put(new) }
      }
    }
    try await writer.value
    isOver.update { $0 = true }
    for other in readers + [remover] { try await other.value }
    #expect(wrong.value == 0 && hits.value > 10)
  }

  @Test("has one bitmap for each hash, which only the key that it is of finds")
  func sameHash() throws {
    func key(_ name: String) -> BitmapKey {
      BitmapKey(
        identity: name, size: CGSize(width: 4, height: 4), pixels: nil, scale: 1, background: .clear,
        hash: KeyHash(low: 5, high: 6, identity: 7))
    }
    let table = BitmapTable(), bitmap = try solid(.red)
    func stored(_ name: String) -> BitmapTable.Stored {
      BitmapTable.Stored(key: key(name), bitmap: .pixels(bitmap), expires: .max, drawNanoseconds: 0)
    }
    #expect(table.put(stored("a")) == nil)
    guard case .missing = look(table, key("b")) else {
      Issue.record("another picture")
      return
    }
    #expect(table.put(stored("b"))?.key == key("a"))
    guard case .missing = look(table, key("a")), case .found = look(table, key("b")) else {
      Issue.record("not the newer one")
      return
    }
  }

  @Test("frees what is removed, and what is replaced")
  func freeing() throws {
    let table = BitmapTable()
    weak var first: BitmapTable.Stored?
    weak var second: BitmapTable.Stored?
    do {
      let (one, two) = (try stored("a"), try stored("a"))
      (first, second) = (one, two)
      _ = table.put(one)
      _ = table.put(two)
    }
    #expect(first != nil, "somebody may look at it still")
    BitmapTable.free(table.takeRetired(waits: true))
    #expect(first == nil && second != nil)
    _ = table.remove(storeKey("a").hashValue64)
    BitmapTable.free(table.takeRetired(waits: true))
    #expect(second == nil)
  }

  @Test("has places for many threads at a time, which are free again when those end; the rest are told to do without")
  func threads() async throws {
    BitmapTable.limitThreads(to: 64)
    defer { BitmapTable.limitThreads(to: nil) }
    let table = BitmapTable(), asked = Box(0), refused = Box(0), gate = Gate()
    let bitmap = try solid(.red), cache = MemoryCache(.init(limit: 1000, trimsUnderPressure: false))
    cache.insert(bitmap, for: storeKey("a"), cost: 10)
    _ = table.put(try stored("a"))
    let threads = (0..<100).map { _ in
      onThread {
        if table.find(storeKey("a")) == nil { refused.increment() }
        // A cache finds it all the same.
        let isFound = cache.bitmap(for: storeKey("a")) === bitmap
        asked.increment()
        gate.wait()
        #expect(isFound)
      }
    }
    #expect(await eventually { asked.value == 100 })
    gate.open()
    for thread in threads { try await thread.value }
    #expect(refused.value >= 100 - 64)
    BitmapTable.limitThreads(to: nil)
    // One after the other, more than there are places.
    for _ in 0..<1200 { try await onThread { _ = look(table, storeKey("a")) }.value }
  }
}
