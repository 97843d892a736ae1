import Foundation

/// Keeps blobs in a directory: bounded, for the next start and for all processes that name the same directory.
///
///     let disk = DiskCache(directory: StorageDirectories.standard().cache.appendingPathComponent("pictures"))
///     let drawer = CachedDrawer(.init(stores: [disk]))
///
/// What was put is readable at once, and written in the background, many at a time. Each read is verified: bytes that are
/// not what was put are a miss, never another picture. Nothing is synced: after a power cut, what was put or removed in the
/// last half minute may be as before, and all else is there or a miss. If nothing can be written, the cache goes on in
/// memory, and tries again; if the index is lost, it is rebuilt while the cache is in use.
///
/// The directory belongs to the cache: its files are named `index`, `lock` and `….segment`.
///
/// Thread-safety: any thread, and any number of processes.
public final class DiskCache: BlobStore {
  private let core: CacheCore
  /// Threads that wait for disks, of all disk caches.
  private static let readers = WorkerPool(count: 2, name: "gesso.reader")

  /// The directory that it keeps its files in.
  public var directory: URL { URL(fileURLWithPath: core.path, isDirectory: true) }
  /// Of this machine.
  public var tier: BlobTier { .disk }

  /// A cache in a directory. Nothing is opened before it is needed.
  /// - Parameters:
  ///   - directory: its own; made if it is not there.
  ///   - limits: how much it keeps; `nil`: what the directory was used with the last time, and the default if it is new.
  ///   - isReadOnly: never writes, nor keeps what is put: looks into a cache that others use.
  public convenience init(directory: URL, limits: DiskCacheLimits? = DiskCacheLimits(), isReadOnly: Bool = false) {
    self.init(directory: directory, limits: limits, isReadOnly: isReadOnly, options: CacheOptions())
  }

  init(directory: URL, limits: DiskCacheLimits?, isReadOnly: Bool = false, options: CacheOptions) {
    core = CacheCore(directory.path, limits, isReadOnly: isReadOnly, options)
    let thread = Thread { [core] in CacheWriter(core).run() }
    thread.name = "gesso.cache"
    thread.qualityOfService = .utility
    thread.start()
  }

  /// What was put is written, if it can be.
  deinit { core.close() }

  private func error(_ failure: FileFailure) -> StorageError { failure.error(in: core.path) }

  // MARK: Reading

  /// The blob of a key, verified; `nil` if there is none. Waits for the disk on a thread that is there for it.
  /// - Throws: if the directory cannot be read.
  public func blob(for key: BitmapKey) async throws(StorageError) -> Data? {
    if let known = staged(key) { return known }
    let result: Result<Data?, StorageError> = await callback { finish in
      Self.readers.submit { [self] in finish(Result { () throws(StorageError) in try read(key) }) }
    }
    return try result.get()
  }

  /// The blob of a key, verified; waits for the disk on this thread.
  public func blobNow(for key: BitmapKey) throws(StorageError) -> Data? {
    if let known = staged(key) { return known }
    return try read(key)
  }

  /// What is known without the disk; `nil`: nothing.
  private func staged(_ key: BitmapKey) -> Data?? {
    let known = core.stage.look(key)
    switch known {
    case .some(.some): core.counters.hits.increment()
    case .some(.none): core.counters.misses.increment()
    case .none: break
    }
    return known
  }

  private func read(_ key: BitmapKey) throws(StorageError) -> Data? {
    do throws(FileFailure) {
      let (directory, found) = try look(core.options.rehash(key.storeHash), key.bytes)
      switch found {
      case .blob(let blob, let place):
        core.counters.hits.increment()
        directory.index.noteRead(place)
        return blob
      case .damaged(let slot):
        core.counters.damaged.increment()
        if !directory.isReadOnly { core.stage.noteDamaged([slot]) }
      case .nothing, .otherKey: break
      }
      core.counters.misses.increment()
      return nil
    } catch {
      core.counters.misses.increment()
      // An index that was cut off, which whoever writes next makes anew.
      if error.code == EBADMSG { return nil }
      throw self.error(error)
    }
  }

  private func look(
    _ hash: KeyHash, _ key: [UInt8]
  ) throws(FileFailure) -> (CacheDirectory, CacheDirectory.Found) {
    let directory = try core.directoryForReading()
    do throws(FileFailure) { return (directory, try directory.read(hash, key)) } catch {
      guard error.code == EBADMSG else { throw error }
    }
    // Another process has made the index anew.
    core.reopen(inPlaceOf: directory)
    let next = try core.directoryForReading()
    return (next, try next.read(hash, key))
  }

