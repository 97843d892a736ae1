import Foundation

/// Removing keys.
extension CacheWriter {
  /// Bytes of records that are written at once.
  private static let mostBytes = 1 << 20
  /// Keys that are removed while others wait.
  private static let mostRemovals = 4096

  /// Removes keys, in the order of the index's pages: those of one page are found and emptied together.
  /// - Parameters:
  ///   - hashes: their names in the index.
  ///   - key: the bytes of one of them.
  /// - Returns: whether the index is being rebuilt.
  @discardableResult
  func remove(
    _ hashes: [KeyHash], in directory: CacheDirectory, key: (Int) -> [UInt8]
  ) throws(FileFailure) -> Bool {
    let order = hashes.indices.map { (page: directory.index.page(of: hashes[$0]), number: $0) }
      .sorted { $0.page < $1.page }
    var rest = order[...]
    var isRebuilding = false
    while let first = rest.first {
      var pages = [first.page]
      let part = rest.prefix(Self.mostRemovals).prefix { page, _ in
        if page != pages.last, pages.count < IndexPages.most { pages.append(page) }
        return page == pages.last
      }
      let count = try directory.exclusively { () throws(FileFailure) in
        var state = try beginWriting(to: directory)
        isRebuilding = state.isRebuilding || isRebuilding
        let keys = part.map { ($0.page, hashes[$0.number], $0.number) }
        return try remove(keys, of: pages, key, &state, in: directory)
      }
      rest = rest.dropFirst(count)
      if isOver { try? shrink() }
    }
    return isRebuilding
  }

  /// Removes some of the keys, those of some pages, as far as there is room for in a segment. For those who hold the lock of
  /// the cache.
  /// - Returns: how many of them.
  private func remove(
    _ keys: [(page: Int, hash: KeyHash, number: Int)], of pages: [Int], _ key: (Int) -> [UInt8],
    _ state: inout IndexFile.State, in directory: CacheDirectory
  ) throws(FileFailure) -> Int {
    // What a complete index does not know is not there.
    let known = state.isRebuilding ? nil : try IndexPages(pages, of: directory.index)
    let most = min(Self.mostBytes, directory.index.limits.segmentLength / 2)
    var (records, length, page, change, done) = ([StoredRecord](), 0, 0, 0, 0)
    for (number, hash, place) in keys {
      // And then there is room for the next.
      if length >= most { break }
      done += 1
      if let known {
        while pages[page] != number { page += 1 }
        guard let count = known.free(hash, inPage: page) else { continue }
        change -= count
      }
      records.append(StoredRecord(removing: key(place), hash: hash))
      length += records.last!.record.paddedLength
    }
    try append(records, &state, in: directory)
    // After the segment says so.
    try known?.write()
    state.count += change
    try directory.index.write(state)
    return done
  }

  func remove(_ keys: [BitmapKey], in directory: CacheDirectory) throws(FileFailure) {
    try remove(keys.map { core.options.rehash($0.storeHash) }, in: directory) { keys[$0].bytes }
  }

  func remove(_ selection: StagedChanges.Selection, in directory: CacheDirectory) throws(FileFailure) {
    switch selection {
    case .keys(let keys, _): try remove(keys, in: directory)
    case .selected(.all): try removeAll(in: directory)
    case .selected(let selection): try remove(selection, in: directory)
    }
  }

  /// Removes all keys that are selected, by a look at each.
  private func remove(_ selection: KeySelection, in directory: CacheDirectory) throws(FileFailure) {
    // While the index is being rebuilt, it does not know all records.
    var isRebuilding = try state(of: directory).isRebuilding
    try directory.index.forEachPart { placed throws(FileFailure) in
      var removals: [(hash: KeyHash, key: [UInt8])] = []
      for placed in placed {
        switch try key(of: placed, in: directory, if: selection) {
        case .selected(let key): removals.append((placed.slot.hash, key))
        case .unreadable: core.stage.noteDamaged([placed])
        case .other: break
        }
      }
      isRebuilding = try remove(removals.map(\.hash), in: directory) { removals[$0].key } || isRebuilding
    }
    if !isRebuilding { isRebuilding = try state(of: directory).isRebuilding }
    guard isRebuilding else { return }
    for number in try directory.segmentNumbers() {
      guard let segment = try directory.segment(number) else { continue }
      var removals: [(hash: KeyHash, key: [UInt8])] = []
      do throws(FileFailure) {
        _ = try segment.forEachRecord { (record, key, _) throws(FileFailure) in
          if record.kind == .blob, let stored = StoredKey(key), selection.contains(stored) {
            removals.append((core.options.rehash(stored.hash), Array(key)))
          }
          return true
        }
      } catch {
        // What cannot be read is not found again either.
        guard error.isUnreadable(segment) else { throw error }
      }
      try remove(removals.map(\.hash), in: directory) { removals[$0].key }
    }
  }

  private enum Look {
    case selected([UInt8])
    case other
    /// The disk cannot give it.
    case unreadable
  }

  /// Whether a slot's record is selected, and its key.
  private func key(
    of placed: PlacedSlot, in directory: CacheDirectory, if selection: KeySelection
  ) throws(FileFailure) -> Look {
    if case .key(var key) = selection {
      // All but one in 2⁶⁴ are known by their slots alone.
      guard key.withUTF8({ BlobRecord.hash(UnsafeRawBufferPointer($0)) }) == placed.slot.hash.identity else {
        return .other
      }
    }
    // What another process evicts at the moment it may have written anew: elsewhere, in the same slot.
    var slot = placed.slot
    for attempt in 0..<2 {
      guard !slot.isRemoval else { return .other }
      if let key = try key(of: slot, in: directory) {
        guard let key else { return .unreadable }
        return key.withUnsafeBytes { StoredKey($0).map { selection.contains($0) } ?? false } ? .selected(key) : .other
      }
      guard attempt == 0, let next = try directory.index.find(slot.hash) else { break }
      directory.closeSegment(slot.segment)
      slot = next.slot
    }
    return .other
  }

  /// The key of a slot's record; `nil`: the record is not there; `.some(nil)`: it cannot be read.
  private func key(of slot: IndexSlot, in directory: CacheDirectory) throws(FileFailure) -> [UInt8]?? {
    guard let segment = try directory.segment(slot.segment) else { return nil }
    var bytes = [UInt8](repeating: 0, count: BlobRecord.headLength + Int(slot.keyLength))
    let result = bytes.withUnsafeMutableBytes {
      operations.readAll(segment.file.number, into: $0, at: Int64(slot.offset))
    }
    if result == -Int(EIO) { return .some(nil) }
    guard try check(result, "read", segment.name) == bytes.count,
      bytes.withUnsafeBytes({ BlobRecord(verifying: $0)?.sequence }) == slot.sequence
    else { return nil }
    return Array(bytes[BlobRecord.headLength...])
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
