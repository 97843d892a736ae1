import Foundation
import Gesso
import Synchronization

/// What a drawer costs apart from the drawing: prints lines `NAME OURS PEER THEIRS`, by turns with the peers.
struct DrawerBench {
  private let isQuick: Bool
  private let requests: [DrawRequest]

  init(isQuick: Bool) {
    self.isQuick = isQuick
    requests = (0..<1000).map { Self.request("badge.\($0)") }
  }

  private static func request(_ key: String) -> DrawRequest {
    DrawRequest(key: key, size: CGSize(width: 8, height: 8), scale: 1) { _, _ in }
  }

  /// Those parts whose names begin so.
  func run(only prefix: String) throws {
    let parts: [(String, () throws -> Void)] = [
      ("hit", hits), ("miss", missOverhead), ("coalesce", coalescing), ("cancel", cancelling), ("growth", growth),
    ]
    for (name, measure) in parts where name.hasPrefix(prefix) { try measure() }
  }

  private func report(_ name: String, _ ours: Double, _ peer: String = "-", _ theirs: Double = 0) {
    print(name, ours, peer, theirs)
  }

  // MARK: Hits

  private func hits() throws {
    let drawer = CachedDrawer(.init(workers: 1, completions: ImmediateCompletionQueue()))
    let bitmaps = try requests.map { try drawer.bitmapNow(for: $0) }
    // Pointers: an array's own count of uses is what two threads would meet at.
    let requests = Self.kept(self.requests)
    let foundation = NSCache<NSString, Bitmap>(), names = requests.map { $0.key as NSString }
    let dictionary = SynchronizedDictionary()
    for (request, bitmap) in zip(requests, bitmaps) {
      foundation.setObject(bitmap, forKey: request.key as NSString)
      dictionary.insert(bitmap, for: CompositeKey(request))
    }
    let composites = Self.kept(requests.map { CompositeKey($0) })
    var found = 0
    let times = Timing.byTurns(
      [
        { found &+= drawer.cachedBitmap(for: requests.elements[$0])!.width },
        { found &+= foundation.object(forKey: names[$0])!.width },
        { found &+= dictionary.find(composites.elements[$0])!.width },
      ], count: requests.count, repeats: isQuick ? 20 : 100)
    guard found > 0 else { fail("nothing was found") }
    report("hit-p50", times[0], "nscache", times[1])
    report("hit-p50", times[0], "mutex-dictionary", times[2])

    // As two lists would, each thread asks for its own bitmaps; and then for the same, whose counts of uses they share.
    let others = (0..<2).map { _ in Self.kept(requests.map { Self.request($0.key) }) }
    for request in requests { _ = try drawer.bitmapNow(for: Self.request("other." + request.key)) }
    let own = [others[0], Self.kept(requests.map { Self.request("other." + $0.key) })]
    let ownKeys = own.map { Self.kept($0.map { CompositeKey($0) }) }
    for (key, request) in zip(ownKeys[1], own[1]) { dictionary.insert(drawer.cachedBitmap(for: request)!, for: key) }
    for (name, lists, keys) in [
      ("hit-two-threads", own, ownKeys), ("hit-two-threads-same", others, [composites, composites]),
    ] {
      let (first, second, firstKeys, secondKeys) = (lists[0], lists[1], keys[0], keys[1])
      let ours = scaling { thread, place in
        let requests = thread == 0 ? first : second
        return drawer.cachedBitmap(for: requests.elements[place])!.width
      }
      let peer = scaling { thread, place in
        dictionary.find((thread == 0 ? firstKeys : secondKeys).elements[place])!.width
      }
      report(name, ours, "mutex-dictionary", peer)
    }
  }

  /// Throughput of two threads to that of one: of the same body, whose places are any below the number of requests.
  private func scaling(_ body: @escaping @Sendable (Int, Int) -> Int) -> Double {
    Timing.median(
      (0..<(isQuick ? 5 : 21)).map { _ in
        let alone = Timing.throughput(threads: 1, places: requests.count, body)
        return Timing.throughput(threads: 2, places: requests.count, body) / alone
      })
  }

  private static func kept<Element: Sendable>(_ elements: [Element]) -> Kept<Element> { Kept(elements) }

