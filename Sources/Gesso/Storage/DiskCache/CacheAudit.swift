import Foundation

/// A look at all records that an index knows.
struct CacheAudit {
  let directory: CacheDirectory
  let options: CacheOptions

  func verify() throws(FileFailure) -> (DiskCache.Verification, damaged: [PlacedSlot]) {
    var verification = DiskCache.Verification()
    var damaged: [PlacedSlot] = []
    let now = options.operations.now()
    try directory.index.forEachPart { placed throws(FileFailure) in
      // In the order in which they lie on the disk.
      for placed in placed.sorted(by: { ($0.slot.segment, $0.slot.offset) < ($1.slot.segment, $1.slot.offset) })
      where !placed.slot.isRemoval {
        if try isIntact(placed.slot) {
          verification.intact += 1
          verification.byteCount += Int(placed.slot.blobLength)
          if placed.slot.isExpired(at: now) { verification.expired += 1 }
        } else if try directory.index.find(placed.slot.hash) == placed {
          // It was not evicted or written anew meanwhile.
          verification.damaged.append("\(SegmentFile.name(placed.slot.segment)) at byte \(placed.slot.offset)")
          damaged.append(placed)
        }
      }
    }
    return (verification, damaged)
  }

  private func isIntact(_ slot: IndexSlot) throws(FileFailure) -> Bool {
    guard let segment = try directory.segment(slot.segment) else { return false }
    do throws(FileFailure) { return try isIntact(slot, in: segment) } catch {
      guard error.isUnreadable(segment) else { throw error }
      return false
    }
  }

  private func isIntact(_ slot: IndexSlot, in segment: SegmentFile) throws(FileFailure) -> Bool {
    guard try segment.length() >= Int(slot.offset) + slot.recordLength else { return false }
    var isIntact = false
    _ = try segment.forEachRecord(from: Int(slot.offset)) { (record, key, offset) throws(FileFailure) in
      isIntact =
        record.sequence == slot.sequence && record.kind == .blob
        && StoredKey(key).map { options.rehash($0.hash) } == slot.hash
      if isIntact { isIntact = try segment.blob(of: record, at: offset) != nil }
      return false
    }
    return isIntact
  }
}
