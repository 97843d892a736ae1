internal import CGessoSystem
import Foundation

/// What the calling thread is drawing right now, the innermost last.
///
/// By thread and not by task: a task that a draw block begins is not part of the draw.
enum DrawStack {
  private final class Frame {
    let drawer: ObjectIdentifier
    let job: DrawJobs.Job
    let outer: Frame?

    init(_ drawer: CachedDrawer, _ job: DrawJobs.Job, in outer: Frame?) {
      self.drawer = ObjectIdentifier(drawer)
      self.job = job
      self.outer = outer
    }
  }

  /// The thread's place holds no count: `with` keeps the frame while it is there.
  private static var innermost: Frame? {
    gesso_thread_place().pointee.map { Unmanaged<Frame>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Whether the thread draws nothing.
  static var isEmpty: Bool { gesso_thread_place().pointee == nil }

  /// Whether the thread draws this key for this drawer.
  static func contains(_ key: BitmapKey, of drawer: CachedDrawer) -> Bool {
    var frame = innermost
    while let here = frame {
      if here.drawer == ObjectIdentifier(drawer), here.job.request.cacheKey == key { return true }
      frame = here.outer
    }
    return false
  }

  /// Whether nobody wants what the thread draws.
  static var isCancelled: Bool { innermost?.job.cancellation.check() ?? false }

  /// Does something as the draw of a job.
  static func with<Result>(_ job: DrawJobs.Job, of drawer: CachedDrawer, _ body: () -> Result) -> Result {
    let place = gesso_thread_place()!, before = place.pointee
    let frame = Frame(drawer, job, in: innermost)
    place.pointee = Unmanaged.passUnretained(frame).toOpaque()
    defer {
      place.pointee = before
      withExtendedLifetime(frame) {}
    }
    return body()
  }
}