  // MARK: Writing

  /// Keeps a blob: readable when this returns, and written soon. The caller's thread does no I/O.
  /// - Throws: if it is larger than a quarter of the cache, or its key longer than a megabyte (`EFBIG`). The key is then
  ///   forgotten.
  public func put(_ blob: Data, for key: BitmapKey) async throws(StorageError) { try putNow(blob, for: key) }

  /// The same. It never waits.
  public func putNow(_ blob: Data, for key: BitmapKey) throws(StorageError) {
    if core.isReadOnly { return core.stage.countDropped() }
    guard blob.count <= core.largestBlob, key.identity.utf8.count <= 1 << 20 else {
      core.stage.drop(key)
      throw .system(operation: "keep a blob of \(blob.count) bytes in", path: core.path, code: EFBIG)
    }
    core.stage.put(blob, for: key)
  }

  /// Forgets a key, and returns when that is written.
  /// - Throws: if it cannot be written: this process forgets it all the same.
  public func remove(_ key: BitmapKey) async throws(StorageError) { try await remove([key]) }

  /// Forgets keys.
  public func remove(_ keys: [BitmapKey]) async throws(StorageError) {
    try await written { core.stage.remove(keys, finish: $0) }
  }

  /// Forgets all keys that are selected: all at once, those of one user's key or prefix by a look at each.
  public func removeAll(_ selection: KeySelection) async throws(StorageError) {
    try await written { core.stage.removeAll(selection, finish: $0) }
  }

  /// Returns when all that was put before is written.
  /// - Throws: if it cannot be written; it stays readable in this process, up to 16 MiB, and is tried again.
  public func flush() async throws(StorageError) { try await written { core.stage.flush($0) } }

  private func written(_ ask: (@escaping @Sendable (FileFailure?) -> Void) -> Void) async throws(StorageError) {
    if let failure = await callback(ask) { throw error(failure) }
  }

  // MARK: Looking after it

  /// Removes what is over limits, the oldest first, and all that has expired.
  /// - Parameter limits: what is left is within these; the cache's own, if `nil`, which stay as they are.
  public func prune(to limits: DiskCacheLimits? = nil) async throws(StorageError) {
    let failure: FileFailure? = await callback { finish in
      core.stage.perform { writer in
        do throws(FileFailure) {
          try writer.prune(to: limits)
          finish(nil)
        } catch { finish(error) }
      }
    }
    if let failure { throw error(failure) }
  }

  /// Reads and verifies all records. Damaged ones are forgotten, unless nothing may be written.
  ///
  /// Takes as long as reading all files does: work for a background thread.
  public func verify() throws(StorageError) -> Verification {
    do throws(FileFailure) {
      let directory = try core.directoryForReading()
      let (verification, damaged) = try CacheAudit(directory: directory, options: core.options).verify()
      core.counters.damaged.add(damaged.count, ordering: .relaxed)
      if !directory.isReadOnly { core.stage.noteDamaged(damaged) }
      return verification
    } catch { throw self.error(error) }
  }

  /// What it has done, and holds.
  /// - Throws: if the directory cannot be read.
  public func statistics() throws(StorageError) -> Statistics {
    do throws(FileFailure) {
      let directory = try core.directoryForReading()
      let state = try directory.index.state()
      let (segments, indexRoom) = try directory.rooms()
      let (waiting, dropped) = core.stage.counts
      var statistics = Statistics(limits: directory.index.limits)
      statistics.count = state?.count ?? 0
      statistics.byteCount = segments.reduce(indexRoom) { $0 + $1.byteCount }
      statistics.segmentCount = segments.count
      statistics.isRebuilding = state?.isRebuilding ?? true
      statistics.isReadOnly = directory.isReadOnly
      statistics.isShared = directory.isShared
      statistics.waiting = waiting
      statistics.dropped = dropped
      statistics.failure = core.failure.map { error($0) }
      let counters = core.counters
      statistics.hits = counters.hits.load(ordering: .relaxed)
      statistics.misses = counters.misses.load(ordering: .relaxed)
      statistics.damaged = counters.damaged.load(ordering: .relaxed)
      statistics.evicted = counters.evicted.load(ordering: .relaxed)
      statistics.reinserted = counters.reinserted.load(ordering: .relaxed)
      statistics.writeFailures = counters.writeFailures.load(ordering: .relaxed)
      return statistics
    } catch { throw self.error(error) }
  }
}
