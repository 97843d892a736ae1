import Foundation

/// Removing what is selected, and what has expired.
extension CacheWriter {
  func remove(_ selection: KeySelection, in directory: CacheDirectory) throws(FileFailure) {
    if selection == .all { return try removeAll(in: directory) }
    // While the index is being rebuilt, it does not know all records.
    var isRebuilding = try state(of: directory).isRebuilding
    try directory.index.forEachPart { placed throws(FileFailure) in
      var removals: [StoredRecord] = []
      for placed in placed {
        if let key = try key(of: placed.slot, in: directory, if: selection) {
          removals.append(StoredRecord(removing: key, hash: placed.slot.hash))
        }
      }
      isRebuilding = try write(removals, to: directory) || isRebuilding
    }
    guard isRebuilding else { return }
    for number in try directory.segmentNumbers() {
      guard let segment = try directory.segment(number) else { continue }
      var removals: [StoredRecord] = []
      _ = try segment.forEachRecord { (record, key, _) throws(FileFailure) in
        if record.kind == .blob, let stored = StoredKey(key), selection.contains(stored) {
          removals.append(StoredRecord(removing: Array(key), hash: core.options.rehash(stored.hash)))
        }
        return true
      }
      _ = try write(removals, to: directory)
    }
  }

  /// Returns whether the index is being rebuilt.
  private func write(_ removals: [StoredRecord], to directory: CacheDirectory) throws(FileFailure) -> Bool {
    try directory.exclusively { () throws(FileFailure) in
      var state = try beginWriting(to: directory)
      if !removals.isEmpty { try append(removals, &state, in: directory) }
      return state.isRebuilding
    }
  }

  /// The key of a slot's record if it is selected; `nil`: it is not, or there is no such record.
  private func key(
    of slot: IndexSlot, in directory: CacheDirectory, if selection: KeySelection
  ) throws(FileFailure) -> [UInt8]? {
    if case .key(var key) = selection {
      // All but one in 2⁶⁴ are known by their slots alone.
      guard key.withUTF8({ BlobRecord.hash(UnsafeRawBufferPointer($0)) }) == slot.hash.identity else { return nil }
    }
    guard !slot.isRemoval, let segment = try directory.segment(slot.segment) else { return nil }
    var bytes = [UInt8](repeating: 0, count: BlobRecord.headLength + Int(slot.keyLength))
    let result = bytes.withUnsafeMutableBytes {
      operations.readAll(segment.file.number, into: $0, at: Int64(slot.offset))
    }
    guard try check(result, "read", segment.name) == bytes.count,
      bytes.withUnsafeBytes({ BlobRecord(verifying: $0)?.sequence }) == slot.sequence
    else { return nil }
    let key = Array(bytes[BlobRecord.headLength...])
    return key.withUnsafeBytes { StoredKey($0).map { selection.contains($0) } ?? false } ? key : nil
  }

  private func removeAll(in directory: CacheDirectory) throws(FileFailure) {
    active = nil
    complete = []
    try directory.exclusively { () throws(FileFailure) in
      var state = try beginWriting(to: directory)
      try directory.forgetAll(&state)
      // Those who write to one of them will see that it has no name any more.
      for number in try directory.segmentNumbers() {
        directory.closeSegment(number)
        let result = operations.unlink(directory.directory.number, SegmentFile.name(number))
        if result != -Int(ENOENT) { try check(result, "remove", SegmentFile.name(number)) }
      }
    }
  }

  /// Forgets what has expired, and what is in no segment any more; and counts what is left.
  func sweep(_ directory: CacheDirectory) throws(FileFailure) {
    let now = operations.now()
    let segments = Set(try directory.segmentNumbers())
    let newest = segments.max() ?? 0
    var count = 0
    try directory.index.forEachPart { placed throws(FileFailure) in
      // A segment with a higher number may have been begun meanwhile.
      let gone = placed.filter {
        !$0.slot.isRemoval
          && ($0.slot.isExpired(at: now) || ($0.slot.segment <= newest && !segments.contains($0.slot.segment)))
      }
      count += placed.count { !$0.slot.isRemoval } - gone.count
      guard !gone.isEmpty else { return }
      try directory.exclusively { () throws(FileFailure) in
        _ = try beginWriting(to: directory)
        for placed in gone where try directory.index.find(placed.slot.hash) == placed {
          try directory.index.free(placed.place)
        }
      }
    }
    try directory.exclusively { () throws(FileFailure) in
      var state = try beginWriting(to: directory)
      state.count = count
      try directory.index.write(state)
    }
  }

  /// Removes what has expired, and the oldest of what is over limits.
  func prune(to limits: DiskCacheLimits?) throws(FileFailure) {
    try sweep(try core.directoryForWriting())
    try shrink(to: limits)
  }
}
