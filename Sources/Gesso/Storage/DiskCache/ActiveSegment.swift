import Foundation

/// The segment that a process writes to.
struct ActiveSegment {
  let segment: SegmentFile
  let capacity: Int
  /// The index's when it was begun. A record's is not more than ``mostSequences`` above it, so that whoever loses the index
  /// finds one that is above all.
  let sequence: UInt64
  var position: Int
  var count = 0
  let directory: CacheDirectory

  static let mostSequences: UInt64 = 1 << 31

  /// Of a cache of few records a segment has fewer, as it is dropped at a time.
  var mostRecords: Int { max(64, directory.index.limits.count / 16) }
}

extension CacheWriter {
  /// Numbers of segments that are tried, if somebody has taken them.
  private static let mostTries = 64

  /// Bytes that fit into the segment that is being written to.
  var room: Int { active.map { $0.capacity - $0.position } ?? 0 }

  func hasRoom(for length: Int, count: Int, _ state: IndexFile.State) -> Bool {
    guard let active else { return false }
    return active.position + length <= active.capacity && active.count + count <= active.mostRecords
      && (active.sequence..<active.sequence + ActiveSegment.mostSequences).contains(state.sequence)
  }

  /// Begins a segment, or goes on with one in which a process has died. For those who hold the lock of the cache.
  func begin(_ length: Int, _ state: inout IndexFile.State, in directory: CacheDirectory) throws(FileFailure) {
    if let active {
      // Somebody has set the index back.
      if state.sequence < active.sequence { state.sequence = active.sequence + (1 << 32) }
      try finish(active)
      self.active = nil
    }
    isOver = true
    let usual = directory.index.limits.segmentLength
    // After a power cut the index's numbers may be older than segments are: a new one is the newest all the same.
    let numbers = try directory.segmentNumbers()
    state.segment = max(state.segment, numbers.last ?? 0)
    if length <= usual - SegmentFile.headLength, try adopt(length, usual, among: numbers, &state, in: directory) {
      return
    }
    let capacity = max(usual, SegmentFile.headLength + length)
    for _ in 0..<Self.mostTries where state.segment < SegmentFile.mostNumber {
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
      let segment = SegmentFile(number: state.segment, file: file)
      do throws(FileFailure) {
        let lock = operations.uninterrupted { operations.lock(file.number, LOCK_EX | LOCK_NB) }
        if lock == -Int(EWOULDBLOCK) { throw FileFailure("lock", segment.name, lock) }
        try segment.write(SegmentFile.Head(sequence: state.sequence, completeLength: 0))
        // So that a full disk is known before anything is lost. Where that cannot be done, it is known later.
        let result = operations.uninterrupted { operations.preallocate(file.number, Int64(capacity)) }
        if result != -Int(EOPNOTSUPP), result != -Int(ENOSYS) { try check(result, "make room for", segment.name) }
      } catch {
        _ = operations.unlink(directory.directory.number, segment.name)
        throw error
      }
      active = ActiveSegment(
        segment: segment, capacity: capacity, sequence: state.sequence, position: SegmentFile.headLength,
        directory: directory)
      return
    }
    // Somebody makes files of the cache's names, or the system says so.
    throw FileFailure("make", SegmentFile.name(state.segment), -Int(EEXIST))
  }

  /// Says how long a segment is, and gives back the room after that.
  func finish(_ active: ActiveSegment) throws(FileFailure) {
    guard var head = try active.segment.head() else { return }
    head.completeLength = UInt64(active.position)
    try active.segment.write(head)
    try check(operations.truncate(active.segment.file.number, Int64(active.position)), "cut", active.segment.name)
    complete.insert(active.segment.number)
  }

  /// Goes on with a segment that nobody writes to and that has room. Those in which there is none are finished, and those in
  /// which there is nothing removed. For those who hold the lock of the cache.
  /// - Returns: whether there is one.
  private func adopt(
    _ length: Int, _ capacity: Int, among numbers: [UInt32], _ state: inout IndexFile.State,
    in directory: CacheDirectory
  ) throws(FileFailure) -> Bool {
    for number in numbers.reversed() where !complete.contains(number) {
      guard let segment = try claim(number, in: directory) else { continue }
      do throws(FileFailure) {
        if try adopt(segment, length, capacity, &state, in: directory) { return true }
      } catch {
        // It stays as it is until its turn comes to go.
        guard error.isUnreadable(segment) else { throw error }
        complete.insert(number)
      }
    }
    return false
  }

  private func adopt(
    _ segment: SegmentFile, _ length: Int, _ capacity: Int, _ state: inout IndexFile.State,
    in directory: CacheDirectory
  ) throws(FileFailure) -> Bool {
    let head = try segment.head()
    if let head, head.sequence > state.sequence { state.sequence = head.sequence + (1 << 32) }
    if let head, head.completeLength != 0 {
      complete.insert(segment.number)
      return false
    }
    let (end, count) = try segment.intactEnd()
    guard let head, count > 0 else {
      // What has no head may have records that the index knows.
      if count == 0 {
        _ = operations.unlink(directory.directory.number, segment.name)
        directory.closeSegment(segment.number)
      }
      complete.insert(segment.number)
      return false
    }
    let found = ActiveSegment(
      segment: segment, capacity: max(capacity, end), sequence: head.sequence, position: end, count: count,
      directory: directory)
    active = found
    if hasRoom(for: length, count: 1, state) { return true }
    active = nil
    try finish(found)
    return false
  }

  /// A segment to write to, of which no process holds the lock; `nil`: one does, or it is not there. For those who hold the
  /// lock of the cache.
  func claim(_ number: UInt32, in directory: CacheDirectory) throws(FileFailure) -> SegmentFile? {
    if active?.segment.number == number, active?.directory === directory { return nil }
    guard let segment = try SegmentFile(number, in: directory.directory.number, O_RDWR, operations) else { return nil }
    let lock = operations.uninterrupted { operations.lock(segment.file.number, LOCK_EX | LOCK_NB) }
    return lock == -Int(EWOULDBLOCK) ? nil : segment
  }
}
