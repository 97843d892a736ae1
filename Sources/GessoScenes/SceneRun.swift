import Foundation
import Gesso

/// What came out of scrolling a scene once.
public struct SceneRun: Sendable {
  /// The scene's name.
  public let scene: String
  /// How it was shown.
  public let mode: ScrollMode
  /// Frames and metrics.
  public let report: FrameReport
  /// Counts by name, as profiles write them.
  public let counters: [String: Double]
}

/// Scrolls a scene in real time, and takes pictures of it.
@MainActor
public final class SceneRunner {
  private let scene: any Scene
  private let mode: ScrollMode
  private let viewport: Viewport
  private let script: FlingScript
  private let trace: Trace?
  private let completions = DrainedCompletionQueue()
  private let drawer: CachedDrawer
  /// Where a program that is started again finds what it has drawn before.
  private let directory: URL?
  private let memory = MemoryCache()
  private let screen: SceneScreen

  /// A runner, with a drawer of its own that has drawn nothing.
  public init(
    scene: any Scene, mode: ScrollMode, viewport: Viewport, script: FlingScript, trace: Trace? = nil
  ) throws {
    self.scene = scene
    self.mode = mode
    self.viewport = viewport
    self.script = script
    self.trace = trace
    directory =
      mode == .restart
      ? FileManager.default.temporaryDirectory
        .appendingPathComponent("gesso-restart-\(UUID().uuidString)") : nil
    drawer = CachedDrawer(
      .init(
        cache: memory, stores: directory.map { [DiskCache(directory: $0)] } ?? [], completions: completions,
        trace: trace))
    screen = try SceneScreen(scene: scene, mode: mode, viewport: viewport, drawer: drawer)
  }

  deinit {
    if let directory { try? FileManager.default.removeItem(at: directory) }
  }

  /// Scrolls through the script at a rate. Throws what kept a view from being drawn.
  public func run(hertz: Double) throws -> SceneRun {
    if mode == .warm { fill(drawer, hertz: hertz) }
    if let directory { fill(directory, hertz: hertz) }
    let drawnBefore = drawer.statistics
    let createdBefore = MemoryStatistics.current.bitmapsCreated
    let recorder = FrameRecorder(hertz: hertz, trace: trace)
    var clock = FrameClock(hertz: hertz)
    var lastOffset = -1
    while true {
      let tick = clock.waitForNextFrame()
      let seconds = Double(tick.index) / hertz
      if seconds > script.duration { break }
      try recorder.frame(tick) { frame in
        let offset = frame.stage(.input) {
          completions.drain()
          return screen.pixelOffset(script.offset(at: seconds))
        }
        guard offset != lastOffset || screen.isDirty else {
          frame.markIdle()
          return
        }
        lastOffset = offset
        frame.stage(.layout) { screen.layout(offset: offset) }
        try frame.stage(.display) { try screen.display() }
        frame.stage(.composite) { screen.composite() }
        frame.stage(.present) { screen.present() }
      }
      count()
    }
    if let failure = screen.failure { throw failure }
    let report = recorder.report()
    return SceneRun(
      scene: scene.name, mode: mode, report: report,
      counters: counters(
        report, since: drawnBefore, bitmaps: MemoryStatistics.current.bitmapsCreated - createdBefore))
  }

  /// The picture at a moment of the script, once nothing is pending.
  public func picture(at seconds: Double) throws -> Bitmap {
    screen.layout(offset: screen.pixelOffset(script.offset(at: seconds)))
    try screen.display()
    settle(drawer)
    screen.composite()
    if let failure = screen.failure { throw failure }
    screen.present()
    return try screen.front.snapshot()
  }

  /// Draws all that the scroll will show, so that it is the second time.
  private func fill(_ drawer: CachedDrawer, hertz: Double) {
    var seen = Set<Int>()
    for index in 0...Int(script.duration * hertz) {
      let top = Double(screen.pixelOffset(script.offset(at: Double(index) / hertz))) / viewport.scale
      for row in scene.rows.rows(from: top, to: top + viewport.height) where seen.insert(row).inserted {
        for view in scene.views(inRow: row) { drawer.draw(view.request) { _ in } }
      }
    }
    settle(drawer)
  }

  /// The earlier start: draws the same into a directory, and ends.
  private func fill(_ directory: URL, hertz: Double) {
    let earlier = CachedDrawer(.init(stores: [DiskCache(directory: directory)], completions: completions))
    fill(earlier, hertz: hertz)
    let isWritten = DispatchSemaphore(value: 0)
    Task.detached {
      await earlier.flush()
      isWritten.signal()
    }
    isWritten.wait()
  }

  /// Waits until nothing is pending.
  private func settle(_ drawer: CachedDrawer) {
    var descriptor = pollfd(fd: completions.fileDescriptor, events: Int16(POLLIN), revents: 0)
    repeat {
      completions.drain()
      if drawer.isBusy { poll(&descriptor, 1, 100) }
    } while drawer.isBusy || !completions.isEmpty
  }

  private func count() {
    guard let trace else { return }
    let now = drawer.statistics
    trace.counter("cache bytes", Double(now.memory?.byteCount ?? 0))
    trace.counter("cache evictions", Double(now.memory?.evictions ?? 0))
    trace.counter("draws", Double(now.draws + screen.counters.mainDraws))
    trace.counter("memory hits", Double(now.memoryHits))
    trace.counter("misses", Double(now.misses))
    trace.counter("cancelled", Double(now.cancelled))
  }

  private func counters(_ report: FrameReport, since before: DrawerStatistics, bitmaps: Int) -> [String: Double] {
    let now = drawer.statistics
    let cells = screen.cellStatistics
    let pixels = Double(screen.front.width * screen.front.height)
    let frames = Double(max(1, report.metrics.frames))
    return [
      "draws": Double(now.draws - before.draws + screen.counters.mainDraws),
      "memory_hits": Double(now.memoryHits - before.memoryHits), "misses": Double(now.misses - before.misses),
      "disk_hits": Double(now.diskHits - before.diskHits),
      "hit_percent": 100 * Double(now.memoryHits - before.memoryHits)
        / Double(max(1, now.memoryHits + now.misses - before.memoryHits - before.misses)),
      "coalesced": Double(now.coalesced - before.coalesced),
      "cancelled": Double(now.cancelled - before.cancelled),
      "failures": Double(now.failures - before.failures),
      "draw_ms": Double(now.drawMicroseconds - before.drawMicroseconds) / 1000,
      "wasted_ms": Double(now.wastedMicroseconds - before.wastedMicroseconds) / 1000,
      "draw_p95_us": Double(now.drawTimes.microseconds(below: 0.95)),
      "queue_p95_us": Double(now.queueTimes.microseconds(below: 0.95)),
      "cells_made": Double(cells.made), "cells_premade": Double(cells.premade), "cells_reused": Double(cells.fromReuse),
      "blank_area_percent": 100 * Double(screen.counters.blankPixels) / (pixels * frames),
      "blank_area_worst_percent": 100 * Double(screen.counters.worstBlankPixels) / pixels,
      "bitmaps_created": Double(bitmaps), "memory_bytes": Double(memory.statistics.byteCount),
      "evictions": Double(memory.statistics.evictions),
    ]
  }
}
