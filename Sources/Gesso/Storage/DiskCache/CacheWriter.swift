import Foundation

/// What writes to a disk cache: on one thread of its own, which alone has this.
final class CacheWriter {
  let core: CacheCore
  var operations: FileOperations { core.options.operations }
  /// The segment that this process writes to.
  var active: ActiveSegment?
  /// Segments that need no look any more whether a process has died in them.
  var complete: Set<UInt32> = []
  /// Set when there may be too much.
  var isOver = true
  private var failures = 0

  init(_ core: CacheCore) { self.core = core }

  /// Works until the cache is closed.
  func run() {
    while true {
      switch core.stage.next() {
      case .batch(let batch): write(batch)
      case .command(let command): command(self)
      case .stop:
        close()
        return
      }
    }
  }

  /// The end of a segment that is written to no more.
  private func close() {
    if let active { try? active.directory.exclusively { () throws(FileFailure) in try finish(active) } }
    active = nil
    if let directory = core.opened, !directory.isReadOnly {
      try? directory.exclusively { () throws(FileFailure) in try directory.index.saveReads() }
    }
  }

  private func write(_ batch: StagedChanges.Batch) {
    for attempt in 0..<2 {
      do throws(FileFailure) {
        try commit(batch)
        break
      } catch {
        if attempt == 0, recovers(from: error) { continue }
        // Not so often that failing costs much; and soon enough.
        failures = min(failures + 1, 6)
        core.note(error)
        core.stage.fail(batch, error, pause: core.options.retryDelay << Int64(failures - 1))
        return
      }
    }
    core.stage.finish(batch)
    failures = 0
    core.note(nil)
  }

  /// Whether it may go better if it is tried again.
  private func recovers(from error: FileFailure) -> Bool {
    switch error.code {
    case ENOSPC, EDQUOT: return (try? evictOldest()) ?? false
    case EMFILE, ENFILE:
      core.opened?.closeSegments()
      return true
    case EROFS, EACCES, EPERM: return false
    default:
      // A directory that was removed, an index that was replaced, a segment that cannot be written any more.
      active = nil
      core.reopen()
      return true
    }
  }

  private func commit(_ batch: StagedChanges.Batch) throws(FileFailure) {
    let directory = try core.directoryForWriting()
    // A process that was killed may have left more than there should be, and this one would add to it. If it fails, what
    // there is to be written is written all the same.
    if isOver { try? shrink() }
    for selection in batch.selections { try remove(selection.selection, in: directory) }
    if !batch.damaged.isEmpty { try forget(batch.damaged, in: directory) }
    // Limits may have become known after it was put.
    let isTooLarge = { (change: StagedChanges.Change) in
      (change.blob?.bytes.count ?? 0) > directory.index.limits.byteCount / 4
    }
    for change in batch.blobs where isTooLarge(change) { core.stage.countDropped() }
    try remove((batch.removals + batch.blobs.filter(isTooLarge)).map(\.key), in: directory)
    try put(batch.blobs.filter { !isTooLarge($0) }, in: directory)
  }

  private func put(_ changes: [StagedChanges.Change], in directory: CacheDirectory) throws(FileFailure) {
    var rest = changes.compactMap { change in
      change.blob.map { StoredRecord($0, key: change.key.bytes, hash: core.options.rehash(change.key.storeHash)) }
    }[...]
    while !rest.isEmpty {
      // No more than a segment at a time, and then there is room for the next.
      var (length, count) = (0, 0)
      for record in rest {
        length += record.record.paddedLength
        if count > 0, length > directory.index.limits.segmentLength - SegmentFile.headLength { break }
        count += 1
      }
      try directory.exclusively { () throws(FileFailure) in
        var state = try beginWriting(to: directory)
        try append(Array(rest.prefix(count)), &state, in: directory)
        if state.count > directory.index.limits.count { isOver = true }
      }
      rest = rest.dropFirst(count)
      if isOver { try? shrink() }
    }
  }

  private func forget(_ damaged: [PlacedSlot], in directory: CacheDirectory) throws(FileFailure) {
    try directory.exclusively { () throws(FileFailure) in
      var state = try beginWriting(to: directory)
      for placed in damaged where try directory.index.find(placed.slot.hash) == placed {
        try directory.index.free(placed.place)
        state.count -= 1
      }
      try directory.index.write(state)
    }
  }

  /// The index's numbers, before something is written. For those who hold the lock of the cache.
  func beginWriting(to directory: CacheDirectory) throws(FileFailure) -> IndexFile.State {
    guard !directory.index.isReplaced else { throw FileFailure("write to", IndexFile.name, -Int(ESTALE)) }
    // One that is torn is made anew.
    guard let state = try directory.index.state() else { throw FileFailure("read", IndexFile.name, -Int(EBADMSG)) }
    // What is written to a segment of another directory, or that another process has removed, would be lost.
    if let active, active.directory !== directory || active.segment.isRemoved { self.active = nil }
    return state
  }

  /// The same, of a look only.
  func state(of directory: CacheDirectory) throws(FileFailure) -> IndexFile.State {
    try directory.exclusively { () throws(FileFailure) in try beginWriting(to: directory) }
  }
}
