/// The draws of one drawer that wait or run, and who waits for them: what its lock guards.
struct DrawJobs {
  /// A draw that waits or runs.
  // Proof of safety: what changes is touched under the lock of the drawer only; `began` and `isForCaller` also by the one
  // who draws, after he has set them under it, and then nobody changes them.
  final class Job: @unchecked Sendable {
    let request: DrawRequest
    let number: Int
    let cancellation = DrawCancellation()
    var priority: DrawPriority
    /// In the queue of the workers; none while stores are asked, and for a caller who draws by himself.
    var ticket: WorkerPool.Ticket?
    /// When its block began to run; `nil` before.
    var began: Int64?
    var waiters: [DrawTask]
    /// Whether a caller draws by himself, who is no waiter, and cannot be cancelled.
    var isForCaller = false

    init(_ request: DrawRequest, number: Int, waiters: [DrawTask]) {
      self.request = request
      self.number = number
      self.waiters = waiters
      priority = request.priority
    }

    var isDrawing: Bool { began != nil }

    /// Takes a waiter out; false if he is none. The block is told if he was the last one, and it is so wished.
    func remove(_ task: DrawTask, stopsDraw: Bool) -> Bool {
      guard let place = waiters.firstIndex(where: { $0 === task }) else { return false }
      waiters.remove(at: place)
      if waiters.isEmpty, stopsDraw { giveUp() }
      return true
    }

    func giveUp() {
      if isDrawing, !isForCaller { cancellation.giveUp() }
    }
  }

  /// Those that new requests of the key join.
  private(set) var current: [BitmapKey: Job] = [:]
  /// Those that run, by their numbers; also those that nobody joins: their key was invalidated, or their block was told to
  /// stop.
  private var running: [Int: Job] = [:]
  /// To which the tasks of now belong.
  private(set) var epoch = DrawTask.Epoch()
  /// Prefetches under way.
  var prefetches: [BitmapKey: DrawTask] = [:]
  /// Jobs that have ended, and whose outcomes are being handed over.
  var delivering = 0
  private var nextNumber = 0

  var isEmpty: Bool { current.isEmpty && running.isEmpty }

  /// The job that a request may join; a running one that stops is none.
  mutating func joinable(_ key: BitmapKey) -> Job? {
    guard let job = current[key] else { return nil }
    if job.cancellation.wantAgain() { return job }
    detach(key)
    return nil
  }

  mutating func add(_ request: DrawRequest, waiters: [DrawTask] = []) -> Job {
    nextNumber += 1
    let job = Job(request, number: nextNumber, waiters: waiters)
    current[request.cacheKey] = job
    return job
  }

  /// Marks a job as drawing, unless it is over, or somebody else draws it.
  mutating func begin(_ key: BitmapKey, _ number: Int, at time: Int64, forCaller: Bool = false) -> Job? {
    guard let job = current[key], job.number == number, !job.isDrawing else { return nil }
    job.began = time
    job.isForCaller = forCaller
    running[number] = job
    return job
  }

  /// Takes a job out that has ended. Whether it was detached is whether its bitmap is out of date.
  mutating func end(_ job: Job) -> (waiters: [DrawTask], wasDetached: Bool) {
    let key = job.request.cacheKey
    running[job.number] = nil
    guard current[key] === job else { return (job.waiters, true) }
    current[key] = nil
    return (job.waiters, false)
  }

  /// Lets no request join a job any more. One that has not begun stays: it draws what is new.
  mutating func detach(_ key: BitmapKey) {
    if let job = current[key], job.isDrawing { current[key] = nil }
  }

  /// The same for all keys that are selected.
  mutating func detach(_ selection: KeySelection) {
    for job in running.values where selection.contains(job.request.key) && current[job.request.cacheKey] === job {
      current[job.request.cacheKey] = nil
    }
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

  /// Ends the epoch: takes all waiters out, and all jobs that have not begun. Takes no longer for more of these: the caller
  /// looks through them.
  mutating func cancelAll() -> (jobs: [BitmapKey: Job], ofRunning: [DrawTask]) {
    epoch.end()
    epoch = DrawTask.Epoch()
    var (jobs, waiters) = (current, [DrawTask]())
    current = [:]
    for job in running.values {
      if jobs[job.request.cacheKey] === job {
        jobs[job.request.cacheKey] = nil
        current[job.request.cacheKey] = job
      }
      waiters += job.waiters
      job.waiters = []
      job.giveUp()
    }
    prefetches = [:]
    return (jobs, waiters)
  }

  /// When each block that runs now began.
  var beginnings: [Int64] { running.values.compactMap(\.began) }
}
