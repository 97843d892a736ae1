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
    _ = try segment.forEachRecord { (record, key, offset) throws(FileFailure) in
      if let stored = StoredKey(key) {
        found.append(
          Found(record: record, key: Array(key), hash: core.options.rehash(stored.hash), offset: offset))
      }
      return true
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
      let result = core.options.operations.unlink(directory.directory.number, segment.name)
      if result != -Int(ENOENT) { try check(result, "remove", segment.name) }
    }
  }

  private func evict(
    _ part: ArraySlice<Found>, of segment: SegmentFile, in directory: CacheDirectory, after eldest: UInt64,
    _ budget: inout Int
  ) throws(FileFailure) {
    guard !directory.index.isReplaced else { throw FileFailure("write to", IndexFile.name, -Int(ESTALE)) }
    var state = try currentState(directory)
    let now = core.options.operations.now()
    // Only what the index still has there: of a key that was put again meanwhile it has the new place.
    var live: [(found: Found, place: Int)] = []
    var records: [Record] = []
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
        let blob = try segment.blob(of: found.record, at: found.offset)
      {
        budget -= length
        records.append(Record(found.record, key: found.key, blob: Data(blob), hash: found.hash))
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
      if let head = try directory.segment(number)?.head() { first = min(first, head.sequence) }
    }
    return first
  }

  /// That a key was removed, for whoever rebuilds the index: older records of it may be in other segments.
  private func carried(_ found: Found) -> Record {
    var record = BlobRecord(kind: .removal, key: found.key.count)
    (record.sequence, record.created) = (found.record.sequence, found.record.created)
    var removal = Record(record, key: found.key, blob: Data(), hash: found.hash)
    removal.isCarried = true
    return removal
  }
}
