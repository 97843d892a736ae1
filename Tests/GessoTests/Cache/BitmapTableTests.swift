import Foundation
import Testing

@testable import Gesso

@Suite("A table of bitmaps")
struct BitmapTableTests {
  private func stored(_ name: String, shade: Int = 0) throws -> BitmapTable.Stored {
    let bitmap = try solid(Color(white: Double(shade % 256) / 255))
    return BitmapTable.Stored(key: storeKey(name), bitmap: .pixels(bitmap), expires: .max, drawNanoseconds: 0)
  }

  private func found(_ table: BitmapTable, _ name: String) -> Bitmap? {
    guard case .found(.pixels(let bitmap)) = table.find(storeKey(name)) ?? table.look(storeKey(name)) else {
      return nil
    }
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
      BitmapTable.free(table.takeRetired())
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

  @Test("gives whole bitmaps of the right key to threads, while one puts, replaces and removes them")
  func concurrently() async throws {
    let table = BitmapTable(), isOver = Box(false), hits = Box(0)
    let readers = (0..<3).map { reader in
      onThread {
        var random = SeededGenerator(state: UInt64(reader))
        while !isOver.value {
          let number = Int.random(in: 0..<200, using: &random)
          guard let bitmap = found(table, "n\(number)") else { continue }
          // Its shade tells whose it is.
          let red = Int(pixel(bitmap, 1, 1) & 0xFF)
          #expect(red == number)
          hits.increment()
        }
      }
    }
    let writer = onThread {
      var random = SeededGenerator(state: 99)
      while hits.value < 20_000 {
        let number = Int.random(in: 0..<200, using: &random)
        if Int.random(in: 0..<3, using: &random) > 0 {
          _ = table.put(try stored("n\(number)", shade: number))
        } else {
          _ = table.remove(storeKey("n\(number)").hashValue64)
        }
        BitmapTable.free(table.takeRetired())
      }
    }
    try await writer.value
    isOver.update { $0 = true }
    for reader in readers { try await reader.value }
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
    BitmapTable.free(table.takeRetired())
    #expect(first == nil && second != nil)
    _ = table.remove(storeKey("a").hashValue64)
    BitmapTable.free(table.takeRetired())
    #expect(second == nil)
  }

  @Test("has places for many threads at a time, which are free again when those end; the rest are told to do without")
  func threads() async throws {
    let table = BitmapTable(), asked = Box(0), refused = Box(0), gate = Gate()
    _ = table.put(try stored("a"))
    let threads = (0..<200).map { _ in
      onThread {
        if table.find(storeKey("a")) == nil { refused.increment() }
        asked.increment()
        gate.wait()
      }
    }
    #expect(await eventually { asked.value == 200 })
    gate.open()
    for thread in threads { try await thread.value }
    #expect(refused.value >= 200 - 128 && refused.value < 200)
    // One after the other, many more than there are places.
    for _ in 0..<500 { try await onThread { #expect(table.find(storeKey("a")) != nil) }.value }
  }
}