  // MARK: Misses

  /// From the request to the completion on a worker, without the drawing, which is measured by itself; and what of it is
  /// spent on the calling thread.
  private func missOverhead() throws {
    let drawer = CachedDrawer(.init(workers: 1, completions: ImmediateCompletionQueue()))
    let size = CGSize(width: 8, height: 8), count = isQuick ? 2000 : 10_000
    var (whole, submits, drawing): ([Double], [Double], [Double]) = ([], [], [])
    let done = DispatchSemaphore(value: 0)
    for number in 0..<count {
      let request = DrawRequest(key: "miss.\(number)", size: size, scale: 1) { _, _ in }
      let begin = DispatchTime.now().uptimeNanoseconds
      drawer.draw(request) { _ in done.signal() }
      let submitted = DispatchTime.now().uptimeNanoseconds
      done.wait()
      whole.append(Double(DispatchTime.now().uptimeNanoseconds - begin) / 1000)
      submits.append(Double(submitted - begin) / 1000)
      let before = DispatchTime.now().uptimeNanoseconds
      _ = try request.makeBitmap()
      drawing.append(Double(DispatchTime.now().uptimeNanoseconds - before) / 1000)
    }
    report("round-trip-p50", Timing.median(whole) - Timing.median(drawing))
    report("submit-asleep-p50", Timing.median(submits))

    // Many at a time: the worker is awake, and what each takes is what it costs.
    var (each, awake): ([Double], [Double]) = ([], [])
    for round in 0..<(isQuick ? 20 : 100) {
      let batch = (0..<200).map { DrawRequest(key: "batch.\(round).\($0)", size: size, scale: 1) { _, _ in } }
      let left = Atomic(batch.count)
      let begin = DispatchTime.now().uptimeNanoseconds
      for request in batch {
        drawer.draw(request) { _ in
          if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.signal() }
        }
      }
      let submitted = DispatchTime.now().uptimeNanoseconds
      done.wait()
      each.append(Double(DispatchTime.now().uptimeNanoseconds - begin) / 1000 / Double(batch.count))
      awake.append(Double(submitted - begin) / 1000 / Double(batch.count))
    }
    report("miss-overhead-p50", Timing.median(each) - Timing.median(drawing))
    report("submit-p50", Timing.median(awake))
  }

  private func coalescing() throws {
    let drawer = CachedDrawer(.init(workers: 2, completions: ImmediateCompletionQueue()))
    let ended = DispatchGroup()
    let gate = DispatchSemaphore(value: 0)
    let request = DrawRequest(key: "one", size: CGSize(width: 8, height: 8), scale: 1) { _, _ in gate.wait() }
    for _ in 0..<1000 {
      ended.enter()
      drawer.draw(request) { _ in ended.leave() }
    }
    for _ in 0..<1000 { gate.signal() }
    ended.wait()
    report("coalesce-1000-draws", Double(drawer.statistics.draws))
  }

  private func cancelling() throws {
    var times: [Double] = []
    for _ in 0..<(isQuick ? 3 : 7) {
      let drawer = CachedDrawer(.init(workers: 1, completions: DrainedCompletionQueue()))
      let (began, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      drawer.draw(
        DrawRequest(key: "blocks", size: CGSize(width: 8, height: 8), scale: 1) { _, _ in
          began.signal()
          gate.wait()
        }
      ) { _ in }
      began.wait()
      let tasks = (0..<100_000).map { number in
        drawer.draw(DrawRequest(key: "queued.\(number)", size: CGSize(width: 8, height: 8), scale: 1) { _, _ in }) {
          _ in
        }
      }
      let begin = DispatchTime.now().uptimeNanoseconds
      drawer.cancelAll()
      times.append(Double(DispatchTime.now().uptimeNanoseconds - begin) / 1e6)
      guard tasks.allSatisfy(\.isFinished) else { fail("not all were cancelled") }
      gate.signal()
    }
    report("cancel-100000", Timing.median(times))
  }

  // MARK: Growth

  /// Hits of a cache with a million entries, to those of one with a thousand.
  private func growth() {
    guard let bitmap = try? Bitmap(size: CGSize(width: 8, height: 8), scale: 1, draw: { _, _ in }) else {
      fail("no bitmap")
    }
    func timeOfHits(_ count: Int) -> Double {
      let cache = MemoryCache(limit: count)
      let keys = (0..<count).map { Self.request("grown.\($0)").cacheKey }
      for key in keys { cache.insert(bitmap, for: key, cost: 1) }
      var found = 0
      let places = (0..<1000).map { $0 * 7919 % count }
      let times = Timing.byTurns(
        [{ found &+= cache.bitmap(for: keys[places[$0]]) == nil ? 0 : 1 }], count: 1000, repeats: isQuick ? 20 : 100)
      guard found > 0 else { fail("nothing was found") }
      return times[0]
    }
    report("growth-1e3-1e6", timeOfHits(1_000_000) / timeOfHits(1000))
  }
}

