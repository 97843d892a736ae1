import Foundation
import Gesso

/// Hits of a memory cache in a trace of requests, as scripts/benches/cache.py writes them: a line for each, with key, bytes,
/// row, list, and the first and last row on screen.
struct TraceBench {
  private struct Request {
    let key: BitmapKey
    let bytes: Int
    let list: String
    let screen: ClosedRange<Int>?
  }

  private let requests: [Request]
  private let rows: [String: Int]
  private let capacity: Int
  private let isHinted: Bool

  init(file: String, capacity: Int, isHinted: Bool) throws {
    var keys: [Substring: BitmapKey] = [:]
    var rows: [String: Int] = [:]
    requests = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map { line in
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
      guard fields.count == 6, let bytes = Int(fields[1]) else { fail("not a request: \(line)") }
      let key = keys[fields[0]] ?? Self.key(String(fields[0]))
      keys[fields[0]] = key
      if let row = Int(fields[2]) { rows[key.identity] = row }
      var screen: ClosedRange<Int>?
      if !fields[3].isEmpty, let top = Int(fields[4]), let bottom = Int(fields[5]), top <= bottom {
        screen = top...bottom
      }
      return Request(key: key, bytes: bytes, list: String(fields[3]), screen: screen)
    }
    self.rows = rows
    self.capacity = capacity
    self.isHinted = isHinted
  }

  private static func key(_ name: String) -> BitmapKey {
    DrawRequest(key: name, size: CGSize(width: 1, height: 1), scale: 1) { _, _ in }.cacheKey
  }

  func run() throws {
    let cache = MemoryCache(limit: capacity), rows = rows
    let bitmap = try Bitmap(size: CGSize(width: 1, height: 1), scale: 1) { _, _ in }
    var hits = 0
    for request in requests {
      if isHinted, let screen = request.screen {
        cache.viewport = Viewport(list: request.list, rows: screen) { rows[$0] }
      }
      if cache.bitmap(for: request.key) != nil {
        hits += 1
      } else {
        cache.insert(bitmap, for: request.key, cost: request.bytes)
      }
    }
    print(hits, requests.count)
  }
}
