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
      let task = DrawTask(queue: queue, cancellation: { _, _ in }, completion: completion)
      task.deliver(.failed(.raster(error)))
      return task
    }
    enum Next {
      case nothing
      case asksStores(Int)
      case draws(WorkerPool.Ticket, inPlaceOf: WorkerPool.Ticket?)
    }
    let (task, next) = jobs.withLock { jobs -> (DrawTask, Next) in
      let task = DrawTask(
        queue: queue, epoch: jobs.epoch, cancellation: { [weak self] in self?.cancel($0, of: key, stopsDraw: $1) },
        completion: completion)
      guard let job = jobs.joinable(key) else {
        let job = jobs.add(request, waiters: [task])
        if request.usesStores, !stores.isEmpty { return (task, .asksStores(job.number)) }
        let ticket = ticket(for: job)
        job.ticket = ticket
        return (task, .draws(ticket, inPlaceOf: nil))
      }
      counters.coalesced.increment()
      job.waiters.append(task)
      let rises = request.priority > job.priority, old = job.ticket
      job.priority = max(job.priority, request.priority)
      // One that stores are being asked for is queued later, with the priority that it has then.
      guard rises, !job.isDrawing, let old else { return (task, .nothing) }
      let ticket = ticket(for: job)
      job.ticket = ticket
      return (task, .draws(ticket, inPlaceOf: old))
    }
    switch next {
    case .nothing: break
    case .asksStores(let number): askStores(for: request, number)
    case .draws(let ticket, let old):
      workers.submit(ticket)
      if let old { workers.drop([old]) }
    }
    return task
  }

  private func ticket(for job: DrawJobs.Job) -> WorkerPool.Ticket {
    let (key, number, submitted) = (job.request.cacheKey, job.number, MonotonicClock.now)
    return WorkerPool.Ticket(priority: job.priority, deadline: job.request.deadlineNanoseconds) { [self] in
      let now = MonotonicClock.now
      guard let job = jobs.withLock({ $0.begin(key, number, at: now) }) else { return }
      counters.times.withLock { $0.queue.add(nanoseconds: now - submitted) }
      _ = perform(job)
    }
  }

  private func cancel(_ task: DrawTask, of key: BitmapKey, stopsDraw: Bool) {
    counters.cancelled.increment()
    let (wasDropped, ticket) = jobs.withLock { $0.cancel(task, of: key, stopsDraw: stopsDraw) }
    if wasDropped { counters.cancelledBeforeStart.increment() }
    if let ticket { workers.drop([ticket]) }
  }

  /// Draws a job that is marked as drawing, and tells all who wait.
  func perform(_ job: DrawJobs.Job) -> DrawOutcome {
    let key = job.request.cacheKey
    // Between a caller's look into the cache and its turn here another draw of the key may have ended.
    if let bitmap = cache.bitmap(for: key) { return end(job, .memoryHit(bitmap)) }
    let outcome = drawn(job.request, job.cancellation)
    if case .drawn(let bitmap) = outcome, job.request.usesStores { write(bitmap, for: key, number: job.number) }
    return end(job, outcome)
  }

  private func end(_ job: DrawJobs.Job, _ outcome: DrawOutcome) -> DrawOutcome {
    let key = job.request.cacheKey
    let (waiters, wasDetached) = jobs.withLock { jobs in
      jobs.delivering += 1
      return jobs.end(job)
    }
    // Its key was invalidated while it was drawn: it must not stay. A newer one that goes with it is drawn again.
    if wasDetached, outcome.bitmap != nil { cache.removeBitmap(for: key) }
    if waiters.isEmpty, !job.isForCaller, case .drawn = outcome, let began = job.began {
      counters.wastedNanoseconds.wrappingAdd(Int(MonotonicClock.now - began), ordering: .relaxed)
    }
    for waiter in waiters { waiter.deliver(outcome) }
    jobs.withLock { $0.delivering -= 1 }
    return outcome
  }

  /// Draws and keeps.
  func drawn(_ request: DrawRequest, _ cancellation: DrawCancellation) -> DrawOutcome {
    counters.draws.increment()
    let begin = MonotonicClock.now
    let result = DrawStack.with(request.cacheKey, of: self, cancellation) {
      Result { () throws(DrawError) in try request.makeBitmap() }
    }
    let end = MonotonicClock.now
    counters.drawNanoseconds.wrappingAdd(Int(end - begin), ordering: .relaxed)
    counters.times.withLock { $0.draw.add(nanoseconds: end - begin) }
    trace?.slice(request.key, category: "draw", begin: begin, end: end)
    // A block that was told to stop has drawn no picture, or half of one.
    if cancellation.wasSeen { return .cancelled }
    switch result {
    case .success(let bitmap):
      cache.insert(
        bitmap, for: request.cacheKey,
        cost: BitmapCost(byteCount: bitmap.byteCount, drawNanoseconds: Int(end - begin)))
      return .drawn(bitmap)
    case .failure(let error):
      counters.failures.increment()
      return .failed(error)
    }
  }

  // MARK: Stores

  /// Asks one store after the other, and has the bitmap drawn if none has it.
  private func askStores(for request: DrawRequest, _ number: Int) {
    Task { [self] in
      let key = request.cacheKey
      for (index, store) in stores.enumerated() {
        guard let blob = await read(key, from: store) else { continue }
        let decoded = Result { () throws(BlobError) in try Bitmap(decoding: blob) }
        guard case .success(let bitmap) = decoded, key.fits(bitmap) else {
          counters.storeFailures.increment()
          changing(store) { try await $0.remove(key) }
          continue
        }
        // Somebody may have drawn it in the meantime, or nobody may want it.
        guard let job = jobs.withLock({ $0.begin(key, number, at: MonotonicClock.now) }) else { return }
        cache.insert(bitmap, for: key, cost: BitmapCost(byteCount: bitmap.byteCount))
        if store.tier == .disk { counters.diskHits.increment() } else { counters.remoteHits.increment() }
        for nearer in stores[..<index] { changing(nearer) { try await $0.put(blob, for: key) } }
        _ = end(job, store.tier == .disk ? .diskHit(bitmap) : .remoteHit(bitmap))
        return
      }
      let ticket = jobs.withLock { jobs -> WorkerPool.Ticket? in
        guard let job = jobs.current[key], job.number == number, !job.isDrawing else { return nil }
        job.ticket = self.ticket(for: job)
        return job.ticket
      }
      if let ticket { workers.submit(ticket) }
    }
  }

  private func read(_ key: BitmapKey, from store: any BlobStore) async -> Data? {
    do { return try await store.blob(for: key) } catch {
      counters.storeFailures.increment()
      return nil
    }
  }

  /// Writes a bitmap to all stores when nothing else is to do, unless its key has been invalidated since.
  private func write(_ bitmap: Bitmap, for key: BitmapKey, number: Int) {
    guard !stores.isEmpty else { return }
    workers.submit(priority: .veryLow) { [self] in
      guard cache.bitmap(for: key) === bitmap, let blob = try? bitmap.encoded(level: .fast) else { return }
      for store in stores { changing(store) { try await $0.put(blob, for: key) } }
    }
  }

  /// Does something with a store, and counts it if that fails.
  func changing(_ store: any BlobStore, _ change: @escaping @Sendable (any BlobStore) async throws -> Void) {
    Task { [counters] in
      do { try await change(store) } catch { counters.storeFailures.increment() }
    }
  }
}
