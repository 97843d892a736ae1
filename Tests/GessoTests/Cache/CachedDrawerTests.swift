import Dispatch
import Foundation
import Testing

@testable import Gesso

/// A request that counts its draws, and may wait at a gate while it draws.
func request(
  _ key: String, size: CGSize = CGSize(width: 4, height: 4), color: Color = .red, priority: DrawPriority = .normal,
  draws: Box<Int> = Box(0), gate: Gate? = nil
) -> DrawRequest {
  DrawRequest(key: key, size: size, scale: 1, background: color, priority: priority) { _, _ in
    draws.increment()
    gate?.wait()
  }
}

/// A drawer with one worker, whose completions come on the worker.
func drawer(
  workers: Int = 1, cache: any BitmapCache = MemoryCache(),
  completions: any CompletionQueue = ImmediateCompletionQueue()
) -> CachedDrawer {
  CachedDrawer(.init(cache: cache, workers: workers, completions: completions))
}

@Suite("A cached drawer: drawing and hitting")
struct DrawingTests {
  @Test("draws a key once, and answers from memory afterwards")
  func once() async throws {
    let drawer = drawer()
    let draws = Box(0)
    let request = request("once", draws: draws)
    #expect(drawer.cachedBitmap(for: request) == nil)
    let first = try await drawer.bitmap(for: request)
    let second = try await drawer.bitmap(for: request)
    #expect(first === second && drawer.cachedBitmap(for: request) === first && draws.value == 1)
    #expect(try drawer.bitmapNow(for: request) === first)
    #expect(drawer.statistics.memoryHits == 2 && drawer.statistics.draws == 1)
  }

  @Test("answers a hit before the call returns, on the calling thread")
  func hits() async throws {
    let drawer = drawer(completions: DispatchQueue(label: "elsewhere"))
    let request = request("hit")
    let bitmap = try await drawer.bitmap(for: request)
    let answered = Box<Bitmap?>(nil)
    let task = drawer.draw(request) { outcome in
      if case .memoryHit(let bitmap) = outcome { answered.update { $0 = bitmap } }
    }
    #expect(answered.value === bitmap && task.isFinished)
  }

  @Test("takes all that changes pixels for another bitmap, and nothing else")
  func keys() async throws {
    let drawer = drawer()
    let draws = Box(0)
    func make(_ key: String, _ width: CGFloat, _ scale: CGFloat, _ color: Color) -> DrawRequest {
      DrawRequest(key: key, size: CGSize(width: width, height: 4), scale: scale, background: color) { _, _ in
        draws.increment()
      }
    }
    let variants = [
      make("a", 4, 1, .red), make("b", 4, 1, .red), make("a", 5, 1, .red), make("a", 4, 2, .red),
      make("a", 2, 2, .red), make("a", 4, 1, .blue), make("a", 4, 1, Color.red.withAlpha(0.5)),
      make("a", 4, 1, .clear), make("", 4, 1, .red), make("a\u{0}", 4, 1, .red),
      // As many pixels as another one, but the draw block sees another size.
      make("a", 3.5, 1, .red),
    ]
    #expect(Set(variants.map(\.cacheKey)).count == variants.count)
    for _ in 0..<2 {
      for request in variants { _ = try await drawer.bitmap(for: request) }
    }
    #expect(draws.value == variants.count)
    #expect(make("a", 4, 1, .red).cacheKey == make("a", 4, 1, .red).cacheKey)
  }

  @Test("makes opaque bitmaps of opaque backgrounds")
  func opacity() async throws {
    let drawer = drawer()
    #expect(try await drawer.bitmap(for: request("a", color: .white)).isOpaque)
    #expect(try await !drawer.bitmap(for: request("a", color: .clear)).isOpaque)
  }

  @Test("takes the classic five arguments")
  func classic() async throws {
    let drawer = drawer()
    let outcome: DrawOutcome = await callback { finish in
      drawer.drawAsync(
        cacheKey: "classic", size: CGSize(width: 3, height: 3), backgroundColor: .white,
        drawBlock: { context, rect in context.fill(rect) }, completion: finish)
    }
    #expect(pixel(try outcome.get(), 1, 1) == 0xFF00_0000)
  }

