import Dispatch
import Foundation

/// Draws bitmaps in the background, once, and keeps them.
///
/// A hit answers at once, on the calling thread. A miss goes to a fixed pool of worker threads, the most urgent first;
/// requests for one key share one draw. Every request ends in exactly one ``DrawOutcome``.
///
///     let badge = DrawRequest(key: "badge.7", size: CGSize(width: 24, height: 24)) { context, rect in
///       context.setFillColor(.orange)
///       context.fillEllipse(in: rect)
///     }
///     let bitmap = try await CachedDrawer.shared.bitmap(for: badge)
///
/// Thread-safety: any thread. Draw blocks and completions are called without any lock held, and may use the drawer.
public final class CachedDrawer: Sendable {
  /// How a drawer is set up.
  public struct Configuration: Sendable {
    /// Where bitmaps are kept; a ``MemoryCache`` of the default size.
    public var cache: any BitmapCache
    /// Threads that draw. `nil`: those that all drawers share, one less than there are processors, at least 1.
    public var workers: Int?
    /// Where completions of misses are called; the main queue.
    public var completions: any CompletionQueue
    /// Where draws are written down, for a profile.
    public var trace: Trace?

    /// The defaults, or others.
    public init(
      cache: any BitmapCache = MemoryCache(), workers: Int? = nil,
      completions: any CompletionQueue = DispatchQueue.main, trace: Trace? = nil
    ) {
      self.cache = cache
      self.workers = workers
      self.completions = completions
      self.trace = trace
    }
  }

  /// A drawer for all of the program.
  public static let shared = CachedDrawer()

  /// A draw that waits or runs, and who waits for it.
  private struct Job {
    let request: DrawRequest
    let number: Int
    var priority: DrawPriority
    var isDrawing = false
    var waiters: [DrawTask] = []
  }

  private struct State {
    var jobs: [BitmapKey: Job] = [:]
    var nextNumber = 0
    /// Jobs that have ended, and whose outcomes are being handed over.
    var delivering = 0

    mutating func takeNumber() -> Int {
      defer { nextNumber += 1 }
      return nextNumber
    }
  }

  /// Where bitmaps are kept.
  public let cache: any BitmapCache
  private let workers: WorkerPool
  let completions: any CompletionQueue
  private let trace: Trace?
  private let counters = DrawerCounters()
  private let state = Lock(State())

  /// A drawer.
  public init(_ configuration: Configuration = Configuration()) {
    cache = configuration.cache
    workers = configuration.workers.map { WorkerPool(count: $0) } ?? .shared
    completions = configuration.completions
    trace = configuration.trace
  }

  /// What this drawer has done so far.
  public var statistics: DrawerStatistics { counters.snapshot }

  /// Whether a draw waits or runs, or an outcome has not reached the completion queue yet.
  public var isBusy: Bool { state.withLock { !$0.jobs.isEmpty || $0.delivering > 0 } }

  /// Looks a bitmap up. Never draws.
  public func cachedBitmap(for request: DrawRequest) -> Bitmap? { cache.bitmap(for: request.cacheKey) }

  /// Looks a bitmap up for a request that is being made, which counts as a hit.
  func hit(_ request: DrawRequest) -> Bitmap? {
    guard let bitmap = cache.bitmap(for: request.cacheKey) else { return nil }
    counters.memoryHits.increment()
    return bitmap
  }

  /// Asks for a bitmap, and calls back.
  ///
  /// - Parameters:
  ///   - request: what to draw, if it is not there.
  ///   - completion: called exactly once: before this returns if the bitmap is in memory, and otherwise on the
  ///     drawer's completion queue.
  /// - Returns: a handle to cancel with.
  @discardableResult
  public func draw(
    _ request: DrawRequest, completion: @escaping @Sendable (DrawOutcome) -> Void
  ) -> DrawTask {
    if let bitmap = hit(request) {
      completion(.memoryHit(bitmap))
      return .ended
    }
    return enqueue(request, on: completions, completion: completion)
  }

  /// Asks for a bitmap in the words of the classic call: key, size, background, draw block, completion.
  @discardableResult
  public func drawAsync(
    cacheKey: String, size: CGSize, backgroundColor: Color, drawBlock: @escaping DrawRequest.DrawBlock,
    completion: @escaping @Sendable (DrawOutcome) -> Void
  ) -> DrawTask {
    draw(
      DrawRequest(key: cacheKey, size: size, background: backgroundColor, draw: drawBlock), completion: completion)
  }

  /// Asks for a bitmap, and waits without blocking. Cancelling the task cancels the request.
  public func bitmap(for request: DrawRequest) async throws(DrawError) -> Bitmap {
    if let bitmap = hit(request) { return bitmap }
    let handle = Lock<DrawTask?>(nil)
    let outcome = await withTaskCancellationHandler {
      await callback { (finish: @escaping @Sendable (DrawOutcome) -> Void) in
        let task = enqueue(request, on: ImmediateCompletionQueue(), completion: finish)
        handle.withLock { $0 = task }
        // A cancel that came before there was a handle has found none.
        if Task.isCancelled { task.cancel() }
      }
    } onCancel: {
      handle.withLock { $0 }?.cancel()
    }
    return try outcome.get()
  }

