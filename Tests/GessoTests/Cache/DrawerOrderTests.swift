import Foundation
import Testing

@testable import Gesso

@Suite("A cached drawer: order, and what is no longer wanted")
struct DrawerOrderTests {
  /// Keys in the order in which they were drawn.
  private let order = Box<[String]>([])

  private func recorded(_ key: String, _ priority: DrawPriority = .normal, deadline: Double? = nil) -> DrawRequest {
    DrawRequest(
      key: key, size: CGSize(width: 4, height: 4), scale: 1, priority: priority,
      deadline: deadline.map { .now + .seconds($0) }
    ) { [order] _, _ in order.update { $0.append(key) } }
  }

  /// A drawer whose one worker is held up until the gate opens.
  private func heldUp() async -> (CachedDrawer, Gate) {
    let drawer = drawer(), gate = Gate()
    drawer.draw(request("gate", gate: gate)) { _ in }
    #expect(await eventually { drawer.statistics.running == 1 })
    return (drawer, gate)
  }

  @Test("draws the urgent before the others, of equal ones the nearest deadline, and then the oldest")
  func deadlines() async {
    let (drawer, gate) = await heldUp()
    for request in [
      recorded("late", deadline: 900), recorded("first without"), recorded("low, soon", .low, deadline: 1),
      recorded("soon", deadline: 100), recorded("second without"), recorded("high", .high),
    ] { drawer.draw(request) { _ in } }
    gate.open()
    #expect(await eventually { order.value.count == 6 })
    #expect(order.value == ["high", "soon", "late", "first without", "second without", "low, soon"])
  }

  @Test("tells a draw block that nobody waits any more, and keeps nothing of it")
  func cancelledDraws() async {
    let drawer = drawer(), told = Box(0), began = Box(0)
    func endless(_ key: String) -> DrawRequest {
      DrawRequest(key: key, size: CGSize(width: 4, height: 4), scale: 1) { context, _ in
        began.increment()
        while !context.isCancelled { usleep(100) }
        told.increment()
      }
    }
    let outcomes = Box<[Bool]>([])
    let tasks = (0..<3).map { _ in
      drawer.draw(endless("a")) { outcome in outcomes.update { $0.append(outcome.bitmap != nil) } }
    }
    #expect(await eventually { began.value == 1 })
    tasks[0].cancel()
    tasks[2].cancel()
    usleep(20_000)
    #expect(told.value == 0, "one still waits")
    tasks[1].cancel()
    #expect(await eventually { told.value == 1 && !drawer.isBusy })
    #expect(outcomes.value == [false, false, false] && drawer.cachedBitmap(for: endless("a")) == nil)
    #expect(drawer.statistics.draws == 1)
    // One who comes after the block was told gets a draw of its own.
    let last = drawer.draw(endless("a")) { _ in }
    #expect(await eventually { began.value == 2 })
    last.cancel()
    #expect(await eventually { told.value == 2 && !drawer.isBusy })
  }

  @Test("goes on with a draw that does not ask, and with one that somebody wants again before it asks")
  func wantedAgain() async throws {
    let drawer = drawer(), gate = Gate(), draws = Box(0)
    let asking = DrawRequest(key: "a", size: CGSize(width: 4, height: 4), scale: 1) { context, _ in
      draws.increment()
      gate.wait()
      if context.isCancelled { throw CancellationError() }
    }
    let first = drawer.draw(asking) { _ in }
    #expect(await eventually { draws.value == 1 })
    first.cancel()
    let bitmap: DrawOutcome = await callback { finish in
      drawer.draw(asking, completion: finish)
      gate.open()
    }
    #expect(bitmap.bitmap != nil && draws.value == 1)
    #expect(drawer.statistics.wastedMicroseconds == 0)
    let second = Gate()
    let other = drawer.draw(request("b", gate: second)) { _ in }
    #expect(await eventually { drawer.statistics.running == 1 })
    other.cancel()
    usleep(2000)
    second.open()
    #expect(await eventually { drawer.cachedBitmap(for: request("b")) != nil && !drawer.isBusy })
    #expect(drawer.statistics.wastedMicroseconds > 0, "nobody waited, but it is kept")
  }

