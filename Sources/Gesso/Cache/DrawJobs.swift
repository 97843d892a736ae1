/// The draws of one drawer that wait or run, and who waits for them: what its lock guards.
struct DrawJobs {
  /// A draw that waits or runs.
  // Proof of safety: what changes is touched under the lock of the drawer only. Read without it are `began`, `since` and
  // `isForCaller` by the one who draws, after he has set them under it; and the ticket and the waiters of one that has been
  // taken out of the jobs, by the one who took it. Nobody changes them then.
  final class Job: @unchecked Sendable {
    let request: DrawRequest
    let number: Int
    let cancellation = DrawCancellation()
    var priority: DrawPriority
    var deadline: DrawDeadline?
    /// When it was first queued.
    let submitted = MonotonicClock.now
    /// In the queue of the workers; none while stores are asked, and for a caller who draws by himself.
    var ticket: WorkerPool.Ticket?
    /// When its block began to run; `nil` before.
    var began: Int64?
    /// How many invalidations there had been when it began to draw, or to ask stores.
    var since: Int
    var waiters: DrawWaiters
    /// Whether a caller draws by himself, who is no waiter, and cannot be cancelled.
    var isForCaller = false

    init(_ request: DrawRequest, number: Int, since: Int, waiters: DrawWaiters) {
      self.request = request
      self.number = number
      self.since = since
      self.waiters = waiters
      priority = request.priority
      deadline = request.boxedDeadline
    }

    var isDrawing: Bool { began != nil }

    /// Takes a waiter out; false if he is none. The block is told if he was the last one, and it is so wished.
    func remove(_ task: DrawTask, stopsDraw: Bool) -> Bool {
      guard waiters.remove(task) else { return false }
      if waiters.isEmpty, stopsDraw { giveUp() }
      return true
    }

    /// Is as urgent as the most urgent of those who wait, after one of them went. Returns whether that has changed.
    func settle(after task: DrawTask) -> Bool {
      guard !waiters.isEmpty, task.priority == priority || (deadline != nil && task.deadline === deadline) else {
        return false
      }
      let before = (priority, deadline)
      priority = waiters.reduce(.veryLow) { max($0, $1.priority) }
      deadline = waiters.reduce(DrawDeadline?.none) { $1.deadline.comes(before: $0) ? $1.deadline : $0 }
      return priority != before.0 || deadline !== before.1
    }

    func giveUp() {
      if isDrawing, !isForCaller { cancellation.giveUp() }
    }
  }

  /// A request that was made ahead, told apart from a later one of the same key.
  final class Prefetch: Sendable {}

  /// Those that new requests of the key join.
  private(set) var current: [BitmapKey: Job] = [:]
  /// Those that run, by their numbers; also those that nobody joins: their key was invalidated, their block was told to
  /// stop, or a caller draws what somebody else draws, too.
  private var running: [Int: Job] = [:]
  /// To which the tasks of now belong.
  private(set) var epoch: DrawTask.Epoch?
  var invalidations = InvalidationLog()
  /// Prefetches under way.
  var prefetches: [BitmapKey: (prefetch: Prefetch, task: DrawTask?)] = [:]
  /// Jobs that have ended, and whose outcomes are being handed over.
  var delivering = 0
  /// Bitmaps that are drawn, and are on their way to the stores; and who waits until there are none.
  var writing = 0
  var whenWritten: [@Sendable () -> Void] = []
  private var nextNumber = 0

  var isEmpty: Bool { current.isEmpty && running.isEmpty }

  /// Whether what a job draws, or has read, is out of date.
  func isStale(_ job: Job) -> Bool { invalidations.contains(job.request.key, since: job.since) }

  /// The job that a request may join: not one that stops, or that draws what is out of date.
  mutating func joinable(_ key: BitmapKey) -> Job? {
    guard let job = current[key] else { return nil }
    if !(job.isDrawing && isStale(job)), job.cancellation.wantAgain() { return job }
    current[key] = nil
    return nil
  }

  /// Ends the epoch, and begins the next one.
  mutating func beginEpoch(of drawer: CachedDrawer) {
    epoch?.end()
    epoch = DrawTask.Epoch(of: drawer)
  }

  private mutating func make(_ request: DrawRequest, waiters: DrawWaiters) -> Job {
    nextNumber += 1
    return Job(request, number: nextNumber, since: invalidations.count, waiters: waiters)
  }

  mutating func add(_ request: DrawRequest, waiter: DrawTask? = nil) -> Job {
    let job = make(request, waiters: DrawWaiters(waiter))
    current[request.cacheKey] = job
    return job
  }

  /// A caller's own draw beside that of somebody else.
  mutating func addAlone(_ request: DrawRequest, at time: Int64) -> Job {
    let job = make(request, waiters: DrawWaiters())
    job.began = time
    job.isForCaller = true
    running[job.number] = job
    return job
  }

  /// Marks a job as drawing; false if it is over, or somebody else draws it.
  mutating func begin(_ job: Job, at time: Int64, forCaller: Bool = false) -> Bool {
    guard isWaiting(job) else { return false }
    job.began = time
    job.since = invalidations.count
    job.isForCaller = forCaller
    running[job.number] = job
    return true
  }

  /// The same for one that has read its bitmap from a store; not if that is out of date.
  mutating func beginWithBlob(_ job: Job, at time: Int64) -> Bool {
    guard isWaiting(job), !isStale(job) else { return false }
    job.began = time
    running[job.number] = job
    return true
  }

  /// Whether a job is wanted, and nobody draws it.
  func isWaiting(_ job: Job) -> Bool { current[job.request.cacheKey] === job && !job.isDrawing }

  /// Takes a job out that has ended.
  mutating func end(_ job: Job) -> DrawWaiters {
    running[job.number] = nil
    if current[job.request.cacheKey] === job { current[job.request.cacheKey] = nil }
    return job.waiters
  }

  /// Takes a waiter out, wherever it is; a job that nobody waits for is dropped if it has not begun. Returns the ticket of
  /// a dropped one.
  mutating func cancel(_ task: DrawTask, of key: BitmapKey, stopsDraw: Bool) -> (wasDropped: Bool, WorkerPool.Ticket?) {
    if let job = current[key], job.remove(task, stopsDraw: stopsDraw) {
      guard job.waiters.isEmpty, !job.isDrawing else { return (false, nil) }
      current[key] = nil
      return (true, job.ticket)
    }
    for job in running.values where job.remove(task, stopsDraw: stopsDraw) { break }
    return (false, nil)
  }

  /// What is taken out when all is given up.
  struct GivenUp {
    var jobs: [BitmapKey: Job]
    var ofRunning: [DrawTask]
    fileprivate var prefetches: [BitmapKey: (prefetch: Prefetch, task: DrawTask?)]
  }

  /// Ends the epoch: takes all waiters out, and all jobs that have not begun. Takes no longer for more of these: the caller
  /// looks through them, and counts as delivering until he has.
  mutating func cancelAll(of drawer: CachedDrawer) -> GivenUp {
    beginEpoch(of: drawer)
    var all = GivenUp(jobs: current, ofRunning: [], prefetches: prefetches)
    (current, prefetches) = ([:], [:])
    for job in running.values {
      if all.jobs[job.request.cacheKey] === job {
        all.jobs[job.request.cacheKey] = nil
        current[job.request.cacheKey] = job
      }
      all.ofRunning += job.waiters
      job.waiters = DrawWaiters()
      job.giveUp()
    }
    delivering += 1
    return all
  }

  /// When each block that runs now began.
  var beginnings: [Int64] { running.values.compactMap(\.began) }
}
