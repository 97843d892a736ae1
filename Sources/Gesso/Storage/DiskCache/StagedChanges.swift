import Foundation

/// A blob and its hash, which is made by whoever puts it: that thread has the bytes at hand, and the one that writes has
/// enough to do.
struct StagedBlob: Sendable {
  let bytes: Data
  let hash: UInt64

  init(_ bytes: Data) {
    self.bytes = bytes
    hash = bytes.withUnsafeBytes { BlobRecord.hash($0) }
  }
}

/// What a disk cache has been asked for and has not done yet: of each key the last word, and the oldest first.
struct StagedChanges {
  /// Blobs that may wait, in bytes.
  private static let most = 16 << 20
  /// What is written in one go: so many blobs or bytes.
  static let batchCount = 32
  static let batchBytes = 1 << 20
  private static let batchRemovals = 1024
  /// So many keys that are removed at once are looked after together, and not each for itself.
  private static let manyKeys = 64
  /// Keys that are remembered as removed while that cannot be written.
  private static let mostRemovals = 100_000
  private static let mostSelections = 1000

  /// A key's newest value; `nil`: it is removed.
  struct Change: Sendable {
    let key: BitmapKey
    let blob: StagedBlob?
    let version: Int
    /// The version of the first change of the key that is not written: this one is written in its turn.
    let due: Int
  }

  /// What is removed at once.
  enum Selection: Sendable {
    case selected(KeySelection)
    /// In the order in which they are in memory, and to look one up.
    case keys([BitmapKey], Set<BitmapKey>)

    func contains(_ key: BitmapKey) -> Bool {
      switch self {
      case .selected(let selection): selection.contains(key.identity)
      case .keys(_, let keys): keys.contains(key)
      }
    }
  }

  /// What is to be done in one go: selections are removed first, and what is changed came after them. No key is there twice.
  struct Batch: Sendable {
    var selections: [(selection: Selection, version: Int)] = []
    var blobs: [Change] = []
    var removals: [Change] = []
    var damaged: [PlacedSlot] = []
  }

  private var changes: [BitmapKey: Change] = [:]
  /// Those that are due, the oldest first; some may be done, or dropped.
  private var order: ArraySlice<(key: BitmapKey, due: Int)> = []
  /// Blobs, the oldest first; some may be written, or replaced.
  private var blobs: ArraySlice<(key: BitmapKey, version: Int)> = []
  private var selections: [(selection: Selection, version: Int)] = []
  private var damaged: [PlacedSlot] = []
  private(set) var version = 0
  private(set) var byteCount = 0
  private(set) var blobCount = 0
  private(set) var dropped = 0

  var isEmpty: Bool { changes.isEmpty && selections.isEmpty && damaged.isEmpty }
  var isBatch: Bool { blobCount >= Self.batchCount || byteCount >= Self.batchBytes }

  /// The version of the oldest change that is not done.
  var oldest: Int {
    let due = order.first { changes[$0.key]?.due == $0.due }?.due
    return min(due ?? .max, selections.first?.version ?? .max)
  }

  /// What is known of a key that the disk does not know yet; `nil`: nothing.
  func change(of key: BitmapKey) -> Data?? {
    if let change = changes[key] { return .some(change.blob?.bytes) }
    return selections.contains { $0.selection.contains(key) } ? .some(nil) : .none
  }

  mutating func put(_ blob: StagedBlob, for key: BitmapKey) {
    set(key, blob)
    // What waits for room longest gives it up; but not the newest one, however large it is.
    while byteCount > Self.most, blobCount > 1, let (key, version) = blobs.popFirst() {
      if let change = changes[key], change.version == version, change.blob != nil { drop(key) }
    }
  }

  mutating func remove(_ keys: [BitmapKey]) {
    if keys.count >= Self.manyKeys { return removeAll(.keys(keys, Set(keys))) }
    for key in keys { set(key, nil) }
  }

