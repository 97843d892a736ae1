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
      func insert(_ bitmap: Bitmap, for key: BitmapKey, cost: BitmapCost) {}
      func removeBitmap(for key: BitmapKey) {}
      func removeBitmaps(where condition: (BitmapKey) -> Bool) {}
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