  /// The bitmap, now: from memory, or drawn on the calling thread, or waited for if another thread is drawing it.
  ///
  /// Never waits behind other keys. A draw block may call this for another key than its own.
  public func bitmapNow(for request: DrawRequest) throws(DrawError) -> Bitmap {
    let key = request.cacheKey
    if let bitmap = hit(request) { return bitmap }
    if DrawStack.contains(key, of: self) { throw .recursive(key: request.key) }
    enum Part {
      case draws(DrawRequest)
      case waits
      case drawsAlone
    }
    let semaphore = DispatchSemaphore(value: 0)
    let received = Lock<DrawOutcome?>(nil)
    let task = DrawTask(queue: ImmediateCompletionQueue(), cancellation: { _ in }) { outcome in
      received.withLock { $0 = outcome }
      semaphore.signal()
    }
    let part = state.withLock { state -> Part in
      guard let job = state.jobs[key] else {
        state.jobs[key] = Job(
          request: request, number: state.takeNumber(), priority: .veryHigh, isDrawing: true)
        return .draws(request)
      }
      if !job.isDrawing {
        // No waiting in a queue for what this thread can do itself.
        state.jobs[key]!.isDrawing = true
        return .draws(job.request)
      }
      // Who draws must not wait for one who may be waiting for him.
      guard DrawStack.isEmpty else { return .drawsAlone }
      state.jobs[key]!.waiters.append(task)
      return .waits
    }
    switch part {
    case .draws(let request): return try perform(request).get()
    case .drawsAlone: return try drawn(request).get()
    case .waits:
      counters.coalesced.increment()
      semaphore.wait()
      return try received.withLock { $0! }.get()
    }
  }

  /// Forgets the bitmap of a request.
  public func removeBitmap(for request: DrawRequest) { cache.removeBitmap(for: request.cacheKey) }

  /// Forgets all bitmaps.
  public func removeAll() { cache.removeAll() }

  // MARK: Jobs

  private func enqueue(
    _ request: DrawRequest, on queue: any CompletionQueue, completion: @escaping @Sendable (DrawOutcome) -> Void
  ) -> DrawTask {
    let key = request.cacheKey
    let task = DrawTask(
      queue: queue, cancellation: { [weak self] in self?.cancel($0, of: key) }, completion: completion)
    if case .failure(let error) = request.pixels {
      counters.failures.increment()
      task.deliver(.failed(.raster(error)))
      return task
    }
    let submits = state.withLock { state -> Int? in
      guard var job = state.jobs[key] else {
        let job = Job(request: request, number: state.takeNumber(), priority: request.priority, waiters: [task])
        state.jobs[key] = job
        return job.number
      }
      counters.coalesced.increment()
      let rises = !job.isDrawing && request.priority > job.priority
      job.priority = max(job.priority, request.priority)
      job.waiters.append(task)
      state.jobs[key] = job
      return rises ? job.number : nil
    }
    if let number = submits {
      // A job that becomes more urgent is queued once more; whichever turn comes second finds it gone.
      workers.submit(priority: request.priority) { [self] in run(key, number) }
    }
    return task
  }

  private func cancel(_ task: DrawTask, of key: BitmapKey) {
    counters.cancelled.increment()
    state.withLock { state in
      guard var job = state.jobs[key] else { return }
      job.waiters.removeAll { $0 === task }
      if job.waiters.isEmpty, !job.isDrawing {
        state.jobs[key] = nil
        counters.cancelledBeforeStart.increment()
      } else {
        state.jobs[key] = job
      }
    }
  }

  private func run(_ key: BitmapKey, _ number: Int) {
    let request = state.withLock { state -> DrawRequest? in
      guard let job = state.jobs[key], job.number == number, !job.isDrawing else { return nil }
      state.jobs[key]!.isDrawing = true
      return job.request
    }
    if let request { _ = perform(request) }
  }

  /// Draws a job that is marked as drawing, and tells all who wait.
  private func perform(_ request: DrawRequest) -> DrawOutcome {
    let key = request.cacheKey
    // Between a caller's look into the cache and its turn here another draw of the key may have ended.
    let outcome = cache.bitmap(for: key).map { DrawOutcome.memoryHit($0) } ?? drawn(request)
    let waiters = state.withLock { state in
      state.delivering += 1
      return state.jobs.removeValue(forKey: key)?.waiters ?? []
    }
    for waiter in waiters { waiter.deliver(outcome) }
    state.withLock { $0.delivering -= 1 }
    return outcome
  }

  /// Draws and keeps.
  private func drawn(_ request: DrawRequest) -> DrawOutcome {
    counters.draws.increment()
    let begin = MonotonicClock.now
    let result = DrawStack.with(request.cacheKey, of: self) {
      Result { () throws(DrawError) in try request.makeBitmap() }
    }
    let end = MonotonicClock.now
    counters.drawNanoseconds.wrappingAdd(Int(end - begin), ordering: .relaxed)
    trace?.slice(request.key, category: "draw", begin: begin, end: end)
    switch result {
    case .success(let bitmap):
      cache.insert(bitmap, for: request.cacheKey, cost: bitmap.byteCount)
      return .drawn(bitmap)
    case .failure(let error):
      counters.failures.increment()
      return .failed(error)
    }
  }
}
