import Dispatch
import Foundation

/// What a disk writer has been asked for: of each file one thing after the other, some files at a time, and many durable
/// ones in one go.
///
/// Thread-safety: any thread.
final class WriteQueue: Sendable {
  /// One thing to do.
  struct Job: Sendable {
    enum Work: Sendable {
      case write(any Persistable)
      /// Something else with a file of that name.
      case other(@Sendable () -> Void)
    }

    let work: Work
    let location: StorageLocation
    /// `nil`: a name that nobody else has.
    let name: String?
    /// About how many bytes it holds in memory.
    let byteCount: Int
    let task: WriteTask
    let finish: @Sendable (DiskWriter.Outcome) -> Void
    fileprivate(set) var number = 0

    /// Durable ones are written together, if they are not so large that others would wait for them.
    fileprivate var isForBatch: Bool {
      // How long a copy takes nobody knows.
      guard case .write(let value) = work, !(value is CopiedFile) else { return false }
      return location == .documents && byteCount <= WriteQueue.largestOfBatch
    }
    fileprivate var file: File? { name.map { File(location: location, name: $0) } }
  }

  fileprivate struct File: Hashable, Sendable {
    let location: StorageLocation
    let name: String
  }

  private struct State {
    /// What may be done now: by itself, or with others. Of both the one that was asked for first comes first.
    var single: ArraySlice<Job> = []
    var forBatch: ArraySlice<Job> = []
    /// Files that something is being done with, or is ready to be, and what comes after it.
    var following: [File: ArraySlice<Job>] = [:]
    /// What waits for room.
    var parked: ArraySlice<Job> = []
    var outstanding: [StorageLocation: Int] = [:]
    /// Who waits for what was asked for up to a number, and how much of that is not done.
    var barriers: [(location: StorageLocation, number: Int, left: Int, finish: @Sendable () -> Void)] = []
    var byteCount = 0
    var number = 0
    var running = 0
    var isBatching = false

    /// How many threads have something to do.
    var readyCount: Int { single.count + (forBatch.isEmpty || isBatching ? 0 : 1) }

    mutating func add(_ job: Job) {
      byteCount += job.byteCount
      guard let file = job.file else { return makeReady(job) }
      if following[file]?.append(job) == nil {
        following[file] = []
        makeReady(job)
      }
    }

    private mutating func makeReady(_ job: Job) {
      if job.isForBatch { forBatch.append(job) } else { single.append(job) }
    }

    mutating func end(_ job: Job) -> [@Sendable () -> Void] {
      byteCount -= job.byteCount
      outstanding[job.location]! -= 1
      if let file = job.file {
        if let next = following[file]!.popFirst() { makeReady(next) } else { following[file] = nil }
      }
      for place in barriers.indices
      where barriers[place].location == job.location && barriers[place].number >= job.number {
        barriers[place].left -= 1
      }
      defer { barriers.removeAll { $0.left == 0 } }
      return barriers.filter { $0.left == 0 }.map(\.finish)
    }

    /// What is to be done next: a job, or some of a batch.
    mutating func take() -> [Job] {
      let isBatch =
        if !isBatching, let first = forBatch.first { first.number < single.first?.number ?? .max } else { false }
      guard isBatch else { return single.popFirst().map { [$0] } ?? [] }
      isBatching = true
      var batch: [Job] = []
      var bytes = 0
      while let job = forBatch.first, batch.count < WriteQueue.batchCount,
        batch.isEmpty || bytes + job.byteCount <= WriteQueue.batchBytes
      {
        batch.append(forBatch.removeFirst())
        bytes += job.byteCount
      }
      return batch
    }
  }

  static let batchCount = 32
  private static let batchBytes = 8 << 20
  private static let largestOfBatch = 1 << 20

  private let state = Lock(State())
  private let pool: WorkerPool
  private let limit: Int
  private let perform: @Sendable ([Job]) -> Void

  /// - Parameters:
  ///   - perform: does some jobs, and calls `finish` of each.
  init(concurrency: Int, limit: Int, perform: @escaping @Sendable ([Job]) -> Void) {
    pool = WorkerPool(count: concurrency, name: "gesso.writer")
    (self.limit, self.perform) = (limit, perform)
  }

  /// What becomes of a job for which there is no room.
  enum WithoutRoom {
    case waits
    case fails
  }

  /// Adds a job; does no I/O, and never waits.
  func submit(_ job: Job, withoutRoom: WithoutRoom) {
    enum Next { case nothing, starts, full }
    let next = state.withLock { state -> Next in
      var job = job
      state.number += 1
      job.number = state.number
      let hasRoom = state.parked.isEmpty && (state.byteCount == 0 || state.byteCount + job.byteCount <= limit)
      guard hasRoom || withoutRoom == .waits else { return .full }
      state.outstanding[job.location, default: 0] += 1
      if hasRoom { state.add(job) } else { state.parked.append(job) }
      return starts(&state) ? .starts : .nothing
    }
    switch next {
    case .nothing: break
    case .starts: pool.submit { [self] in run() }
    case .full:
      // If it is not cancelled already; nor can it be from now on.
      guard job.task.advance(from: .waiting, to: .refused) else { return }
      job.task.forgetDrop()
      later { [limit] in job.finish(.failure(.queueFull(limit: limit))) }
    }
  }

  /// Tells how something ended that has not begun: not from within the call, nor when a thread that writes is free.
  func later(_ body: @escaping @Sendable () -> Void) { DispatchQueue.global(qos: .utility).async(execute: body) }

  /// Whether another thread has something to do.
  private func starts(_ state: inout State) -> Bool {
    guard state.running < pool.count, state.readyCount > 0 else { return false }
    state.running += 1
    return true
  }

  private func run() {
    while true {
      let jobs = state.withLock { state in
        let jobs = state.take()
        if jobs.isEmpty { state.running -= 1 }
        return jobs
      }
      if jobs.isEmpty { return }
      perform(jobs)
      let (ended, isMore) = state.withLock { state -> ([@Sendable () -> Void], Bool) in
        if jobs[0].isForBatch { state.isBatching = false }
        var ended: [@Sendable () -> Void] = []
        for job in jobs { ended += state.end(job) }
        while let next = state.parked.first, state.byteCount == 0 || state.byteCount + next.byteCount <= limit {
          state.parked.removeFirst()
          state.add(next)
        }
        // This thread takes one of what is ready; are there more?
        return (ended, state.readyCount > 1 && starts(&state))
      }
      for finish in ended { finish() }
      if isMore { pool.submit { [self] in run() } }
    }
  }

  /// Calls back when all that was asked for before is done.
  func barrier(_ location: StorageLocation, finish: @escaping @Sendable () -> Void) {
    let isDone = state.withLock { state in
      let left = state.outstanding[location] ?? 0
      if left > 0 { state.barriers.append((location, state.number, left, finish)) }
      return left == 0
    }
    if isDone { finish() }
  }
}