  @Test("lets a caller's own draw go on when all others have cancelled")
  func callersDraw() async throws {
    let (drawer, gate) = await heldUp(), inner = Gate(), asked = Box<[Bool]>([])
    let shared = DrawRequest(key: "a", size: CGSize(width: 4, height: 4), scale: 1) { context, _ in
      inner.wait()
      asked.update { $0.append(context.isCancelled) }
    }
    let task = drawer.draw(shared) { _ in }
    let now = onThread { try drawer.bitmapNow(for: shared) }
    #expect(await eventually { drawer.statistics.running == 2 })
    task.cancel()
    inner.open()
    _ = try await now.value
    #expect(asked.value == [false])
    gate.open()
  }

  @Test("does not stop a draw because its slot shows something newer")
  @MainActor func superseding() async {
    let drawer = CachedDrawer(.init(workers: 1)), gate = Gate(), asked = Box<[Bool]>([])
    let slot = DrawSlot(drawer: drawer) { _ in }
    slot.show(
      DrawRequest(key: "a", size: CGSize(width: 4, height: 4), scale: 1) { context, _ in
        gate.wait()
        asked.update { $0.append(context.isCancelled) }
      })
    #expect(await eventually { drawer.statistics.running == 1 })
    slot.show(request("b"))
    gate.open()
    #expect(await eventually { slot.bitmap != nil && !drawer.isBusy })
    #expect(asked.value == [false] && slot.bitmap === drawer.cachedBitmap(for: request("b")))
  }

  @Test("draws ahead when nothing else is to do, and gives that up when told")
  func prefetching() async throws {
    let (drawer, gate) = await heldUp()
    let rows = (0..<4).map { recorded("row \($0)", .veryHigh) }
    drawer.prefetch(rows)
    drawer.prefetch(rows)
    drawer.draw(recorded("on screen")) { _ in }
    drawer.cancelPrefetch([rows[1], recorded("never asked for")])
    drawer.draw(rows[3]) { _ in }
    gate.open()
    #expect(await eventually { order.value.count == 4 && !drawer.isBusy })
    #expect(order.value == ["row 3", "on screen", "row 0", "row 2"], "a request makes its prefetch urgent")
    #expect(drawer.cachedBitmap(for: rows[0]) != nil && drawer.cachedBitmap(for: rows[1]) == nil)
    drawer.prefetch(rows)
    #expect(await eventually { drawer.cachedBitmap(for: rows[1]) != nil })
    #expect(order.value.count == 5, "what is there is not drawn again")
    drawer.cancelPrefetch(rows)
  }

  @Test("does not keep what was invalidated while it was drawn, and draws it anew for who asks after")
  func invalidating() async throws {
    let drawer = drawer(workers: 2), gate = Gate(), draws = Box(0)
    let request = request("row.1", draws: draws, gate: gate)
    async let before = drawer.bitmap(for: request)
    #expect(await eventually { draws.value == 1 })
    drawer.invalidate(prefix: "row.")
    async let after = drawer.bitmap(for: request)
    #expect(await eventually { draws.value == 2 }, "it does not join what is out of date")
    gate.open()
    gate.open()
    let (old, new) = try await (before, after)
    #expect(old !== new)
    #expect(await eventually { !drawer.isBusy })
    let kept = drawer.cachedBitmap(for: request)
    #expect(kept === new)
    drawer.invalidate(key: "row")
    _ = try await drawer.bitmap(for: self.request("other"))
    drawer.invalidate(key: "other")
    #expect(drawer.cachedBitmap(for: self.request("other")) == nil)
  }

  private func request(_ key: String, draws: Box<Int> = Box(0), gate: Gate? = nil) -> DrawRequest {
    DrawRequest(key: key, size: CGSize(width: 4, height: 4), scale: 1) { _, _ in
      draws.increment()
      gate?.wait()
    }
  }

  @Test("draws what only a prefetch waits for when nothing else is to do, though somebody wanted it at once before")
  func urgencyFalls() async throws {
    let (drawer, gate) = await heldUp()
    drawer.prefetch([recorded("ahead")])
    let soon = ContinuousClock.now
    var urgent = recorded("ahead", .veryHigh)
    urgent.deadline = soon
    let task = drawer.draw(urgent) { _ in }
    let other = drawer.draw(recorded("ahead", .high)) { _ in }
    drawer.draw(recorded("first")) { _ in }
    drawer.draw(recorded("second", .low)) { _ in }
    task.cancel()
    other.cancel()
    gate.open()
    #expect(await eventually { !drawer.isBusy })
    #expect(order.value == ["first", "ahead", "second"] || order.value == ["first", "second", "ahead"])
  }

