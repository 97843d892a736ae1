import Foundation

/// A record that is to be written.
struct StoredRecord {
  var record: BlobRecord
  let key: [UInt8]
  var blob: Data
  let hash: KeyHash
  /// A removal that is written with its own sequence, for whoever rebuilds the index.
  var isCarried = false

  /// A record as it was found.
  init(_ record: BlobRecord, key: [UInt8], blob: Data, hash: KeyHash) {
    (self.record, self.key, self.blob, self.hash) = (record, key, blob, hash)
  }

  init(removing key: [UInt8], hash: KeyHash) {
    self.init(BlobRecord(kind: .removal, key: key.count), key: key, blob: Data(), hash: hash)
  }

  /// What is to be put under a key.
  init(_ blob: StagedBlob, key: [UInt8], hash: KeyHash) {
    self.init(
      BlobRecord(key: key.count, blob: blob.bytes.count, hash: blob.hash), key: key, blob: blob.bytes, hash: hash)
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
    // Heads and what pads records, in the order of the file: blobs come in between.
    let length = records.reduce(0) { $0 + $1.record.paddedLength - $1.blob.count }
    try withUnsafeTemporaryAllocation(byteCount: length, alignment: 8) { heads throws(FileFailure) in
      _ = heads.initializeMemory(as: UInt8.self, repeating: 0)
      var pieces: [iovec] = []
      var (start, end) = (0, 0)
      for record in records {
        let head = UnsafeMutableRawBufferPointer(rebasing: heads[end..<end + BlobRecord.headLength + record.key.count])
        UnsafeMutableRawBufferPointer(rebasing: head[BlobRecord.headLength...]).copyBytes(from: record.key)
        record.record.write(to: head)
        end += head.count
        if !record.blob.isEmpty {
          pieces.append(iovec(iov_base: heads.baseAddress! + start, iov_len: end - start))
          pieces.append(iovec(iov_base: nil, iov_len: record.blob.count))
          start = end
        }
        end += record.record.paddedLength - record.record.length
      }
      pieces.append(iovec(iov_base: heads.baseAddress! + start, iov_len: end - start))
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
    return records[next].blob.withUnsafeBytes { bytes in
      pieces[piece].iov_base = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
      return withPointers(to: records[(next + 1)...], piece + 2, &pieces, body)
    }
  }

  /// Writes into the index what was written to the segment.
  private func enter(
    _ record: StoredRecord, at offset: Int, _ state: inout IndexFile.State, in directory: CacheDirectory
  ) throws(FileFailure) {
    let index = directory.index
    let slot = IndexSlot(record.record, hash: record.hash, segment: active!.segment.number, offset: offset)
    // A complete index has no removals: who writes one empties the key's slot.
    if slot.isRemoval, !state.isRebuilding { return }
    switch try index.insert(slot, isFound: record.isCarried, isRebuilding: state.isRebuilding) {
    case .done(let change, let evicts):
      state.count += change
      if evicts { core.counters.evicted.increment() }
    case .left: break
    case .full: try directory.forgetAll(&state)
    }
  }
}