  @Test("forgets one bitmap, or all")
  func forgetting() async throws {
    let drawer = drawer()
    let draws = Box(0)
    let requests = ["a", "b"].map { request($0, draws: draws) }
    for request in requests { _ = try await drawer.bitmap(for: request) }
    drawer.removeBitmap(for: requests[0])
    #expect(drawer.cachedBitmap(for: requests[0]) == nil && drawer.cachedBitmap(for: requests[1]) != nil)
    drawer.removeAll()
    #expect(drawer.cachedBitmap(for: requests[1]) == nil)
    _ = try await drawer.bitmap(for: requests[0])
    #expect(draws.value == 3)
  }

  @Test("works with a cache that keeps nothing")
  func noCache() async throws {
    struct Sieve: BitmapCache {
      func bitmap(for key: BitmapKey) -> Bitmap? { nil }
      func insert(_ bitmap: Bitmap, for key: BitmapKey, cost: Int) {}
      func removeBitmap(for key: BitmapKey) {}
      func removeAll() {}
    }
    let draws = Box(0)
    let drawer = drawer(cache: Sieve())
    for _ in 0..<3 { _ = try await drawer.bitmap(for: request("a", draws: draws)) }
    #expect(draws.value == 3)
  }

  @Test("calls completions on the main queue unless told otherwise")
  func mainQueue() async throws {
    let drawer = CachedDrawer(.init(workers: 1))
    let onMain = await withCheckedContinuation { continuation in
      drawer.draw(request("main")) { _ in
        // Traps on any other queue.
        dispatchPrecondition(condition: .onQueue(.main))
        continuation.resume(returning: true)
      }
    }
    #expect(onMain)
  }
}

@Suite("A cached drawer: coalescing")
struct CoalescingTests {
  @Test("draws once for a thousand requests of one key")
  func thousand() async {
    let drawer = drawer(workers: 2)
    let draws = Box(0)
    let outcomes = Box<[DrawOutcome]>([])
    let gate = Gate()
    let request = request("same", draws: draws, gate: gate)
    for _ in 0..<1000 { drawer.draw(request) { outcome in outcomes.update { $0.append(outcome) } } }
    gate.open()
    #expect(await eventually { outcomes.value.count == 1000 })
    #expect(draws.value == 1 && drawer.statistics.draws == 1 && drawer.statistics.coalesced == 999)
    #expect(Set(outcomes.value.compactMap { $0.bitmap.map(ObjectIdentifier.init) }).count == 1)
  }

  @Test("does the most urgent first, and raises a draw that somebody needs sooner")
  func priorities() async {
    let drawer = drawer()
    let gate = Gate()
    let order = Box<[String]>([])
    func named(_ key: String, _ priority: DrawPriority) -> DrawRequest {
      DrawRequest(key: key, size: CGSize(width: 1, height: 1), priority: priority) { _, _ in
        order.update { $0.append(key) }
      }
    }
    drawer.draw(request("blocks", gate: gate)) { _ in }
    #expect(await eventually { drawer.statistics.draws == 1 })
    for (key, priority) in [("low", .low), ("normal", .normal), ("raised", .veryLow), ("high", .high)]
      as [(String, DrawPriority)]
    {
      drawer.draw(named(key, priority)) { _ in }
    }
    drawer.draw(named("raised", .veryHigh)) { _ in }
    gate.open()
    #expect(await eventually { !drawer.isBusy })
    #expect(order.value == ["raised", "high", "normal", "low"])
  }
}

@Suite("A cached drawer: cancelling")
struct CancellingTests {
  @Test("ends a cancelled request with one outcome: cancelled")
  func cancelled() async {
    let drawer = drawer()
    let gate = Gate()
    let outcomes = Box<[String]>([])
    drawer.draw(request("blocks", gate: gate)) { _ in }
    let draws = Box(0)
    let task = drawer.draw(request("waits", draws: draws)) { outcome in outcomes.update { $0.append("\(outcome)") } }
    task.cancel()
    task.cancel()
    gate.open()
    #expect(await eventually { !drawer.isBusy })
    #expect(outcomes.value == ["cancelled"] && draws.value == 0)
    #expect(drawer.statistics.cancelledBeforeStart == 1 && drawer.statistics.cancelled == 1)
  }