  @Test("gives up all at once: each has its outcome, and the queue is empty")
  func cancellingAll() async throws {
    let (drawer, gate) = await heldUp()
    let outcomes = Box(0), bitmaps = Box(0)
    let tasks = (0..<500).map { index in
      drawer.draw(recorded("\(index % 400)")) { outcome in
        if outcome.bitmap != nil { bitmaps.increment() }
        outcomes.increment()
      }
    }
    drawer.prefetch([recorded("ahead")])
    drawer.cancelAll()
    #expect(tasks.allSatisfy { $0.isFinished })
    for task in tasks { task.cancel() }
    gate.open()
    #expect(await eventually { outcomes.value == 500 && !drawer.isBusy })
    #expect(await eventually { drawer.workers.waiting == 0 && drawer.statistics.cancelledBeforeStart == 401 })
    #expect(bitmaps.value == 0 && order.value.isEmpty && drawer.statistics.cancelled == 502, "also the one that ran")
    _ = try await drawer.bitmap(for: recorded("after"))
  }

  @Test("gives up what is on its way to those who wait, too")
  func cancellingDeliveries() async {
    let queue = DrainedCompletionQueue()
    let drawer = CachedDrawer(.init(workers: 1, completions: queue)), outcomes = Box<[Bool]>([])
    for key in ["a", "b"] {
      drawer.draw(recorded(key)) { outcome in outcomes.update { $0.append(outcome.bitmap != nil) } }
    }
    #expect(await eventually { !drawer.isBusy })
    drawer.cancelAll()
    queue.drain()
    #expect(outcomes.value == [false, false], "drawn, but not handed over yet")
  }

  @Test("takes a deadline in three hundred years for a late one, and one long ago for an early one")
  func farDeadlines() async {
    let (drawer, gate) = await heldUp()
    for request in [
      recorded("far", deadline: 9_500_000_000), recorded("soon", deadline: 100),
      recorded("ago", deadline: -9_500_000_000),
    ] { drawer.draw(request) { _ in } }
    gate.open()
    #expect(await eventually { order.value.count == 3 })
    #expect(order.value == ["ago", "soon", "far"])
  }

  @Test("draws those of one deadline in the order of asking, and queues none again for the same one")
  func equalDeadlines() async {
    let (drawer, gate) = await heldUp(), deadline = ContinuousClock.now + .seconds(60)
    let requests = (0..<20).map { index -> DrawRequest in
      var request = recorded("\(index)")
      request.deadline = deadline
      return request
    }
    for request in requests + requests { drawer.draw(request) { _ in } }
    #expect(drawer.workers.queued <= 21, "these, and the one that is being drawn")
    gate.open()
    #expect(await eventually { order.value.count == 20 })
    #expect(order.value == requests.map(\.key))
  }

  @Test("draws earlier when one joins whose deadline is nearer")
  func joinedDeadlines() async {
    let (drawer, gate) = await heldUp()
    for request in [recorded("a", deadline: 900), recorded("b", deadline: 100), recorded("a", deadline: 10)] {
      drawer.draw(request) { _ in }
    }
    gate.open()
    #expect(await eventually { order.value.count == 2 })
    #expect(order.value == ["a", "b"])
  }

  @Test("tells all who wait for one bitmap in the order in which they came, also when some have gone")
  func waiters() async {
    let (drawer, gate) = await heldUp(), told = Box<[Int]>([])
    let tasks = (0..<6).map { number in
      drawer.draw(recorded("a")) { outcome in if outcome.bitmap != nil { told.update { $0.append(number) } } }
    }
    tasks[0].cancel()
    tasks[3].cancel()
    gate.open()
    #expect(await eventually { !drawer.isBusy && told.value.count == 4 })
    #expect(told.value == [1, 2, 4, 5])
  }

  @Test("is freed when nobody needs it, also after a request that was cancelled in its queue")
  func freed() async {
    weak var freed: CachedDrawer?
    do {
      let (drawer, gate) = await heldUp()
      freed = drawer
      drawer.draw(recorded("a")) { _ in }.cancel()
      drawer.draw(recorded("b")) { _ in }
      drawer.draw(recorded("b", .veryHigh)) { _ in }
      gate.open()
      #expect(await eventually { !drawer.isBusy })
    }
    #expect(await eventually { freed == nil })
  }

  @Test("counts as busy until all that were given up are told")
  func busy() async {
    let (drawer, gate) = await heldUp(), outcomes = Box(0)
    for index in 0..<5000 { drawer.draw(recorded("\(index)")) { _ in outcomes.increment() } }
    drawer.cancelAll()
    gate.open()
    #expect(await eventually { !drawer.isBusy })
    #expect(outcomes.value == 5000)
  }

