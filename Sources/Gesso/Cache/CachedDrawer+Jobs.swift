import Foundation

/// What becomes of a request that is not in memory: stores are asked, then a worker draws, and all who wait are told.
extension CachedDrawer {
  func enqueue(
    _ request: DrawRequest, on queue: any CompletionQueue, completion: @escaping @Sendable (DrawOutcome) -> Void
  ) -> DrawTask {
    let key = request.cacheKey
    counters.misses.increment()
    if case .failure(let error) = request.pixels {
      counters.failures.increment()
      let task = DrawTask(queue: queue, completion: completion)
      task.deliver(.failed(.raster(error)))
      return task
    }
    enum Next {
      case nothing
      case asksStores(DrawJobs.Job)
      case draws(WorkerPool.Ticket, inPlaceOf: WorkerPool.Ticket?)
    }
    let (task, next) = jobs.withLock { jobs -> (DrawTask, Next) in
      let task = DrawTask(
        queue: queue, epoch: jobs.epoch, key: key, priority: request.priority, deadline: request.boxedDeadline,
        completion: completion)
      guard let job = jobs.joinable(key) else {
        let job = jobs.add(request, waiter: task)
        if request.usesStores, !stores.isEmpty { return (task, .asksStores(job)) }
        job.ticket = ticket(for: job)
        return (task, .draws(job.ticket!, inPlaceOf: nil))
      }
      counters.coalesced.increment()
      job.waiters.append(task)
      let isSooner = request.boxedDeadline.comes(before: job.deadline)
      let rises = request.priority > job.priority || isSooner
      job.priority = max(job.priority, request.priority)
      if isSooner { job.deadline = request.boxedDeadline }
      // One that stores are being asked for is queued later, as urgent as it is then.
      guard rises, !job.isDrawing, let old = job.ticket else { return (task, .nothing) }
      job.ticket = ticket(for: job)
      return (task, .draws(job.ticket!, inPlaceOf: old))
    }
    switch next {
    case .nothing: break
    case .asksStores(let job): askStores(for: job)
    case .draws(let ticket, let old):
      workers.submit(ticket)
      if let old { workers.drop([old]) }
    }
    return task
  }

  /// It and the job keep one another until it is taken, or dropped.
  private func ticket(for job: DrawJobs.Job) -> WorkerPool.Ticket {
    WorkerPool.Ticket(priority: job.priority, deadline: job.deadline) { [self] in
      let now = MonotonicClock.now
      guard jobs.withLock({ $0.begin(job, at: now) }) else { return }
      counters.times.withLock { $0.queue.add(nanoseconds: now - job.submitted) }
      _ = perform(job)
    }
  }

  func cancel(_ task: DrawTask, of key: BitmapKey, stopsDraw: Bool) {
    counters.cancelled.increment()
    let (wasDropped, old, new) = jobs.withLock { jobs -> (Bool, WorkerPool.Ticket?, WorkerPool.Ticket?) in
      let (wasDropped, ticket) = jobs.cancel(task, of: key, stopsDraw: stopsDraw)
      // Those who wait still may be less urgent.
      guard !wasDropped, let job = jobs.current[key], !job.isDrawing, job.settle(after: task), job.ticket != nil
      else { return (wasDropped, ticket, nil) }
      let old = job.ticket
      job.ticket = self.ticket(for: job)
      return (false, old, job.ticket)
    }
    if wasDropped { counters.cancelledBeforeStart.increment() }
    if let new { workers.submit(new) }
    if let old { workers.drop([old]) }
  }

  /// Draws a job that is marked as drawing, and tells all who wait.
  func perform(_ job: DrawJobs.Job) -> DrawOutcome {
    let key = job.request.cacheKey
    // Between a caller's look into the cache and its turn here another draw of the key may have ended.
    if let bitmap = cache.bitmap(for: key) ?? cache.restoredBitmap(for: key) { return end(job, .memoryHit(bitmap)) }
    let writes = job.request.usesStores && !stores.isEmpty
    if writes { jobs.withLock { $0.writing += 1 } }
    let outcome = end(job, drawn(job))
    if writes {
      if case .drawn(let bitmap) = outcome { write(bitmap, of: job) } else { endWriting() }
    }
    return outcome
  }

  private func end(_ job: DrawJobs.Job, _ outcome: DrawOutcome) -> DrawOutcome {
    let waiters = jobs.withLock { jobs in
      jobs.delivering += 1
      return jobs.end(job)
    }
    if waiters.isEmpty, !job.isForCaller, let began = job.began {
      counters.wastedNanoseconds.wrappingAdd(Int(MonotonicClock.now - began), ordering: .relaxed)
    }
    switch outcome {
    case .diskHit: counters.diskHits.wrappingAdd(waiters.count, ordering: .relaxed)
    case .remoteHit: counters.remoteHits.wrappingAdd(waiters.count, ordering: .relaxed)
    default: break
    }
    // A draw block that has asked for this bitmap may hold locks, and must not be asked for by those who are told. Who only
    // waits is told at once: a worker may not be free before this block has ended.
    let isWithin = !DrawStack.isEmpty
    var isLeft = false
    for waiter in waiters {
      if isWithin, !waiter.onlyWakes { isLeft = true } else { waiter.deliver(outcome) }
    }
    guard isLeft else {
      jobs.withLock { $0.delivering -= 1 }
      return outcome
    }
    workers.submit(priority: .veryHigh) { [self] in
      for waiter in waiters where !waiter.onlyWakes { waiter.deliver(outcome) }
      jobs.withLock { $0.delivering -= 1 }
    }
    return outcome
  }

