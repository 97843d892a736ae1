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
    /// Where blobs are looked for before something is drawn, in this order, and written to after.
    public var stores: [any BlobStore]
    /// Where completions of misses are called; the main queue.
    public var completions: any CompletionQueue
    /// Where draws are written down, for a profile.
    public var trace: Trace?

    /// The defaults, or others.
    public init(
      cache: any BitmapCache = MemoryCache(), workers: Int? = nil, stores: [any BlobStore] = [],
      completions: any CompletionQueue = DispatchQueue.main, trace: Trace? = nil
    ) {
      self.cache = cache
      self.workers = workers
      self.stores = stores
      self.completions = completions
      self.trace = trace
    }
  }

  /// A drawer for all of the program.
  public static let shared = CachedDrawer()

  /// Where bitmaps are kept.
  public let cache: any BitmapCache
  let workers: WorkerPool
  let stores: [StoreQueue]
  let completions: any CompletionQueue
  let trace: Trace?
  let counters = DrawerCounters()
  let jobs = Lock(DrawJobs())
  /// Held while a bitmap is put into the cache, and while what is invalidated is taken out. Comes before the one of jobs.
  let keeping = Lock(())

  /// A drawer.
  public init(_ configuration: Configuration = Configuration()) {
    cache = configuration.cache
    workers = configuration.workers.map { WorkerPool(count: $0) } ?? .shared
    stores = configuration.stores.map { [counters] in StoreQueue($0, counters) }
    completions = configuration.completions
    trace = configuration.trace
    jobs.withLock { $0.beginEpoch(of: self) }
  }

  /// What this drawer has done so far.
  public var statistics: DrawerStatistics {
    var statistics = counters.snapshot
    let beginnings = jobs.withLock { $0.beginnings }
    statistics.running = beginnings.count
    statistics.longestRunningMicroseconds = beginnings.min().map { Int((MonotonicClock.now - $0) / 1000) } ?? 0
    statistics.memory = (cache as? MemoryCache)?.statistics
    return statistics
  }

  /// Whether a draw waits or runs, or an outcome has not reached the completion queue yet.
  public var isBusy: Bool { jobs.withLock { !$0.isEmpty || $0.delivering > 0 } }

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
        let task = enqueue(request, on: WakingQueue(), completion: finish)
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
  /// Never waits behind other keys, nor for stores. A draw block may call this for another key than its own.
  public func bitmapNow(for request: DrawRequest) throws(DrawError) -> Bitmap {
    let key = request.cacheKey
    if let bitmap = hit(request) { return bitmap }
    if DrawStack.contains(key, of: self) { throw .recursive(key: request.key) }
    counters.misses.increment()
    enum Part {
      case draws(DrawJobs.Job)
      case waits
    }
    let semaphore = DispatchSemaphore(value: 0)
    let received = Lock<DrawOutcome?>(nil)
    let task = DrawTask(queue: WakingQueue()) { outcome in
      received.withLock { $0 = outcome }
      semaphore.signal()
    }
    let now = MonotonicClock.now
    let part = jobs.withLock { jobs -> Part in
      let job = jobs.joinable(key) ?? jobs.add(request)
      // No waiting in a queue for what this thread can do itself.
      if jobs.begin(job, at: now, forCaller: true) { return .draws(job) }
      // Who draws must not wait for one who may be waiting for him.
      guard DrawStack.isEmpty else { return .draws(jobs.addAlone(request, at: now)) }
      job.waiters.append(task)
      return .waits
    }
    switch part {
    case .draws(let job):
      if let ticket = job.ticket { workers.drop([ticket]) }
      return try perform(job).get()
    case .waits:
      counters.coalesced.increment()
      semaphore.wait()
      return try received.withLock { $0! }.get()
    }
  }

  // MARK: Ahead, and back

  /// Draws what may be needed soon, when nothing more urgent is to do. What is in memory, or on its way, is left alone.
  ///
  /// A request for the same bitmap joins a prefetch, and makes it as urgent as itself.
  public func prefetch(_ requests: [DrawRequest]) {
    for var request in requests where cache.bitmap(for: request.cacheKey) == nil {
      let (key, prefetch) = (request.cacheKey, DrawJobs.Prefetch())
      request.priority = min(.low, request.priority)
      let begins = jobs.withLock { jobs in
        guard jobs.prefetches[key] == nil, jobs.current[key] == nil else { return false }
        jobs.prefetches[key] = (prefetch, nil)
        return true
      }
      guard begins else { continue }
      let task = enqueue(request, on: ImmediateCompletionQueue()) { [weak self] _ in
        self?.jobs.withLock { jobs in
          if jobs.prefetches[key]?.prefetch === prefetch { jobs.prefetches[key] = nil }
        }
      }
      jobs.withLock { jobs in
        if jobs.prefetches[key]?.prefetch === prefetch { jobs.prefetches[key]!.task = task }
      }
    }
  }

  /// Gives prefetches up. Others who wait for the same bitmaps get them.
  public func cancelPrefetch(_ requests: [DrawRequest]) {
    let tasks = jobs.withLock { jobs in
      requests.compactMap { jobs.prefetches.removeValue(forKey: $0.cacheKey)?.task }
    }
    for task in tasks { task.cancel() }
  }

  /// Gives all requests up. Draws that have begun are told, and those that have not are dropped.
  ///
  /// All tasks are finished when this returns, which it does at once, however many there are; those who wait are told
  /// after, in the background.
  public func cancelAll() {
    let all = jobs.withLock { $0.cancelAll(of: self) }
    DispatchQueue.global(qos: .utility).async { [self] in
      let dropped = Array(all.jobs.values)
      // Some at a time: others need the workers' lock meanwhile.
      for first in stride(from: 0, to: dropped.count, by: 500) {
        workers.drop(dropped[first..<min(first + 500, dropped.count)].compactMap(\.ticket))
      }
      counters.cancelledBeforeStart.wrappingAdd(dropped.count, ordering: .relaxed)
      for task in all.ofRunning where task.endAsCancelled() { counters.cancelled.increment() }
      for task in dropped.lazy.flatMap(\.waiters) where task.endAsCancelled() { counters.cancelled.increment() }
      jobs.withLock { $0.delivering -= 1 }
    }
  }

  // MARK: Forgetting

  /// Forgets the bitmap of a request, in memory and in stores.
  ///
  /// As for all that forgets: draws of it that run are delivered to those who asked before, and not kept; requests from
  /// now on draw anew.
  public func removeBitmap(for request: DrawRequest) {
    let key = request.cacheKey
    forget(.key(key.identity), inCache: { $0.removeBitmap(for: key) }, inStores: { $0.remove(key) })
  }

  /// Forgets all bitmaps of the user's keys that are selected.
  public func invalidate(_ selection: KeySelection) {
    forget(
      selection, inCache: { $0.removeBitmaps { selection.contains($0.identity) } },
      inStores: { $0.removeAll(selection) })
  }

  /// How many invalidations there have been; and whether one since was of a user's key.
  var invalidationCount: Int { jobs.withLock { $0.invalidations.count } }
  func wasInvalidated(_ key: String, since begin: Int) -> Bool {
    jobs.withLock { $0.invalidations.contains(key, since: begin) }
  }

  /// Notes the invalidation and asks stores to forget in one step: what is written before that is removed by it, what would
  /// be written after is out of date, and who reads after waits for the removal.
  private func forget(
    _ selection: KeySelection, inCache: (any BitmapCache) -> Void, inStores: (StoreQueue) -> Void
  ) {
    keeping.withLock { _ in
      jobs.withLock { jobs in
        jobs.invalidations.append(selection)
        for store in stores { inStores(store) }
      }
      inCache(cache)
    }
  }

  /// Forgets all bitmaps of a user's key, in whatever size, scale and background.
  public func invalidate(key: String) { invalidate(.key(key)) }

  /// Forgets all bitmaps of keys that begin so.
  public func invalidate(prefix: String) { invalidate(.prefix(prefix)) }

  /// Forgets all bitmaps.
  public func removeAll() { invalidate(.all) }
}