  @Test("does not keep what a draw block had drawn beside another one, once it is invalidated")
  func alone() async throws {
    let drawer = drawer(workers: 2), (first, second) = (Gate(), Gate()), draws = Box(0)
    let inner = DrawRequest(key: "inner", size: CGSize(width: 4, height: 4), scale: 1) { _, _ in
      let isFirst = draws.value == 0
      draws.increment()
      (isFirst ? first : second).wait()
    }
    drawer.draw(inner) { _ in }
    #expect(await eventually { draws.value == 1 })
    let outer = DrawRequest(key: "outer", size: CGSize(width: 4, height: 4), scale: 1) { _, _ in
      _ = try drawer.bitmapNow(for: inner)
    }
    drawer.draw(outer) { _ in }
    #expect(await eventually { draws.value == 2 && drawer.statistics.running == 3 })
    drawer.invalidate(key: "inner")
    first.open()
    #expect(await eventually { drawer.statistics.running == 2 })
    second.open()
    #expect(await eventually { !drawer.isBusy })
    #expect(drawer.cachedBitmap(for: inner) == nil && drawer.cachedBitmap(for: outer) != nil)
  }

  @Test("lets a completion ask for what was being drawn around it", .timeLimit(.minutes(10)))
  func completionsWithin() async throws {
    let drawer = drawer(), errors = Box<[String]>([]), asked = Box(0)
    let inner = request("inner"), outer = Box<DrawRequest?>(nil)
    outer.update {
      $0 = DrawRequest(key: "outer", size: CGSize(width: 4, height: 4), scale: 1) { _, _ in
        drawer.draw(inner) { _ in
          do { _ = try drawer.bitmapNow(for: outer.value!) } catch { errors.update { $0.append("\(error)") } }
          asked.increment()
        }
        _ = try drawer.bitmapNow(for: inner)
      }
    }
    _ = try await drawer.bitmap(for: outer.value!)
    #expect(await eventually { asked.value == 1 && !drawer.isBusy })
    #expect(errors.value.isEmpty && drawer.statistics.draws == 2)
  }

  @Test("may be asked for the same by a slot after all was given up")
  @MainActor func slotsAfterCancelling() async {
    let drawer = CachedDrawer(.init(workers: 1)), gate = Gate()
    let slot = DrawSlot(drawer: drawer) { _ in }
    drawer.draw(request("gate", gate: gate)) { _ in }
    slot.show(request("a"))
    drawer.cancelAll()
    gate.open()
    #expect(await eventually { !drawer.isBusy && !slot.isPending })
    slot.show(request("a"))
    #expect(await eventually { slot.bitmap != nil })
  }

  @Test("keeps its queue no longer than twice what waits")
  func bounded() async {
    let (drawer, gate) = await heldUp()
    for round in 0..<50 {
      let tasks = (0..<200).map { drawer.draw(recorded("\(round).\($0)")) { _ in } }
      for task in tasks { task.cancel() }
    }
    #expect(drawer.workers.waiting == 0 && drawer.workers.queued <= 64)
    gate.open()
  }

  @Test("tells how long draws took, waited, and run")
  func statistics() async throws {
    let (drawer, gate) = await heldUp()
    drawer.draw(recorded("a")) { _ in }
    usleep(5000)
    #expect(drawer.statistics.running == 1 && drawer.statistics.longestRunningMicroseconds >= 5000)
    gate.open()
    #expect(await eventually { !drawer.isBusy })
    _ = try await drawer.bitmap(for: recorded("a"))
    let statistics = drawer.statistics
    #expect(statistics.running == 0 && statistics.longestRunningMicroseconds == 0)
    #expect(statistics.drawTimes.count == 2 && statistics.queueTimes.count == 2)
    #expect(statistics.drawTimes.microseconds(below: 1) >= 4096 && statistics.queueTimes.microseconds(below: 1) >= 4096)
    #expect(statistics.misses == 2 && statistics.memoryHits == 1)
    #expect(abs(statistics.hitRatio - 1 / 3) < 1e-9)
    #expect(statistics.memory?.count == 2)
    var histogram = DrawerStatistics.Histogram()
    for microseconds: Int64 in [0, 1, 3, 100, 5000] { histogram.add(nanoseconds: microseconds * 1000 + 999) }
    #expect(histogram.count == 5)
    #expect([0.2, 0.4, 0.6, 0.8, 1].map { histogram.microseconds(below: $0) } == [1, 2, 4, 128, 8192])
  }
}
