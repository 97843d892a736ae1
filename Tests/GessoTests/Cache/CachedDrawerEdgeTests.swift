import Dispatch
import Foundation
import Testing

@testable import Gesso

@Suite("A cached drawer: now")
struct SynchronousTests {
  @Test("draws on the calling thread, not behind others")
  func inline() throws {
    let drawer = drawer()
    let gate = Gate()
    drawer.draw(request("blocks", gate: gate)) { _ in }
    let thread = Box<ObjectIdentifier?>(nil)
    let urgent = DrawRequest(key: "now", size: CGSize(width: 1, height: 1)) { _, _ in
      thread.update { $0 = ObjectIdentifier(Thread.current) }
    }
    _ = try drawer.bitmapNow(for: urgent)
    #expect(thread.value == ObjectIdentifier(Thread.current))
    gate.open()
  }

  @Test("takes over a draw that waits, and answers its waiters")
  func takesOver() async throws {
    let drawer = drawer()
    let gate = Gate()
    let draws = Box(0)
    let got = Box<Bitmap?>(nil)
    drawer.draw(request("blocks", gate: gate)) { _ in }
    let shared = request("shared", draws: draws)
    drawer.draw(shared) { outcome in got.update { $0 = outcome.bitmap } }
    let bitmap = try drawer.bitmapNow(for: shared)
    #expect(got.value === bitmap && draws.value == 1)
    gate.open()
    #expect(await eventually { !drawer.isBusy })
    #expect(draws.value == 1)
  }

  @Test("waits for a draw that has begun")
  func waits() async throws {
    let drawer = drawer()
    let gate = Gate()
    let draws = Box(0)
    let slow = request("slow", draws: draws, gate: gate)
    drawer.draw(slow) { _ in }
    #expect(await eventually { draws.value == 1 })
    let now = onThread { try drawer.bitmapNow(for: slow) }
    #expect(await eventually { drawer.statistics.coalesced == 1 })
    gate.open()
    let bitmap = try await now.value
    #expect(bitmap === drawer.cachedBitmap(for: slow) && draws.value == 1)
  }

  @Test("waits no longer than for the draw, though a block has asked for it that goes on")
  func waitsForNested() async throws {
    let drawer = drawer(workers: 1)
    let (innerGate, outerGate, draws) = (Gate(), Gate(), Box(0))
    let inner = request("inner", draws: draws, gate: innerGate)
    let outer = DrawRequest(key: "outer", size: CGSize(width: 4, height: 4), scale: 1) { context, rect in
      context.draw(try drawer.bitmapNow(for: inner), in: rect)
      outerGate.wait()
    }
    drawer.draw(outer) { _ in }
    #expect(await eventually { draws.value == 1 })
    let (hasNow, hasAwaited) = (Box(false), Box(false))
    let now = onThread {
      _ = try drawer.bitmapNow(for: inner)
      hasNow.update { $0 = true }
    }
    let awaited = Task {
      _ = try await drawer.bitmap(for: inner)
      hasAwaited.update { $0 = true }
    }
    #expect(await eventually { drawer.statistics.coalesced == 2 })
    innerGate.open()
    #expect(await eventually { hasNow.value && hasAwaited.value })
    outerGate.open()
    try await now.value
    try await awaited.value
  }

  @Test("lets a draw block ask for another key, but not for its own")
  func nested() async throws {
    let drawer = drawer()
    let inner = request("inner", color: .blue)
    let outer = DrawRequest(key: "outer", size: CGSize(width: 4, height: 4), scale: 1) { context, rect in
      context.draw(try drawer.bitmapNow(for: inner), in: rect)
    }
    #expect(pixel(try await drawer.bitmap(for: outer), 2, 2) == 0xFF00_00FF)
    let own = Box<DrawRequest?>(nil)
    let circular = DrawRequest(key: "circular", size: CGSize(width: 1, height: 1)) { _, _ in
      _ = try drawer.bitmapNow(for: own.value!)
    }
    own.update { $0 = circular }
    await #expect {
      try await drawer.bitmap(for: circular)
    } throws: {
      guard case DrawError.drawBlock(let error) = $0, case DrawError.recursive("circular") = error else { return false }
      return true
    }
  }

  @Test("does not deadlock when two draws ask for each other")
  func crosswise() async throws {
    let drawer = drawer(workers: 2)
    let requests = Box<[String: DrawRequest]>([:])
    let begun = Box<Set<String>>([]), draws = Box(0)
    for (key, other) in [("a", "b"), ("b", "a")] {
      let request = DrawRequest(key: key, size: CGSize(width: 1, height: 1)) { _, _ in
        draws.increment()
        begun.update { $0.insert(key) }
        // Both are being drawn before either asks.
        while begun.value.count < 2 { usleep(100) }
        let wanted = requests.value[other]!
        _ = try? drawer.bitmapNow(for: wanted)
      }
      requests.update { $0[key] = request }
    }
    async let a = drawer.bitmap(for: requests.value["a"]!)
    async let b = drawer.bitmap(for: requests.value["b"]!)
    _ = try await (a, b)
    #expect(draws.value > 2, "one at least draws the other one beside it")
  }
}