/// Elements that are never freed.
private struct Kept<Element: Sendable>: Sendable, Sequence {
  // Proof of safety: nobody writes to them.
  nonisolated(unsafe) let elements: UnsafeBufferPointer<Element>

  init(_ array: [Element]) {
    let copy = UnsafeMutableBufferPointer<Element>.allocate(capacity: array.count)
    _ = copy.initialize(from: array)
    elements = UnsafeBufferPointer(copy)
  }

  var count: Int { elements.count }
  func makeIterator() -> UnsafeBufferPointer<Element>.Iterator { elements.makeIterator() }
}

/// A key as one would write it without ours: it is hashed at each lookup.
private struct CompositeKey: Hashable {
  let name: String
  let width: Double
  let height: Double
  let scale: Double

  init(_ request: DrawRequest) {
    name = request.key
    width = Double(request.size.width)
    height = Double(request.size.height)
    scale = Double(request.scale)
  }
}

/// Sixteen dictionaries, each behind a mutex.
private final class SynchronizedDictionary: Sendable {
  private final class Part: Sendable { let entries = Mutex<[CompositeKey: Bitmap]>([:]) }
  private let parts = (0..<16).map { _ in Part() }

  private func part(_ key: CompositeKey) -> Part { parts[key.hashValue & 15] }
  func insert(_ bitmap: Bitmap, for key: CompositeKey) { part(key).entries.withLock { $0[key] = bitmap } }
  func find(_ key: CompositeKey) -> Bitmap? { part(key).entries.withLock { $0[key] } }
}

enum Timing {
  static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  /// Nanoseconds of one call of each body: medians of passes over all places, by turns.
  static func byTurns(_ bodies: [(Int) -> Void], count: Int, repeats: Int) -> [Double] {
    var samples = [[Double]](repeating: [], count: bodies.count)
    for _ in 0..<repeats {
      for (index, body) in bodies.enumerated() {
        for first in stride(from: 0, to: count, by: 50) {
          let begin = DispatchTime.now().uptimeNanoseconds
          for place in first..<min(count, first + 50) { body(place) }
          samples[index].append(Double(DispatchTime.now().uptimeNanoseconds - begin) / Double(min(50, count - first)))
        }
      }
    }
    return samples.map { median($0) }
  }

  /// Calls a second of so many threads together.
  static func throughput(threads: Int, places: Int, _ body: @escaping @Sendable (Int, Int) -> Int) -> Double {
    let calls = 200_000
    let (ready, done) = (DispatchGroup(), DispatchGroup())
    let go = Atomic(false)
    let sum = Atomic(0)
    for thread in 0..<threads {
      ready.enter()
      done.enter()
      Thread.detachNewThread {
        ready.leave()
        while !go.load(ordering: .acquiring) {}
        var own = 0
        var place = thread * 499 % places
        for _ in 0..<calls {
          own &+= body(thread, place)
          place = place + 7 < places ? place + 7 : place + 7 - places
        }
        sum.add(own & 1, ordering: .relaxed)
        done.leave()
      }
    }
    ready.wait()
    let begin = DispatchTime.now().uptimeNanoseconds
    go.store(true, ordering: .releasing)
    done.wait()
    return Double(calls * threads) / Double(DispatchTime.now().uptimeNanoseconds - begin)
  }
}