  /// Gives a blob up. Its key is removed, as what is on the disk is older.
  mutating func drop(_ key: BitmapKey) {
    set(key, nil)
    dropped += 1
  }

  mutating func countDropped() { dropped += 1 }

  mutating func removeAll(_ selection: Selection) {
    for (key, change) in changes where selection.contains(key) {
      count(change, -1)
      changes[key] = nil
    }
    version += 1
    selections.append((selection, version))
  }

  mutating func note(_ slots: [PlacedSlot]) {
    // Of many that cannot be forgotten now, the rest is found again.
    if damaged.count < 4096 { damaged += slots }
  }

  private mutating func set(_ key: BitmapKey, _ blob: StagedBlob?) {
    version += 1
    let old = changes[key]
    let change = Change(key: key, blob: blob, version: version, due: old?.due ?? version)
    if let old { count(old, -1) }
    count(change, 1)
    changes[key] = change
    if old == nil { order.append((key, version)) }
    if blob != nil { blobs.append((key, version)) }
    if order.count > 2 * changes.count + 64 { order = order.filter { changes[$0.key]?.due == $0.due }[...] }
    if blobs.count > 2 * blobCount + 64 { blobs = blobs.filter { changes[$0.key]?.version == $0.version }[...] }
  }

  private mutating func count(_ change: Change, _ sign: Int) {
    guard let blob = change.blob else { return }
    byteCount += sign * blob.bytes.count
    blobCount += sign
  }

  /// What comes next. It stays until it is finished.
  mutating func batch() -> Batch {
    var batch = Batch(selections: selections, damaged: damaged)
    damaged = []
    var bytes = 0
    for (key, due) in order {
      guard let change = changes[key], change.due == due else { continue }
      if let blob = change.blob {
        guard batch.blobs.count < Self.batchCount, bytes == 0 || bytes + blob.bytes.count <= Self.batchBytes
        else { break }
        bytes += blob.bytes.count
        batch.blobs.append(change)
      } else {
        batch.removals.append(change)
        if batch.removals.count >= Self.batchRemovals { break }
      }
    }
    return batch
  }

  /// A batch is written.
  mutating func finish(_ batch: Batch) {
    for change in [batch.blobs, batch.removals].joined() {
      // What was asked for meanwhile is still to be done.
      guard let current = changes[change.key], current.due <= change.version else { continue }
      guard current.version == change.version else {
        postpone(current, to: change.version + 1)
        continue
      }
      count(current, -1)
      changes[change.key] = nil
    }
    while let first = order.first, changes[first.key]?.due != first.due { order.removeFirst() }
    if let last = batch.selections.last { selections.removeAll { $0.version <= last.version } }
  }

  /// What was due is done, and something newer of the key is not.
  private mutating func postpone(_ change: Change, to due: Int) {
    changes[change.key] = Change(key: change.key, blob: change.blob, version: change.version, due: due)
    let place = order.firstIndex { $0.due > due } ?? order.endIndex
    order.insert((change.key, due), at: place)
  }

  /// A batch could not be written.
  mutating func fail(_ batch: Batch) {
    damaged += batch.damaged
    // So many removals that wait are not remembered one by one: all is forgotten, when it can be.
    // Nothing is being done now: what is removed more than once is remembered once.
    var selected: [KeySelection] = [], keys: [BitmapKey] = [], known: Set<BitmapKey> = []
    for (selection, _) in selections {
      switch selection {
      case .selected(let selection): if !selected.contains(selection) { selected.append(selection) }
      case .keys(let list, _): for key in list where known.insert(key).inserted { keys.append(key) }
      }
    }
    guard changes.count - blobCount + keys.count <= Self.mostRemovals, selected.count <= Self.mostSelections else {
      selections = []
      return removeAll(.selected(.all))
    }
    guard let version = selections.last?.version else { return }
    selections = selected.map { (.selected($0), version) }
    if !keys.isEmpty { selections.append((.keys(keys, known), version)) }
  }
}