@Suite("A cached drawer: failing")
struct FailingTests {
  struct Mishap: Error {}

  @Test("ends with the error that the draw block threw, and tries again the next time")
  func throwing() async throws {
    let drawer = drawer()
    let fails = Box(true)
    let request = DrawRequest(key: "fails", size: CGSize(width: 1, height: 1)) { _, _ in
      if fails.value { throw Mishap() }
    }
    for attempt in 0..<2 {
      await #expect("\(attempt)") {
        try await drawer.bitmap(for: request)
      } throws: {
        if case DrawError.drawBlock(let error) = $0 { error is Mishap } else { false }
      }
    }
    #expect(drawer.statistics.failures == 2)
    fails.update { $0 = false }
    _ = try await drawer.bitmap(for: request)
  }

  @Test(
    "ends with an error for a size that cannot be, never inline",
    arguments: [CGSize.zero, CGSize(width: CGFloat.nan, height: 1), CGSize(width: 1e7, height: 1)])
  func sizes(_ size: CGSize) async {
    let queue = DrainedCompletionQueue()
    let drawer = drawer(completions: queue)
    let outcomes = Box<[DrawOutcome]>([])
    let wrong = request("wrong", size: size)
    drawer.draw(wrong) { outcome in outcomes.update { $0.append(outcome) } }
    #expect(outcomes.value.isEmpty)
    queue.drain()
    guard case .failed(.raster)? = outcomes.value.first else {
      Issue.record("\(outcomes.value)")
      return
    }
    #expect(outcomes.value.count == 1)
    #expect(throws: DrawError.self) { try drawer.bitmapNow(for: wrong) }
    await #expect(throws: DrawError.self) { try await drawer.bitmap(for: wrong) }
  }

  @Test("ends requests whose numbers are not numbers, and forgets them")
  func notANumber() async {
    let drawer = drawer()
    let requests = [
      request("nan", color: Color(white: 0, alpha: .nan)), request("nan", color: Color(red: .nan, green: 0, blue: 0)),
      DrawRequest(key: "nan", size: CGSize(width: 1, height: 1), scale: .nan) { _, _ in },
    ]
    for request in requests {
      #expect(request.cacheKey == request.cacheKey)
      await #expect(throws: DrawError.self) { try await drawer.bitmap(for: request) }
      #expect(throws: DrawError.self) { try drawer.bitmapNow(for: request) }
    }
    #expect(!drawer.isBusy)
  }

  @Test("lets a completion use the drawer, and a draw block take its caller's lock")
  func reentrance() async {
    let drawer = drawer()
    let lock = Lock(0)
    let done = Box(false)
    let first = DrawRequest(key: "first", size: CGSize(width: 1, height: 1)) { _, _ in lock.withLock { $0 += 1 } }
    lock.withLock { _ in
      _ = drawer.draw(first) { _ in
        drawer.draw(request("second")) { _ in
          drawer.removeAll()
          done.update { $0 = true }
        }
      }
    }
    #expect(await eventually { done.value })
  }
}

@Suite("A cached drawer under load")
struct DrawerLoadTests {
  @Test("ends every one of many requests exactly once, with the right pixels, from several threads")
  func manyThreads() async throws {
    let drawer = drawer(workers: 3, cache: MemoryCache(limit: 40 * 4 * 4 * 4))
    let colors = (0..<60).map { Color(red: Double($0) / 60, green: 0.5, blue: 1 - Double($0) / 60) }
    let expected = try colors.map { pixel(try solid($0), 0, 0) }
    let outcomes = Box(0)
    let wrong = Box(0)
    let asked = 4 * 1500
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          var random = SeededGenerator(state: UInt64(thread))
          for _ in 0..<1500 {
            let index = Int.random(in: 0..<60, using: &random)
            let request = request(
              "c\(index)", color: colors[index], priority: DrawPriority.allCases.randomElement(using: &random)!)
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
              if let bitmap = try? drawer.bitmapNow(for: request), pixel(bitmap, 2, 2) != expected[index] {
                wrong.increment()
              }
              outcomes.increment()
            case 1: drawer.removeBitmap(for: request); fallthrough
            default:
              let task = drawer.draw(request) { outcome in
                if let bitmap = outcome.bitmap, pixel(bitmap, 2, 2) != expected[index] { wrong.increment() }
                outcomes.increment()
              }
              if Int.random(in: 0..<4, using: &random) == 0 { task.cancel() }
            }
          }
        }
      }
    }
    #expect(await eventually { outcomes.value == asked })
    #expect(await eventually { !drawer.isBusy })
    #expect(outcomes.value == asked && wrong.value == 0)
  }
}
