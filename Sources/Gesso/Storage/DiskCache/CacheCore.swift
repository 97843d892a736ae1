import Foundation
import Synchronization

/// What tests replace in a disk cache.
struct CacheOptions: Sendable {
  var operations = FileOperations.system
  /// The names of keys in the index; tests give two keys the same.
  var rehash: @Sendable (KeyHash) -> KeyHash = { $0 }
  /// Nanoseconds after a failure before the next try; doubled with each, up to 32 times as many.
  var retryDelay: Int64 = 1_000_000_000
}

/// What the threads of a disk cache share.
final class CacheCore: Sendable {
  let path: String
  let options: CacheOptions
  let stage = CacheStage()
  let counters = CacheCounters()
  private let limits: DiskCacheLimits?
  let isReadOnly: Bool

  private struct State {
    var directory: CacheDirectory?
    var wasOpen = false
    /// What it is made for, once that was said.
    var known: DiskCacheLimits?
    /// Why it is not open, and when that is worth another try.
    var failure: FileFailure?
    var nextTry: Int64 = 0
    /// Why nothing was written the last time.
    var writeFailure: FileFailure?
    var isRebuilding = false
  }
  private let state = Lock(State())
  /// Held while the directory is being opened.
  private let opening = Lock(())
  private let isClosed = Atomic(false)

  init(_ path: String, _ limits: DiskCacheLimits?, isReadOnly: Bool, _ options: CacheOptions) {
    (self.path, self.limits, self.isReadOnly, self.options) = (path, limits, isReadOnly, options)
  }

  /// The largest blob that is kept, as far as that is known before it is open.
  var largestBlob: Int {
    min((opened?.index.limits ?? limits).map { $0.byteCount / 4 } ?? .max, BlobRecord.longestBlob)
  }

  /// The directory, if it is open.
  var opened: CacheDirectory? { state.withLock { $0.directory } }
  /// Why nothing can be read or written.
  var failure: FileFailure? { state.withLock { $0.writeFailure ?? $0.failure } }

  /// The directory, which is opened if it is not open, or another one by now.
  func directoryForReading() throws(FileFailure) -> CacheDirectory {
    let directory = opened
    if let directory, !directory.wasReplaced { return directory }
    if let failure = state.withLock({ $0.nextTry > MonotonicClock.now ? $0.failure : nil }) { throw failure }
    return try open(inPlaceOf: directory)
  }

  /// The same, if it may be written to, and has the name that the cache was given.
  func directoryForWriting() throws(FileFailure) -> CacheDirectory {
    let old = opened
    if let old, !old.isReadOnly, old.isCurrent(path) { return old }
    let directory = try open(inPlaceOf: old)
    if directory.isReadOnly { throw FileFailure("write to", "", -Int(EROFS)) }
    return directory
  }

  /// Opens the directory once more when it is needed next.
  /// - Parameter old: the one that is not good any more; `nil`: whichever it is.
  func reopen(inPlaceOf old: CacheDirectory? = nil) {
    let closed = state.withLock { state -> CacheDirectory? in
      // Another thread has been here first.
      if let old, state.directory !== old { return nil }
      defer { (state.directory, state.nextTry) = (nil, 0) }
      return state.directory
    }
    withExtendedLifetime(closed) {}
  }

  private func open(inPlaceOf old: CacheDirectory?) throws(FileFailure) -> CacheDirectory {
    opening.lock()
    defer { opening.unlock() }
    let (current, wasOpen, known) = state.withLock { ($0.directory, $0.wasOpen, $0.known) }
    // Another thread has been here first.
    if let current, current !== old { return current }
    do throws(FileFailure) {
      // What it is to be made for is said once: of two processes that want different things the later one has it, for good.
      let directory = try CacheDirectory.open(
        path, known == nil ? limits : nil, fallback: known, isAgain: wasOpen, isReadOnly: isReadOnly, options.operations
      )
      state.withLock { state in
        (state.directory, state.failure) = (directory, nil)
        state.wasOpen = true
        if !directory.isReadOnly { state.known = directory.index.limits }
      }
      rebuildIfNeeded(directory)
      return directory
    } catch {
      state.withLock { state in
        (state.directory, state.failure) = (nil, error)
        state.nextTry = MonotonicClock.now + options.retryDelay
      }
      throw error
    }
  }

  /// Notes how the last writing went.
  func note(_ failure: FileFailure?) {
    if failure != nil { counters.writeFailures.increment() }
    state.withLock { $0.writeFailure = failure }
  }

  // MARK: Rebuilding

  /// Finds the records again of an index that was lost, in the background, unless that is being done.
  private func rebuildIfNeeded(_ directory: CacheDirectory) {
    guard !directory.isReadOnly, (try? directory.index.state())??.isRebuilding == true else { return }
    let begins = state.withLock { state in
      defer { state.isRebuilding = true }
      return !state.isRebuilding
    }
    guard begins else { return }
    let thread = Thread { [self] in
      let rebuild = IndexRebuild(
        directory: directory, options: options, isStopped: { [self] in isClosed.load(ordering: .relaxed) })
      // What fails once may go better later; and another process that is at it may die.
      while !rebuild.run() {
        for _ in 0..<max(1, options.retryDelay / 20_000_000) where !rebuild.isStopped() { usleep(20_000) }
      }
      let current = state.withLock { state in
        state.isRebuilding = false
        return state.directory
      }
      // Another index may have come in the meantime.
      if let current, current !== directory { rebuildIfNeeded(current) }
    }
    thread.name = "gesso.rebuild"
    thread.qualityOfService = .utility
    thread.start()
  }

  func close() {
    isClosed.store(true, ordering: .relaxed)
    stage.stop()
  }
}

/// What a disk cache has done so far.
final class CacheCounters: Sendable {
  let hits = Atomic(0)
  let misses = Atomic(0)
  let damaged = Atomic(0)
  let evicted = Atomic(0)
  let reinserted = Atomic(0)
  let writeFailures = Atomic(0)
}
