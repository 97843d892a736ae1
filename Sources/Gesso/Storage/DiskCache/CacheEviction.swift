import Foundation

/// How a segment goes: what of it was read since it was written is written again, up to a quarter of it.
extension CacheWriter {
  private struct Found {
    let record: BlobRecord
    let key: [UInt8]
    let hash: KeyHash
    let offset: Int
  }

  /// Records that are looked after while the lock is held once.
  private static let part = 512

  func evict(
    _ segment: SegmentFile, in directory: CacheDirectory, others: [UInt32], reinserts: Bool
  ) throws(FileFailure) {
    var found: [Found] = []
    do throws(FileFailure) {
      _ = try segment.forEachRecord { (record, key, offset) throws(FileFailure) in
        if let stored = StoredKey(key) {
          found.append(
            Found(record: record, key: Array(key), hash: core.options.rehash(stored.hash), offset: offset))
        }
        return true
      }
    } catch {
      // What cannot be read goes all the same.
      guard error.code == EIO else { throw error }
    }
    let eldest = try firstSequence(of: others, in: directory)
    var budget = reinserts ? directory.index.limits.segmentLength / 4 : 0
    for first in stride(from: 0, to: found.count, by: Self.part) {
      let part = found[first..<min(first + Self.part, found.count)]
      try directory.exclusively { () throws(FileFailure) in
        try evict(part, of: segment, in: directory, after: eldest, &budget)
      }
    }
    try directory.exclusively { () throws(FileFailure) in
      directory.closeSegment(segment.number)
      let result = operations.unlink(directory.directory.number, segment.name)
      if result != -Int(ENOENT) { try check(result, "remove", segment.name) }
    }
  }

  private func evict(
    _ part: ArraySlice<Found>, of segment: SegmentFile, in directory: CacheDirectory, after eldest: UInt64,
    _ budget: inout Int
  ) throws(FileFailure) {
    var state = try beginWriting(to: directory)
    let now = operations.now()
    // Only what the index still has there: of a key that was put again meanwhile it has the new place.
    var live: [(found: Found, place: Int)] = []
    var records: [StoredRecord] = []
    for found in part {
      let known = try directory.index.find(found.hash)
      if found.record.kind == .blob, let known, known.slot.isAt(segment.number, found.offset) {
        live.append((found, known.place))
        continue
      }
      // An index that is being rebuilt may not know yet that a record is the newest of its key.
      let isUnknown = state.isRebuilding && (known.map { $0.slot.sequence < found.record.sequence } ?? true)
      if found.record.kind == .removal || isUnknown, found.record.sequence > eldest { records.append(carried(found)) }
    }
    let read = try directory.index.takeReads(of: live.map(\.place))
    for (found, place) in live {
      let length = found.record.paddedLength
      if read.contains(place), length <= budget, length <= room, !found.record.isExpired(at: now),
        let blob = (try? segment.blob(of: found.record, at: found.offset)) ?? nil
      {
        budget -= length
        records.append(StoredRecord(found.record, key: found.key, blob: Data(blob), hash: found.hash))
        core.counters.reinserted.increment()
        continue
      }
      try directory.index.free(place)
      state.count -= 1
      core.counters.evicted.increment()
      if found.record.sequence > eldest { records.append(carried(found)) }
    }
    try append(records, &state, in: directory)
  }

  /// The sequence at which the first of some segments was begun: records after it may be in any of them.
  ///
  /// With one process there is none in a segment that is older than those in the next, and with several there may be.
  private func firstSequence(of numbers: [UInt32], in directory: CacheDirectory) throws(FileFailure) -> UInt64 {
    var first = UInt64.max
    for number in numbers {
      // Of one whose head is damaged it may be any.
      guard let segment = try directory.segment(number) else { continue }
      first = min(first, ((try? segment.head()) ?? nil)?.sequence ?? 0)
    }
    return first
  }

  /// That a key was removed, for whoever rebuilds the index: older records of it may be in other segments.
  private func carried(_ found: Found) -> StoredRecord {
    var removal = StoredRecord(removing: found.key, hash: found.hash)
    (removal.record.sequence, removal.record.created) = (found.record.sequence, found.record.created)
    removal.isCarried = true
    return removal
  }

  // MARK: When

  /// Removes segments, the oldest first, until there is not too much.
  func shrink(to limits: DiskCacheLimits? = nil) throws(FileFailure) {
    let directory = try core.directoryForWriting()
    let limits = limits ?? directory.index.limits
    var isSwept = false
    while true {
      let (segments, indexRoom) = try directory.rooms()
      let room = segments.reduce(indexRoom) { $0 + $1.byteCount }
      let isOverCount = try state(of: directory).count > limits.count
      if isOverCount, !isSwept {
        // Some may be counted that went with their segment.
        try sweep(directory)
        isSwept = true
        continue
      }
      // The next segment has its room already; one more may be begun while another one goes.
      let isTooMuch = room > limits.byteCount - limits.segmentLength || isOverCount
      // Otherwise those alone that are old, of which another process may hold one.
      let candidates = isTooMuch ? segments : segments.filter { isOld($0, limits) }
      guard try evictOldest(of: candidates.map(\.number), among: segments.map(\.number), in: directory) else { break }
    }
    isOver = false
  }

  private func isOld(_ segment: CacheDirectory.Room, _ limits: DiskCacheLimits) -> Bool {
    limits.lifetime != nil && segment.number != active?.segment.number
      && segment.lastWritten + Int(limits.lifetimeSeconds) <= Int(operations.now())
  }

  /// Makes room on a disk that is full.
  func evictOldest() throws(FileFailure) -> Bool {
    let directory = try core.directoryForWriting()
    let numbers = try directory.segmentNumbers()
    return try evictOldest(of: numbers, among: numbers, in: directory, reinserts: false)
  }

  /// Removes the oldest of some segments that no process writes to; `false`: there is none.
  private func evictOldest(
    of candidates: [UInt32], among numbers: [UInt32], in directory: CacheDirectory, reinserts: Bool = true
  ) throws(FileFailure) -> Bool {
    for number in candidates {
      let claimed = try directory.exclusively { () throws(FileFailure) in try claim(number, in: directory) }
      guard let segment = claimed else { continue }
      try evict(segment, in: directory, others: numbers.filter { $0 != number }, reinserts: reinserts)
      complete.remove(number)
      return true
    }
    return false
  }
}
