import Foundation
import Testing

@testable import Gesso

/// Everything at once, from several threads. GESSO_OPERATIONS says how many, GESSO_SEED which; both are printed.
@Suite("A cached drawer: everything at random")
struct DrawerRandomTests {
  private static func number(_ name: String, default value: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? value
  }

  private static let keys = 80
  private static let threads = 4

  private let wrong = Box<[String]>([])
  private let asked = Box(0)
  private let ended = Box(0)
  /// What each key's picture shows, which is changed before it is invalidated; and what it showed at most before an
  /// invalidation that has returned, which is the least that may be seen after.
  private let shown = Box([Int](repeating: 0, count: keys))
  private let least = Box([Int](repeating: 0, count: keys))

  /// Each request's picture tells its key and version. A few fail, ask whether they are wanted, or take long; some are of
  /// one colour.
  private func request(_ index: Int, _ random: inout SeededGenerator) -> DrawRequest {
    let side: CGFloat = index % 7 == 0 ? 40 : 8
    return DrawRequest(
      key: "\(index % 3).\(index)", size: CGSize(width: side, height: side), scale: 1, background: .white,
      priority: DrawPriority.allCases.randomElement(using: &random)!,
      deadline: Bool.random(using: &random) ? .now + .milliseconds(Int.random(in: -5...50, using: &random)) : nil,
      usesStores: index % 2 == 0
    ) { [shown] context, rect in
      let version = shown.value[index]
      if index % 11 == 0 { throw CocoaError(.userCancelled) }
      if index % 13 == 0, context.isCancelled { throw CancellationError() }
      if index % 14 == 0 { usleep(200) }
      context.setFillColor(
        Color(red: Double(version >> 8 & 255) / 255, green: Double(version & 255) / 255, blue: Double(index) / 255))
      context.fill(index % 4 == 0 ? rect : rect.insetBy(dx: 1, dy: 1))
    }
  }

  private func check(_ bitmap: Bitmap, _ index: Int, notBefore least: Int) {
    let seen = Int(pixel(bitmap, 4, 4) & 0xff_ffff)
    if seen & 255 != index { wrong.update { $0.append("the picture of another key than \(index)") } }
    if seen >> 8 < least & 0xffff {
      wrong.update { $0.append("\(seen >> 8) of \(index) was invalidated before \(least)") }
    }
    if index % 11 == 0 { wrong.update { $0.append("a picture where the block throws") } }
  }

  /// Changes what keys show, and invalidates them.
  private func change(_ indices: some Sequence<Int>, _ invalidate: () -> Void) {
    let indices = Array(indices)
    shown.update { shown in for index in indices { shown[index] += 1 } }
    let now = shown.value
    invalidate()
    least.update { least in for index in indices { least[index] = max(least[index], now[index]) } }
  }

  @Test("each request ends once, with its own picture, and nothing grows without bounds")
  func invariants() async throws {
    let operations = Self.number("GESSO_OPERATIONS", default: 40_000)
    let seed = Self.number("GESSO_SEED", default: Int(truncatingIfNeeded: MonotonicClock.now) & 0xffff_ffff)
    print("GESSO_OPERATIONS=\(operations) GESSO_SEED=\(seed)")
    let limit = 12 * 6400
    let cache = MemoryCache(.init(limit: limit, lifetime: .milliseconds(400)))
    let stores = [ListStore(.disk), ListStore(.remote)]
    let drawer = CachedDrawer(
      .init(cache: cache, workers: 3, stores: stores, completions: ImmediateCompletionQueue()))
    let done = DispatchGroup()
    for thread in 0..<Self.threads {
      // Threads of their own: those of queues are the ones that tasks of other tests need.
      done.enter()
      Thread.detachNewThread {
        defer { done.leave() }
        var random = SeededGenerator(state: UInt64(seed &+ thread &* 7919))
        for step in 0..<operations / Self.threads {
          operate(on: drawer, cache, stores, step, &random)
          if cache.statistics.byteCount > limit { wrong.update { $0.append("over the limit") } }
        }
      }
    }
    await withCheckedContinuation { continuation in done.notify(queue: .global()) { continuation.resume() } }
    #expect(await eventually { ended.value == asked.value && !drawer.isBusy })
    #expect(ended.value == asked.value && wrong.value.isEmpty, "GESSO_SEED=\(seed): \(wrong.value.prefix(3))")
    // What is done is left in the queues until the next one comes, which alone waits then.
    drawer.workers.submit {}
    #expect(drawer.workers.queued <= 2 * 1 + 64)
    let statistics = drawer.statistics
    #expect(statistics.running == 0 && statistics.memory!.byteCount <= limit)
  }

  private func operate(
    on drawer: CachedDrawer, _ cache: MemoryCache, _ stores: [ListStore], _ step: Int, _ random: inout SeededGenerator
  ) {
    let index = Int.random(in: 0..<Self.keys, using: &random)
    let request = request(index, &random), least = least.value[index]
    switch Int.random(in: 0..<1000, using: &random) {
    case 0..<100:
      asked.increment()
      if let bitmap = try? drawer.bitmapNow(for: request) { check(bitmap, index, notBefore: least) }
      ended.increment()
    case 100..<160: change([index]) { drawer.removeBitmap(for: request) }
    case 160..<180:
      change((0..<Self.keys).filter { $0 % 3 == index % 3 }) { drawer.invalidate(prefix: "\(index % 3).") }
    case 180..<182: change(0..<Self.keys) { drawer.removeAll() }
    case 182..<184: drawer.cancelAll()
    case 184..<190: cache.trim()
    case 190..<230: drawer.prefetch([request])
    case 230..<260: drawer.cancelPrefetch([request])
    case 260..<280:
      cache.viewport = Viewport(list: "\(step % 3)", rows: index...index + 5) { Int($0.dropFirst(2)) }
    case 280..<284: cache.viewport = nil
    case 284..<294: stores[step % 2].failsReads.update { $0.toggle() }
    case 294..<300: stores[step % 2].blobs.update { $0 = $0.mapValues { $0.prefix(50) } }
    case 300..<400: if let bitmap = drawer.cachedBitmap(for: request) { check(bitmap, index, notBefore: least) }
    case 400..<420: _ = drawer.statistics
    default:
      asked.increment()
      let outcomes = Box(0)
      let task = drawer.draw(request) { outcome in
        outcomes.increment()
        if outcomes.value != 1 { wrong.update { $0.append("a second outcome") } }
        if let bitmap = outcome.bitmap { check(bitmap, index, notBefore: least) }
        ended.increment()
      }
      switch Int.random(in: 0..<6, using: &random) {
      case 0: task.cancel()
      case 1: task.supersede()
      default: break
      }
    }
  }
}
