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

  /// Returns whether there is no more to be done: `false` after a failure, and while another process is at it.
  func run() -> Bool {
    if isOver { return true }
    // One process does it. The lock goes with the file, or with the process; where there are no locks, there is one process.
    let lock = options.operations.uninterrupted {
      options.operations.lock(directory.index.file.number, LOCK_EX | LOCK_NB)
    }
    if lock == -Int(EWOULDBLOCK) { return false }
    defer { _ = options.operations.lock(directory.index.file.number, LOCK_UN) }
    do throws(FileFailure) {
      // What is begun meanwhile is entered by those who write it.
      for number in try directory.segmentNumbers() {
        guard let segment = try directory.segment(number) else { continue }
        guard try read(segment) else { return isOver }
      }
      try finish()
      return true
    } catch { return isOver }
  }

  /// Whether nobody wants it, or it is done.
  private var isOver: Bool {
    if isStopped() || directory.index.isReplaced { return true }
    guard let state = try? directory.index.state() else { return false }
    return !state.isRebuilding
  }

  /// `false`: it is not to go on.
  private func read(_ segment: SegmentFile) throws(FileFailure) -> Bool {
    var slots: [IndexSlot] = []
    var goesOn = true
    do throws(FileFailure) {
      let end = try segment.intactEnd().end
      _ = try segment.forEachRecord { (record, key, offset) throws(FileFailure) in
        if offset < end, let stored = StoredKey(key) {
          slots.append(
            IndexSlot(record, hash: options.rehash(stored.hash), segment: segment.number, offset: offset))
        }
        if slots.count >= Self.part {
          goesOn = try enter(slots, of: segment)
          slots = []
        }
        return goesOn
      }
    } catch {
      // What cannot be read is lost; and what was read of it is not.
      guard error.isUnreadable(segment) else { throw error }
    }
    return goesOn ? try enter(slots, of: segment) : false
  }

  private func enter(_ slots: [IndexSlot], of segment: SegmentFile) throws(FileFailure) -> Bool {
    if isStopped() || directory.index.isReplaced { return false }
    return try directory.exclusively { () throws(FileFailure) in
      guard var state = try directory.index.state() else { throw FileFailure("read", IndexFile.name, -Int(EBADMSG)) }
      // All was removed meanwhile.
      guard state.isRebuilding else { return false }
      // It has gone: what of it is still there was written anew.
      if segment.isRemoved { return true }
      for slot in slots {
        switch try directory.index.insert(slot, isFound: true, isRebuilding: true) {
        case .done(let change, _): state.count += change
        case .left: break
        case .full:
          try directory.forgetAll(&state)
          return false
        }
      }
      try directory.index.write(state)
      return true
    }
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
