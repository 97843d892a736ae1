import Foundation

/// A record that is to be written.
struct StoredRecord {
  var record: BlobRecord
  let key: [UInt8]
  var blob: Data
  let hash: KeyHash
  /// A removal that is written with its own sequence, for whoever rebuilds the index.
  var isCarried = false
  /// Of a removal: the slot that goes.
  fileprivate var known: PlacedSlot?

  /// A record as it was found.
  init(_ record: BlobRecord, key: [UInt8], blob: Data, hash: KeyHash) {
    (self.record, self.key, self.blob, self.hash) = (record, key, blob, hash)
  }

  init(removing key: [UInt8], hash: KeyHash) {
    self.init(BlobRecord(kind: .removal, key: key.count), key: key, blob: Data(), hash: hash)
  }

  init(_ change: StagedChanges.Change, _ options: CacheOptions) {
    var key: [UInt8] = []
    key.reserveCapacity(128)
    change.key.append(to: &key)
    let record = change.blob.map { BlobRecord(key: key.count, blob: $0.bytes.count, hash: $0.hash) }
    self.init(
      record ?? BlobRecord(kind: .removal, key: key.count), key: key, blob: change.blob?.bytes ?? Data(),
      hash: options.rehash(change.key.storeHash))
  }

  /// Forgets the blob: the key is removed.
  mutating func becomeRemoval() {
    blob = Data()
    record = BlobRecord(kind: .removal, key: key.count)
  }
}

/// Writing records: first to the segment, and then to the index.
extension CacheWriter {
  /// For those who hold the lock of the cache.
  func append(
    _ records: [StoredRecord], _ state: inout IndexFile.State, in directory: CacheDirectory
  ) throws(FileFailure) {
    let now = operations.now()
    let limits = directory.index.limits
    var run: [StoredRecord] = []
    var runLength = 0
    for var record in records {
      // Limits may have become known after it was put.
      if record.blob.count > limits.byteCount / 4 {
        record.becomeRemoval()
        core.stage.countDropped()
      }
      // What the index does not know is not there, unless records are still to be found.
      if record.record.kind == .removal, !record.isCarried, !state.isRebuilding {
        record.known = try directory.index.find(record.hash)
        if record.known == nil { continue }
      }
      if record.record.created == 0 {
        record.record.created = now
        let (expires, isLate) = now.addingReportingOverflow(limits.lifetimeSeconds)
        record.record.expires = limits.lifetimeSeconds == 0 || isLate ? 0 : expires
      }
      let length = record.record.paddedLength
      if !hasRoom(for: runLength + length, count: run.count + 1, state) {
        try write(run, &state, in: directory)
        (run, runLength) = ([], 0)
        if !hasRoom(for: length, count: 1, state) { try begin(length, &state, in: directory) }
      }
      // Not before there is a segment for it, which may have taken the index's sequence further.
      if !record.isCarried {
        state.sequence += 1
        record.record.sequence = state.sequence
      }
      run.append(record)
      runLength += length
    }
    try write(run, &state, in: directory)
    try directory.index.write(state)
  }

  /// Writes records that fit into the segment, in one call.
  private func write(
    _ records: [StoredRecord], _ state: inout IndexFile.State, in directory: CacheDirectory
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
      let result = withPointers(to: records[...], 1, &pieces) {
        $0.withUnsafeMutableBufferPointer {
          operations.writeAll(active.segment.file.number, $0, at: Int64(active.position))
        }
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
    to records: ArraySlice<StoredRecord>, _ piece: Int, _ pieces: inout [iovec], _ body: (inout [iovec]) -> Int
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
    _ record: StoredRecord, at offset: Int, _ state: inout IndexFile.State, in directory: CacheDirectory
  ) throws(FileFailure) {
    let index = directory.index
    let slot = IndexSlot(record.record, hash: record.hash, segment: active!.segment.number, offset: offset)
    // A complete index has no removals.
    if slot.isRemoval, !state.isRebuilding {
      guard let placed = record.known else { return }
      if !placed.slot.isRemoval { state.count -= 1 }
      return try index.free(placed.place)
    }
    switch try index.insert(slot, isFound: record.isCarried, isRebuilding: state.isRebuilding) {
    case .done(let change, let evicts):
      state.count += change
      if evicts { core.counters.evicted.increment() }
    case .left: break
    case .full: try directory.forgetAll(&state)
    }
  }
}
