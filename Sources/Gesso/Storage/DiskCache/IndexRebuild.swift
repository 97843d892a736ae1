import Foundation

/// Finds the records of an index that was lost, while it is in use.
///
/// What segments say is put into the index where it knows nothing newer: records, and removals, which the index keeps until
/// all segments were read. Whoever finds an index that is being rebuilt, and nobody at it, begins anew.
struct IndexRebuild {
  let directory: CacheDirectory
  let options: CacheOptions
  let isStopped: @Sendable () -> Bool

  /// Records that are looked after while the lock is held once.
  private static let part = 256

  func run() {
    // One process does it. The lock goes with the file, or with the process.
    guard options.operations.lock(directory.index.file.number, LOCK_EX | LOCK_NB) >= 0 else { return }
    defer { _ = options.operations.lock(directory.index.file.number, LOCK_UN) }
    do throws(FileFailure) {
      // What is begun meanwhile is entered by those who write it.
      for number in try directory.segmentNumbers() {
        guard let segment = try directory.segment(number) else { continue }
        guard try read(segment) else { return }
      }
      try finish()
    } catch {}
  }

  /// `false`: stopped.
  private func read(_ segment: SegmentFile) throws(FileFailure) -> Bool {
    var slots: [IndexSlot] = []
    var goesOn = true
    _ = try segment.forEachRecord { (record, key, offset) throws(FileFailure) in
      if let stored = StoredKey(key) {
        slots.append(
          IndexSlot(record, hash: options.rehash(stored.hash), segment: segment.number, offset: offset))
      }
      if slots.count >= Self.part {
        goesOn = try enter(slots)
        slots = []
      }
      return goesOn
    }
    guard goesOn else { return false }
    return try enter(slots)
  }

  private func enter(_ slots: [IndexSlot]) throws(FileFailure) -> Bool {
    if isStopped() || directory.index.isReplaced { return false }
    try directory.exclusively { () throws(FileFailure) in
      guard var state = try directory.index.state() else { throw FileFailure("read", IndexFile.name, -Int(EBADMSG)) }
      for slot in slots {
        let known = try directory.index.find(slot.hash)
        guard try directory.index.insert(slot, onlyIfNewer: true) != .outdated else { continue }
        state.count += (slot.isRemoval ? 0 : 1) - (known.map { $0.slot.isRemoval ? 0 : 1 } ?? 0)
      }
      try directory.index.write(state)
    }
    return true
  }

  private func finish() throws(FileFailure) {
    try directory.exclusively { () throws(FileFailure) in
      guard var state = try directory.index.state() else { return }
      state.isRebuilding = false
      try directory.index.write(state)
    }
    // From now on nobody adds a removal.
    try directory.index.forEachPart { placed throws(FileFailure) in
      let removals = placed.filter(\.slot.isRemoval)
      guard !removals.isEmpty else { return }
      try directory.exclusively { () throws(FileFailure) in
        for removal in removals where try directory.index.find(removal.slot.hash) == removal {
          try directory.index.free(removal.place)
        }
      }
    }
  }
}