  @Test("goes on drawing while one of several still waits")
  func others() async {
    let drawer = drawer()
    let gate = Gate()
    let outcomes = Box<[Bool]>([])
    drawer.draw(request("blocks", gate: gate)) { _ in }
    let shared = request("shared")
    let first = drawer.draw(shared) { outcome in outcomes.update { $0.append(outcome.bitmap != nil) } }
    drawer.draw(shared) { outcome in outcomes.update { $0.append(outcome.bitmap != nil) } }
    first.cancel()
    gate.open()
    #expect(await eventually { outcomes.value.count == 2 })
    #expect(outcomes.value == [false, true] && drawer.cachedBitmap(for: shared) != nil)
  }

  @Test("keeps the bitmap of a draw that had begun")
  func begun() async {
    let drawer = drawer()
    let gate = Gate()
    let outcome = Box("")
    let slow = request("slow", gate: gate)
    let task = drawer.draw(slow) { result in outcome.update { $0 = "\(result)" } }
    #expect(await eventually { drawer.statistics.draws == 1 })
    task.cancel()
    gate.open()
    #expect(await eventually { drawer.cachedBitmap(for: slow) != nil })
    #expect(outcome.value == "cancelled")
  }

  @Test("brings no bitmap after a cancel, even if it was on its way already")
  func onItsWay() async {
    let queue = DrainedCompletionQueue()
    let drawer = drawer(completions: queue)
    let outcomes = Box<[String]>([])
    let task = drawer.draw(request("late")) { outcome in outcomes.update { $0.append("\(outcome)") } }
    #expect(await eventually { !queue.isEmpty })
    task.cancel()
    #expect(outcomes.value.isEmpty, "never inline")
    queue.drain()
    #expect(outcomes.value == ["cancelled"])
  }

  @Test("follows the cancelling of a task that awaits")
  func tasks() async {
    let drawer = drawer()
    let gate = Gate()
    drawer.draw(request("blocks", gate: gate)) { _ in }
    let task = Task { try await drawer.bitmap(for: request("awaited")) }
    #expect(await eventually { drawer.isBusy })
    task.cancel()
    await #expect {
      try await task.value
    } throws: {
      if case DrawError.cancelled = $0 { true } else { false }
    }
    gate.open()
  }

  @Test("lets go of the completion once it is called")
  func releases() async throws {
    final class View: Sendable {}
    let drawer = drawer()
    weak var view: View?
    let task: DrawTask
    do {
      let strong = View()
      view = strong
      task = drawer.draw(request("released")) { _ in withExtendedLifetime(strong) {} }
    }
    #expect(await eventually { task.isFinished && view == nil })
  }

  @Test("is idle only when all outcomes are on their way")
  func settled() async {
    let queue = DrainedCompletionQueue()
    let drawer = drawer(completions: queue)
    for index in 0..<2000 {
      let called = Box(false)
      drawer.draw(request("settled \(index)")) { _ in called.update { $0 = true } }
      while drawer.isBusy {}
      queue.drain()
      #expect(called.value)
    }
  }

  @Test("does nothing to a request that has ended")
  func ended() async throws {
    let drawer = drawer()
    let count = Box(0)
    let task = drawer.draw(request("ended")) { _ in count.increment() }
    #expect(await eventually { task.isFinished })
    task.cancel()
    #expect(await eventually { !drawer.isBusy })
    #expect(count.value == 1 && drawer.statistics.cancelled == 0)
  }
}

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
    async let now = Task.detached { try drawer.bitmapNow(for: slow) }.value
    #expect(await eventually { drawer.statistics.coalesced == 1 })
    gate.open()
    let bitmap = try await now
    #expect(bitmap === drawer.cachedBitmap(for: slow) && draws.value == 1)
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
    let depth = Box(0)
    for (key, other) in [("a", "b"), ("b", "a")] {
      let request = DrawRequest(key: key, size: CGSize(width: 1, height: 1)) { _, _ in
        depth.increment()
        let wanted = requests.value[other]!
        _ = try? drawer.bitmapNow(for: wanted)
      }
      requests.update { $0[key] = request }
    }
    async let a = drawer.bitmap(for: requests.value["a"]!)
    async let b = drawer.bitmap(for: requests.value["b"]!)
    _ = try await (a, b)
    #expect(depth.value >= 2)
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
