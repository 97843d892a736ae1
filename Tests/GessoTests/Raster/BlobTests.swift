import Foundation
import Testing

@testable import Gesso

@Suite("A blob")
struct BlobTests {
  /// Over a megapixel, of which each row is unlike the others.
  private func large() throws -> Bitmap {
    try Bitmap(size: CGSize(width: 1200, height: 900), scale: 1, background: .white) { context, _ in
      for y in 0..<900 {
        context.setFillColor(Color(red: Double(y % 256) / 255, green: Double(y / 4) / 255, blue: 0.5))
        context.fill(CGRect(x: y % 300, y: y, width: 600, height: 1))
      }
    }
  }

  @Test("is the same by several threads, and so is its bitmap", arguments: [BlobLevel.fast, .small])
  func threads(_ level: BlobLevel) throws {
    let bitmap = try large(), blob = try bitmap.encoded(level: level)
    for count in [-1, 0, 2, 5, 1000] {
      #expect(try bitmap.encoded(level: level, maximumThreads: count) == blob)
      #expect(try Bitmap(decoding: blob, maximumThreads: count).hasSamePixels(as: bitmap))
    }
    var damaged = blob
    damaged[damaged.count - 1] ^= 1
    #expect(throws: BlobError.self) { try Bitmap(decoding: damaged, maximumThreads: 4) }
  }

  @Test("is written and read by more threads at a time than memory is kept for")
  func concurrently() async throws {
    let bitmaps = try (0..<12).map { try solid(Color(white: Double($0) / 12), width: 40 + $0, height: 30) }
    let wrong = Box(0)
    await withTaskGroup(of: Void.self) { group in
      for bitmap in bitmaps {
        group.addTask {
          let work = onThread {
            for _ in 0..<50 {
              let copy = try? Bitmap(decoding: bitmap.encoded(level: .fast))
              if copy?.hasSamePixels(as: bitmap) != true { wrong.increment() }
            }
          }
          _ = await work.result
        }
      }
    }
    #expect(wrong.value == 0)
  }
}
