import Foundation

/// What writes to a disk cache: on one thread of its own, which alone has this.
final class CacheWriter {
  /// The segment that this process writes to.
  private struct Active {
    let segment: SegmentFile
    let capacity: Int
    /// The index's when it was begun. A record's is not more than ``mostSequences`` above it, so that whoever loses the
    /// index finds one that is above all.
    let sequence: UInt64
    var position: Int
    var count = 0
    let directory: CacheDirectory
  }

  let core: CacheCore
  private var active: Active?
  /// Segments that need no look any more whether a process has died in them.
  private var complete: Set<UInt32> = []
  /// Set when there may be too much.
  private var isOver = true
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
    if let active { try? active.directory.exclusively { () throws(FileFailure) in try complete(active) } }
    active = nil
    if let directory = core.opened, !directory.isReadOnly {
      try? directory.exclusively { () throws(FileFailure) in try directory.index.saveReads() }
    }
  }

  // MARK: Batches

  private func write(_ batch: CacheStage.Batch) {
    for attempt in 0..<2 {
      do throws(FileFailure) {
        try commit(batch)
        core.stage.finish(batch)
        failures = 0
        core.note(nil)
        if isOver { try shrink() }
        return
      } catch {
        if attempt == 0, recovers(from: error) { continue }
        // Not so often that failing costs much; and soon enough.
        failures = min(failures + 1, 6)
        core.note(error)
        core.stage.fail(batch, error, pause: core.options.retryDelay << Int64(failures - 1))
        return
      }
    }
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

  private func commit(_ batch: CacheStage.Batch) throws(FileFailure) {
    let directory = try core.directoryForWriting()
    if active?.directory !== directory { active = nil }
    // A process that was killed may have left more than there should be, and this one would add to it.
    if isOver { try shrink() }
    for selection in batch.selections { try remove(selection, in: directory) }
    let changes = batch.changes.map { Record($0, core.options) }
    try directory.exclusively { () throws(FileFailure) in
      guard !directory.index.isReplaced else { throw FileFailure("write to", IndexFile.name, -Int(ESTALE)) }
      if let active, active.segment.isRemoved { self.active = nil }
      var state = try currentState(directory)
      for placed in batch.damaged where try directory.index.find(placed.slot.hash) == placed {
        try directory.index.free(placed.place)
        state.count -= 1
      }
      try append(changes, &state, in: directory)
      if state.count > directory.index.limits.count { isOver = true }
    }
    core.rebuildIfNeeded(directory)
  }

  /// The index's numbers; one that is torn is made anew.
  func currentState(_ directory: CacheDirectory) throws(FileFailure) -> IndexFile.State {
    guard let state = try directory.index.state() else {
      throw FileFailure("read", IndexFile.name, -Int(EBADMSG))
    }
    return state
  }

  /// A record that is to be written.
  struct Record {
    var record: BlobRecord
    let key: [UInt8]
    let blob: Data
    let hash: KeyHash
    /// A removal that is written with its own sequence, and changes nothing in the index.
    var isCarried = false

    /// A removal, or a blob that is verified.
    init(_ record: BlobRecord, key: [UInt8], blob: Data, hash: KeyHash) {
      (self.record, self.key, self.blob, self.hash) = (record, key, blob, hash)
    }

    init(_ change: CacheStage.Change, _ options: CacheOptions) {
      var key: [UInt8] = []
      change.key.append(to: &key)
      self.key = key
      blob = change.blob ?? Data()
      hash = options.rehash(change.key.storeHash)
      record = blob.withUnsafeBytes {
        BlobRecord(kind: change.blob == nil ? .removal : .blob, key: key.count, blob: $0)
      }
    }
  }

  /// Writes records, and then the index. For those who hold the lock of the cache.
  func append(
    _ records: [Record], _ state: inout IndexFile.State, in directory: CacheDirectory
  ) throws(FileFailure) {
    let now = core.options.operations.now()
    let lifetime = directory.index.limits.lifetimeSeconds
    var run: [Record] = []
    var runLength = 0
    for var record in records {
      // What the index does not know is not there, unless records are still to be found.
      if record.record.kind == .removal, !record.isCarried, !state.isRebuilding {
        guard try directory.index.find(record.hash) != nil else { continue }
      }
      if !record.isCarried {
        state.sequence += 1
        record.record.sequence = state.sequence
      }
      if record.record.created == 0 {
        record.record.created = now
        record.record.expires = lifetime == 0 ? 0 : now &+ lifetime
      }
      let length = record.record.paddedLength
      if !hasRoom(for: runLength + length, count: run.count + 1, state, in: directory) {
        try write(run, &state, in: directory)
        (run, runLength) = ([], 0)
        if !hasRoom(for: length, count: 1, state, in: directory) { try begin(length, &state, in: directory) }
      }
      run.append(record)
      runLength += length
    }
    try write(run, &state, in: directory)
    try directory.index.write(state)
  }

  private static let mostSequences: UInt64 = 1 << 31

  private func hasRoom(for length: Int, count: Int, _ state: IndexFile.State, in directory: CacheDirectory) -> Bool {
    guard let active, state.sequence - active.sequence < Self.mostSequences else { return false }
    // Of few records a segment has fewer, as it is dropped at a time.
    return active.position + length <= active.capacity
      && active.count + count <= max(64, directory.index.limits.count / 16)
  }

  /// Writes records that fit into the segment, in one call.
  private func write(
    _ records: [Record], _ state: inout IndexFile.State, in directory: CacheDirectory
  ) throws(FileFailure) {
    guard !records.isEmpty, let active else { return }
    // Before them, so that no other record ever has the sequence of one of them.
    try directory.index.write(state)
    let heads = records.reduce(0) { $0 + BlobRecord.headLength + $1.key.count + 8 }
    try withUnsafeTemporaryAllocation(byteCount: heads, alignment: 8) { heads throws(FileFailure) in
      _ = heads.initializeMemory(as: UInt8.self, repeating: 0)
      var pieces: [iovec] = []
      var place = 0
      for record in records {
        let head = UnsafeMutableRawBufferPointer(
          rebasing: heads[place..<place + BlobRecord.headLength + record.key.count])
        UnsafeMutableRawBufferPointer(rebasing: head[BlobRecord.headLength...]).copyBytes(from: record.key)
        record.record.write(to: head)
        pieces.append(iovec(iov_base: head.baseAddress, iov_len: head.count))
        pieces.append(iovec(iov_base: nil, iov_len: record.blob.count))
        place += head.count
        // The bytes that pad it are zeros that come after its head.
        pieces.append(
          iovec(iov_base: heads.baseAddress! + place, iov_len: record.record.paddedLength - record.record.length))
        place += 8
      }
      let operations = core.options.operations
      let result = withPointers(to: records[...], 1, &pieces) {
        operations.writeAll(active.segment.file.number, &$0, at: Int64(active.position))
      }
      try check(result, "write to", active.segment.name)
    }
    for record in records {
      try enter(record, at: self.active!.position, &state, in: directory)
      self.active!.position += record.record.paddedLength
      self.active!.count += 1
    }
  }

  /// Puts the places of blobs into the pieces, each within the closure that lends it.
  private func withPointers(
    to records: ArraySlice<Record>, _ piece: Int, _ pieces: inout [iovec], _ body: (inout [iovec]) -> Int
  ) -> Int {
    guard let next = records.firstIndex(where: { !$0.blob.isEmpty }) else { return body(&pieces) }
    let piece = piece + 3 * (next - records.startIndex)
    return records[next].blob.withUnsafeBytes { bytes in
      pieces[piece].iov_base = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
      return withPointers(to: records[(next + 1)...], piece + 3, &pieces, body)
    }
  }

  /// Writes into the index what was written to the segment.
  private func enter(
    _ record: Record, at offset: Int, _ state: inout IndexFile.State, in directory: CacheDirectory
  ) throws(FileFailure) {
    let slot = IndexSlot(record.record, hash: record.hash, segment: active!.segment.number, offset: offset)
    if record.record.kind == .blob {
      switch try directory.index.insert(slot) {
      case .added: state.count += 1
      case .evicted: core.counters.evicted.increment()
      case .replaced, .outdated: break
      }
      return
    }
    if record.isCarried {
      guard state.isRebuilding else { return }
      let known = try directory.index.find(record.hash)
      if try directory.index.insert(slot, onlyIfNewer: true) != .outdated, let known, !known.slot.isRemoval {
        state.count -= 1
      }
      return
    }
    guard let placed = try directory.index.find(record.hash) else {
      if state.isRebuilding { _ = try directory.index.insert(slot) }
      return
    }
    if !placed.slot.isRemoval { state.count -= 1 }
    if state.isRebuilding { _ = try directory.index.insert(slot) } else { try directory.index.free(placed.place) }
  }

  // MARK: Segments

  /// Begins a segment, or goes on with one in which a process has died. For those who hold the lock of the cache.
  private func begin(
    _ length: Int, _ state: inout IndexFile.State, in directory: CacheDirectory
  ) throws(FileFailure) {
    if let active {
      try complete(active)
      self.active = nil
    }
    isOver = true
    let capacity = directory.index.limits.segmentLength
    if length <= capacity - SegmentFile.headLength, let adopted = try adopt(length, capacity, state, in: directory) {
      active = adopted
      return
    }
    let operations = core.options.operations
    while true {
      state.segment += 1
      let file: Descriptor
      do throws(FileFailure) {
        file = try Descriptor(
          directory.directory.number, SegmentFile.name(state.segment), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
          operations)
      } catch {
        if error.code == EEXIST { continue }
        throw error
      }
      let segment = SegmentFile(number: state.segment, file: file, operations: operations)
      _ = operations.lock(file.number, LOCK_EX | LOCK_NB)
      let capacity = max(capacity, SegmentFile.headLength + length)
      do throws(FileFailure) {
        try segment.write(SegmentFile.Head(sequence: state.sequence, completeLength: 0))
        // So that a full disk is known before anything is lost. Where that cannot be done, it is known later.
        let result = operations.uninterrupted { operations.preallocate(file.number, Int64(capacity)) }
        if result != -Int(EOPNOTSUPP), result != -Int(ENOSYS) { try check(result, "make room for", segment.name) }
      } catch {
        _ = operations.unlink(directory.directory.number, segment.name)
        throw error
      }
      active = Active(
        segment: segment, capacity: capacity, sequence: state.sequence, position: SegmentFile.headLength,
        directory: directory)
      return
    }
  }

  private func complete(_ active: Active) throws(FileFailure) {
    guard var head = try active.segment.head() else { return }
    head.completeLength = UInt64(active.position)
    try active.segment.write(head)
    try check(
      core.options.operations.truncate(active.segment.file.number, Int64(active.position)), "cut",
      active.segment.name)
    complete.insert(active.segment.number)
  }

  /// A segment that nobody writes to and that has room. Those in which there is none are completed, and those in which
  /// there is nothing removed.
  private func adopt(
    _ length: Int, _ capacity: Int, _ state: IndexFile.State, in directory: CacheDirectory
  ) throws(FileFailure) -> Active? {
    for number in try directory.segmentNumbers().reversed() where !complete.contains(number) {
      guard let segment = try claim(number, in: directory) else { continue }
      let head = try segment.head()
      if let head, head.completeLength != 0 {
        complete.insert(number)
        continue
      }
      var count = 0
      let end = try segment.forEachRecord { (_, _, _) throws(FileFailure) in
        count += 1
        return true
      }
      guard let head, count > 0 else {
        // What has no head may have records that the index knows.
        if count == 0 { _ = core.options.operations.unlink(directory.directory.number, segment.name) }
        complete.insert(number)
        continue
      }
      let adopted = Active(
        segment: segment, capacity: max(capacity, end), sequence: head.sequence, position: end, count: count,
        directory: directory)
      active = adopted
      if hasRoom(for: length, count: 1, state, in: directory) { return adopted }
      active = nil
      try complete(adopted)
    }
    return nil
  }

  /// A segment to write to, of which no process holds the lock; `nil`: one does, or it is not there.
  func claim(_ number: UInt32, in directory: CacheDirectory) throws(FileFailure) -> SegmentFile? {
    if active?.segment.number == number, active?.directory === directory { return nil }
    let operations = core.options.operations
    let name = SegmentFile.name(number)
    let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK
    let result = operations.uninterrupted { operations.open(directory.directory.number, name, flags, 0) }
    guard result >= 0 else {
      if result == -Int(EMFILE) || result == -Int(ENFILE) { try check(result, "open", name) }
      return nil
    }
    let segment = SegmentFile(number: number, file: Descriptor(Int32(result), operations), operations: operations)
    let lock = operations.uninterrupted { operations.lock(segment.file.number, LOCK_EX | LOCK_NB) }
    return lock == -Int(EWOULDBLOCK) ? nil : segment
  }

  // MARK: Removing what is selected

  private func remove(_ selection: KeySelection, in directory: CacheDirectory) throws(FileFailure) {
    if selection == .all { return try removeAll(in: directory) }
    var isRebuilding = false
    try directory.index.forEachPart { placed throws(FileFailure) in
      var found: [PlacedSlot] = []
      for placed in placed where try matches(placed.slot, selection, in: directory) { found.append(placed) }
      try directory.exclusively { () throws(FileFailure) in
        var state = try currentState(directory)
        isRebuilding = isRebuilding || state.isRebuilding
        var removals: [Record] = []
        for placed in found {
          guard let (key, hash) = try self.key(of: placed.slot, in: directory) else { continue }
          removals.append(Record(BlobRecord(kind: .removal, key: key.count), key: key, blob: Data(), hash: hash))
        }
        if !removals.isEmpty { try append(removals, &state, in: directory) }
      }
    }
    let state = try directory.exclusively { () throws(FileFailure) in try currentState(directory) }
    if isRebuilding || state.isRebuilding { try removeUnknown(selection, in: directory) }
  }

  /// While the index is being rebuilt, it does not know all records.
  private func removeUnknown(_ selection: KeySelection, in directory: CacheDirectory) throws(FileFailure) {
    for number in try directory.segmentNumbers() {
      guard let segment = try directory.segment(number) else { continue }
      var removals: [Record] = []
      _ = try segment.forEachRecord { (record, key, _) throws(FileFailure) in
        if record.kind == .blob, let stored = StoredKey(key), selection.contains(stored) {
          removals.append(
            Record(
              BlobRecord(kind: .removal, key: key.count), key: Array(key), blob: Data(),
              hash: core.options.rehash(stored.hash)))
        }
        return true
      }
      try directory.exclusively { () throws(FileFailure) in
        var state = try currentState(directory)
        try append(removals, &state, in: directory)
      }
    }
  }

  private func matches(
    _ slot: IndexSlot, _ selection: KeySelection, in directory: CacheDirectory
  ) throws(FileFailure) -> Bool {
    if case .key(let key) = selection {
      var key = key
      // All but one in 2⁶⁴ are known by their slots alone.
      guard key.withUTF8({ BlobRecord.hash(UnsafeRawBufferPointer($0)) }) == slot.hash.identity else { return false }
    }
    guard !slot.isRemoval, let (key, _) = try key(of: slot, in: directory) else { return false }
    return key.withUnsafeBytes { StoredKey($0).map { selection.contains($0) } ?? false }
  }

  /// The key of a slot's record, and its hash; `nil`: there is no such record.
  func key(of slot: IndexSlot, in directory: CacheDirectory) throws(FileFailure) -> ([UInt8], KeyHash)? {
    guard let segment = try directory.segment(slot.segment), slot.keyLength <= SegmentFile.longestKey else {
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: BlobRecord.headLength + Int(slot.keyLength))
    let result = bytes.withUnsafeMutableBytes {
      core.options.operations.readAll(segment.file.number, into: $0, at: Int64(slot.offset))
    }
    guard try check(result, "read", segment.name) == bytes.count,
      bytes.withUnsafeBytes({ BlobRecord(verifying: $0)?.sequence }) == slot.sequence
    else { return nil }
    return (Array(bytes[BlobRecord.headLength...]), slot.hash)
  }

  private func removeAll(in directory: CacheDirectory) throws(FileFailure) {
    active = nil
    complete = []
    try directory.exclusively { () throws(FileFailure) in
      var state = try currentState(directory)
      try directory.index.removeAll()
      // Those who write to one of them will see that it has no name any more.
      for number in try directory.segmentNumbers() {
        directory.closeSegment(number)
        let result = core.options.operations.unlink(directory.directory.number, SegmentFile.name(number))
        if result != -Int(ENOENT) { try check(result, "remove", SegmentFile.name(number)) }
      }
      (state.count, state.isRebuilding) = (0, false)
      try directory.index.write(state)
    }
  }

  // MARK: Not too much

  /// Removes segments, the oldest first, until there is not too much.
  func shrink(to limits: DiskCacheLimits? = nil) throws(FileFailure) {
    let directory = try core.directoryForWriting()
    let limits = limits ?? directory.index.limits
    isOver = false
    while true {
      let (segments, indexRoom) = try directory.rooms()
      let room = segments.reduce(indexRoom) { $0 + $1.byteCount }
      let count = try directory.exclusively { () throws(FileFailure) in try currentState(directory).count }
      let isOld =
        limits.lifetime != nil
        && segments.contains { room in
          room.number != active?.segment.number
            && room.lastWritten + Int(limits.lifetimeSeconds) <= Int(core.options.operations.now())
        }
      // The next segment has its room already; one more may be begun while another one goes.
      guard room > limits.byteCount - limits.segmentLength || count > limits.count || isOld else { return }
      guard try evictOldest(in: directory, among: segments.map(\.number)) else { return }
    }
  }

  private func evictOldest() throws(FileFailure) -> Bool {
    let directory = try core.directoryForWriting()
    return try evictOldest(in: directory, among: try directory.segmentNumbers(), reinserts: false)
  }

  /// Removes the oldest segment that no process writes to; `false`: there is none.
  private func evictOldest(
    in directory: CacheDirectory, among numbers: [UInt32], reinserts: Bool = true
  ) throws(FileFailure) -> Bool {
    for number in numbers {
      guard let segment = try claim(number, in: directory) else { continue }
      try evict(segment, in: directory, others: numbers.filter { $0 != number }, reinserts: reinserts)
      complete.remove(number)
      return true
    }
    return false
  }

  /// Bytes that fit into the segment that is being written to.
  var room: Int { active.map { $0.capacity - $0.position } ?? 0 }
}