  /// Draws and keeps.
  private func drawn(_ job: DrawJobs.Job) -> DrawOutcome {
    let request = job.request
    counters.draws.increment()
    let begin = MonotonicClock.now
    let result = DrawStack.with(job, of: self) {
      Result { () throws(DrawError) in try request.makeBitmap() }
    }
    let end = MonotonicClock.now
    counters.drawNanoseconds.wrappingAdd(Int(end - begin), ordering: .relaxed)
    counters.times.withLock { $0.draw.add(nanoseconds: end - begin) }
    trace?.slice(request.key, category: "draw", begin: begin, end: end)
    // A block that was told to stop has drawn no picture, or half of one.
    if job.cancellation.wasSeen { return .cancelled }
    switch result {
    case .success(let bitmap):
      keep(bitmap, of: job, drawNanoseconds: Int(end - begin))
      return .drawn(bitmap)
    case .failure(let error):
      counters.failures.increment()
      return .failed(error)
    }
  }

  /// Keeps a bitmap, unless it is out of date. An invalidation comes before this, and finds nothing, or after, and finds it.
  private func keep(_ bitmap: Bitmap, of job: DrawJobs.Job, drawNanoseconds: Int) {
    keeping.withLock { _ in
      if jobs.withLock({ $0.isStale(job) }) { return }
      cache.insert(
        bitmap, for: job.request.cacheKey,
        cost: BitmapCost(byteCount: bitmap.byteCount, drawNanoseconds: drawNanoseconds))
    }
  }

  // MARK: Stores

  /// Asks one store after the other, and has the bitmap drawn if none has it.
  private func askStores(for job: DrawJobs.Job) {
    Task { [self] in
      let key = job.request.cacheKey
      for (index, store) in stores.enumerated() {
        // Nobody may want it any more, or somebody has drawn it.
        guard jobs.withLock({ $0.isWaiting(job) }) else { return }
        guard let blob = await store.blob(for: key) else { continue }
        let decoded = Result { () throws(BlobError) in try Bitmap(decoding: blob) }
        guard case .success(let bitmap) = decoded, key.fits(bitmap) else {
          counters.storeFailures.increment()
          store.remove(key)
          continue
        }
        // Somebody may have drawn it in the meantime, nobody may want it, or it may be out of date.
        guard jobs.withLock({ $0.beginWithBlob(job, at: MonotonicClock.now) }) else {
          // As what was drawn for nobody, it is kept: places whose requests change all the time would never get anything.
          if jobs.withLock({ !$0.isWaiting(job) && !job.isDrawing }) { keep(bitmap, of: job, drawNanoseconds: 0) }
          break
        }
        keep(bitmap, of: job, drawNanoseconds: 0)
        put(blob, of: job, to: stores[..<index])
        _ = end(job, store.store.tier == .disk ? .diskHit(bitmap) : .remoteHit(bitmap))
        return
      }
      let ticket = jobs.withLock { jobs -> WorkerPool.Ticket? in
        guard jobs.isWaiting(job) else { return nil }
        job.ticket = self.ticket(for: job)
        return job.ticket
      }
      if let ticket { workers.submit(ticket) }
    }
  }

  /// Writes a bitmap to all stores: encoded by the worker that has drawn it, after all who wait are told. A caller who has
  /// drawn by himself leaves that to a worker.
  private func write(_ bitmap: Bitmap, of job: DrawJobs.Job) {
    let encode: @Sendable () -> Void = { [self] in
      defer { endWriting() }
      if jobs.withLock({ $0.isStale(job) }) { return }
      if let blob = try? bitmap.encoded(level: .fast) { put(blob, of: job, to: stores[...]) }
    }
    if job.isForCaller { workers.submit(priority: .veryLow, encode) } else { encode() }
  }

  private func endWriting() {
    let waiters = jobs.withLock { jobs -> [@Sendable () -> Void] in
      jobs.writing -= 1
      guard jobs.writing == 0 else { return [] }
      defer { jobs.whenWritten = [] }
      return jobs.whenWritten
    }
    for waiter in waiters { waiter() }
  }

  /// Returns when what was drawn is in the stores, or they have failed: before a program ends, say. What is being drawn
  /// meanwhile is waited for, too.
  public func flush() async {
    let _: Bool = await callback { finish in
      let isWritten = jobs.withLock { jobs in
        if jobs.writing > 0 { jobs.whenWritten.append { finish(true) } }
        return jobs.writing == 0
      }
      if isWritten { finish(true) }
    }
    for store in stores { await store.flush() }
  }

  private func put(_ blob: Data, of job: DrawJobs.Job, to stores: ArraySlice<StoreQueue>) {
    jobs.withLock { jobs in
      if !jobs.isStale(job) { for store in stores { store.put(blob, for: job.request.cacheKey) } }
    }
  }
}
