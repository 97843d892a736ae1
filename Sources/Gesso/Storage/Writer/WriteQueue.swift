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
      if case .write = work { location == .documents && byteCount <= WriteQueue.largestOfBatch } else { false }
    }
    fileprivate var file: File? { name.map { File(location: location, name: $0) } }
  }

  fileprivate struct File: Hashable, Sendable {
    let location: StorageLocation
    let name: String
  }

  private struct State {
    /// What may be done now.
    var ready: ArraySlice<Job> = []
    /// Files that something is being done with, or is ready to be, and what comes after it.
    var following: [File: ArraySlice<Job>] = [:]
    /// What waits for room.
    var parked: ArraySlice<Job> = []
    var outstanding: [StorageLocation: Set<Int>] = [:]
    var barriers: [(location: StorageLocation, number: Int, finish: @Sendable () -> Void)] = []
    var byteCount = 0
    var number = 0
    var running = 0
    var isBatching = false

    mutating func add(_ job: Job) {
      byteCount += job.byteCount
      guard let file = job.file else { return ready.append(job) }
      if following[file]?.append(job) == nil {
        following[file] = []
        ready.append(job)
      }
    }

    mutating func end(_ job: Job) -> [@Sendable () -> Void] {
      byteCount -= job.byteCount
      outstanding[job.location]?.remove(job.number)
      if let file = job.file {
        if let next = following[file]!.popFirst() { ready.append(next) } else { following[file] = nil }
      }
      guard !barriers.isEmpty else { return [] }
      let waiting = barriers
      barriers = waiting.filter { isOutstanding(before: $0.number, in: $0.location) }
      return waiting.filter { !isOutstanding(before: $0.number, in: $0.location) }.map(\.finish)
    }

    func isOutstanding(before number: Int, in location: StorageLocation) -> Bool {
      outstanding[location]?.contains { $0 <= number } ?? false
    }

    /// What may be done next: a job, or some of a batch.
    mutating func take() -> [Job] {
      guard let first = ready.firstIndex(where: { !($0.isForBatch && isBatching) }) else { return [] }
      let job = ready.remove(at: first)
      guard job.isForBatch else { return [job] }
      isBatching = true
      var (batch, rest) = ([job], ArraySlice<Job>())
      var bytes = job.byteCount
      for job in ready {
        if job.isForBatch, batch.count < WriteQueue.batchCount, bytes + job.byteCount <= WriteQueue.batchBytes {
          batch.append(job)
          bytes += job.byteCount
        } else {
          rest.append(job)
        }
      }
      ready = rest
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
      state.outstanding[job.location, default: []].insert(job.number)
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
    guard state.running < pool.count, state.ready.contains(where: { !($0.isForBatch && state.isBatching) }) else {
      return false
    }
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
        return (ended, state.ready.count > 1 && starts(&state))
      }
      for finish in ended { finish() }
      if isMore { pool.submit { [self] in run() } }
    }
  }

  /// Calls back when all that was asked for before is done.
  func barrier(_ location: StorageLocation, finish: @escaping @Sendable () -> Void) {
    let isDone = state.withLock { state in
      guard state.isOutstanding(before: state.number, in: location) else { return true }
      state.barriers.append((location, state.number, finish))
      return false
    }
    if isDone { finish() }
  }
}
