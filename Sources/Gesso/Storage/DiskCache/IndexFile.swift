import Foundation

/// The index of a disk cache: a hash table in a file, of a fixed size, which all processes read and write.
///
/// A key may be in one of two buckets of eight slots, which its hash names: of one page, so that they are read at once.
/// Readers take no lock: a slot that is being written fails its check, and is read again. What writes holds the lock of the
/// cache. Beginning with 4096 bytes:
///
///     0  u64 "GESSOIDX"   8 u32 version, 2   12 u32 buckets   16 u64 quota in bytes   24 u64 quota in records
///     32 u32 lifetime in seconds, 0 for ever   36 u32 bytes of a segment   56 u64 XXH3 of bytes 0 ..< 56
///     64 u64 last sequence   72 u32 last segment   76 u32 1 while it is being rebuilt   80 u64 records
///     88 u64 which start of the system wrote this   96 u64 the sequence at which rebuilding began
///     120 u64 XXH3 of bytes 64 ..< 120
///
/// After the buckets comes a byte for each of them: a bit for each slot whose record was read, written now and then.
final class IndexFile: Sendable {
  static let name = "index"
  private static let magic = UInt64(littleEndian: 0x5844_494F_5353_4547)
  private static let version: UInt32 = 2
  private static let headLength = 4096
  static let slotsPerBucket = 8
  static let bucketsPerPage = 8
  private static let bucketLength = slotsPerBucket * IndexSlot.length

  /// What changes with each batch.
  struct State: Equatable {
    var sequence: UInt64 = 0
    var segment: UInt32 = 0
    var isRebuilding = false
    var count = 0
    var boot: UInt64 = 0
    /// While it is being rebuilt, what is older than this is not told: something newer may not be found yet.
    var rebuildSequence: UInt64 = 0
  }

  let file: Descriptor
  let bucketCount: Int
  private let operations: FileOperations
  private let knownLimits: Lock<DiskCacheLimits>
  /// Which records were read since the index was opened: a byte for each bucket.
  private let reads: Lock<[UInt8]>

  /// What it is made for, as of the last look at the state: another process may change it.
  var limits: DiskCacheLimits { knownLimits.withLock { $0 } }
  /// Bytes of the file, of which those take room on the disk that were written.
  static func length(buckets: Int) -> Int { headLength + buckets * (bucketLength + 1) }

  private init(_ file: Descriptor, _ limits: DiskCacheLimits, buckets: Int, _ operations: FileOperations) {
    (self.file, bucketCount, self.operations) = (file, buckets, operations)
    knownLimits = Lock(limits)
    reads = Lock([UInt8](repeating: 0, count: buckets))
  }

  /// Opens an index. `nil`: it is not there, or is not one, or of another version.
  static func open(in directory: Int32, isReadOnly: Bool, _ operations: FileOperations) throws(FileFailure)
    -> IndexFile?
  {
    let file: Descriptor
    do throws(FileFailure) {
      file = try Descriptor(
        directory, name, (isReadOnly ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_NONBLOCK, operations)
    } catch {
      // No index; a link; a directory.
      if [ENOENT, ELOOP, EISDIR, ENXIO].contains(error.code) { return nil }
      throw error
    }
    var information = stat()
    try check(operations.status(file.number, &information), "look at", name)
    guard information.st_mode & S_IFMT == S_IFREG else { return nil }
    guard let (limits, buckets) = try readHead(file, operations), buckets == limits.bucketCount,
      information.st_size == length(buckets: buckets)
    else { return nil }
    let index = IndexFile(file, limits, buckets: buckets, operations)
    return try index.state() == nil ? nil : index
  }

  /// Makes an empty index, in place of whatever has its name.
  static func make(
    in directory: Int32, _ limits: DiskCacheLimits, _ state: State, _ operations: FileOperations
  ) throws(FileFailure) -> IndexFile {
    let temporary = "index.new"
    _ = operations.unlink(directory, temporary)
    let buckets = limits.bucketCount
    do throws(FileFailure) {
      let file = try Descriptor(directory, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, operations)
      let index = IndexFile(file, limits, buckets: buckets, operations)
      try index.writeHead(limits)
      try index.write(state)
      try check(operations.truncate(file.number, Int64(length(buckets: buckets))), "make room for", temporary)
      let old = try? Descriptor(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK, operations)
      try check(operations.rename(directory, temporary, name, true), "rename to", name)
      // Whoever reads it still learns that it is no more. What has another name is somebody else's, too.
      var information = stat()
      if let old, operations.status(old.number, &information) >= 0, information.st_nlink == 0 {
        _ = operations.truncate(old.number, 0)
      }
      return index
    } catch {
      _ = operations.unlink(directory, temporary)
      throw error
    }
  }

  /// Makes it for other limits, for which the table is as large.
  func change(to limits: DiskCacheLimits) throws(FileFailure) { try writeHead(limits) }

  /// Limits and buckets; `nil`: damaged, or of another version.
  private static func readHead(
    _ file: Descriptor, _ operations: FileOperations
  ) throws(FileFailure) -> (DiskCacheLimits, buckets: Int)? {
    try withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) {
      bytes throws(FileFailure) -> (DiskCacheLimits, buckets: Int)? in
      let count = try check(operations.readAll(file.number, into: bytes, at: 0), "read", name)
      return count < 64 ? nil : limits(in: UnsafeRawBufferPointer(bytes))
    }
  }

  private static func limits(in bytes: UnsafeRawBufferPointer) -> (DiskCacheLimits, buckets: Int)? {
    guard bytes.little(UInt64.self, at: 0) == magic, bytes.little(UInt32.self, at: 8) == version,
      bytes.little(UInt64.self, at: 56) == BlobRecord.hash(UnsafeRawBufferPointer(rebasing: bytes[0..<56]))
    else { return nil }
    let lifetime: UInt32 = bytes.little(at: 32)
    let limits = DiskCacheLimits(
      byteCount: Int(clamping: bytes.little(UInt64.self, at: 16)),
      count: Int(clamping: bytes.little(UInt64.self, at: 24)), lifetime: lifetime == 0 ? nil : .seconds(Int(lifetime)))
    return (limits, Int(bytes.little(UInt32.self, at: 12)))
  }

  private func writeHead(_ limits: DiskCacheLimits) throws(FileFailure) {
    try Self.write(64, file, at: 0, operations) { head in
      head.storeLittle(Self.magic, at: 0)
      head.storeLittle(Self.version, at: 8)
      head.storeLittle(UInt32(bucketCount), at: 12)
      head.storeLittle(UInt64(limits.byteCount), at: 16)
      head.storeLittle(UInt64(limits.count), at: 24)
      head.storeLittle(limits.lifetimeSeconds, at: 32)
      head.storeLittle(UInt32(limits.segmentLength), at: 36)
      head.storeLittle(BlobRecord.hash(UnsafeRawBufferPointer(rebasing: head[0..<56])), at: 56)
    }
  }

  /// `nil`: damaged.
  func state() throws(FileFailure) -> State? {
    try withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { bytes throws(FileFailure) -> State? in
      let count = try check(operations.readAll(file.number, into: bytes, at: 0), "read", Self.name)
      guard count == 128 else { return nil }
      if let (limits, buckets) = Self.limits(in: UnsafeRawBufferPointer(rebasing: bytes[..<64])), buckets == bucketCount
      {
        knownLimits.withLock { $0 = limits }
      }
      let bytes = UnsafeRawBufferPointer(rebasing: bytes[64...])
      guard bytes.little(at: 56) == BlobRecord.hash(UnsafeRawBufferPointer(rebasing: bytes[0..<56])) else { return nil }
      let state = State(
        sequence: bytes.little(at: 0), segment: bytes.little(at: 8),
        isRebuilding: bytes.little(UInt32.self, at: 12) & 1 != 0,
        count: Int(clamping: bytes.little(UInt64.self, at: 16)), boot: bytes.little(at: 24),
        rebuildSequence: bytes.little(at: 32))
      // Such numbers nobody has written in earnest.
      return state.sequence <= SegmentFile.mostSequence && state.segment <= SegmentFile.mostNumber
        && state.count <= 1 << 40 ? state : nil
    }
  }

  func write(_ state: State) throws(FileFailure) {
    try Self.write(64, file, at: 64, operations) { bytes in
      bytes.storeLittle(state.sequence, at: 0)
      bytes.storeLittle(state.segment, at: 8)
      bytes.storeLittle(UInt32(state.isRebuilding ? 1 : 0), at: 12)
      bytes.storeLittle(UInt64(max(0, state.count)), at: 16)
      bytes.storeLittle(state.boot, at: 24)
      bytes.storeLittle(state.rebuildSequence, at: 32)
      bytes.storeLittle(BlobRecord.hash(UnsafeRawBufferPointer(rebasing: bytes[0..<56])), at: 56)
    }
  }

  private static func write(
    _ length: Int, _ file: Descriptor, at offset: Int64, _ operations: FileOperations,
    _ fill: (UnsafeMutableRawBufferPointer) -> Void
  ) throws(FileFailure) {
    try withUnsafeTemporaryAllocation(byteCount: length, alignment: 8) { bytes throws(FileFailure) in
      _ = bytes.initializeMemory(as: UInt8.self, repeating: 0)
      fill(bytes)
      try check(operations.writeAll(file.number, UnsafeRawBufferPointer(bytes), at: offset), "write", name)
    }
  }

  /// Whether another file has its name by now, or none.
  var isReplaced: Bool {
    var information = stat()
    return operations.status(file.number, &information) < 0 || information.st_nlink == 0
  }

  // MARK: Slots

  /// The two buckets of a key, of one page.
  func buckets(of hash: KeyHash) -> (Int, Int) {
    let count = UInt64(Self.bucketsPerPage)
    let page = hash.low % (UInt64(bucketCount) / count) * count
    let first = hash.high % count
    let second = (first + 1 + hash.high / count % (count - 1)) % count
    return (Int(page + first), Int(page + second))
  }

  /// The page of a key.
  func page(of hash: KeyHash) -> Int { buckets(of: hash).0 / Self.bucketsPerPage }

  func offset(ofSlot place: Int) -> Int64 { Int64(Self.headLength + place * IndexSlot.length) }

  /// Reads some buckets.
  private func read<Result>(
    buckets: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(FileFailure) -> Result
  ) throws(FileFailure) -> Result {
    let length = buckets.count * Self.bucketLength
    return try withUnsafeTemporaryAllocation(byteCount: length, alignment: 64) { bytes throws(FileFailure) -> Result in
      try read(bytes, at: offset(ofSlot: buckets.lowerBound * Self.slotsPerBucket))
      return try body(UnsafeRawBufferPointer(bytes))
    }
  }

  func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileFailure) {
    let count = try check(operations.readAll(file.number, into: bytes, at: offset), "read", Self.name)
    // Somebody has cut it off.
    guard count == bytes.count else { throw FileFailure("read", Self.name, -Int(EBADMSG)) }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileFailure) {
    try check(operations.writeAll(file.number, bytes, at: offset), "write", Self.name)
  }

  /// Gives the bytes of each slot of a key's two buckets.
  private func forEachSlot(
    of hash: KeyHash, _ body: (_ bucket: Int, _ place: Int, UnsafeRawBufferPointer) -> Void
  ) throws(FileFailure) {
    let (first, second) = buckets(of: hash)
    let range = min(first, second)..<max(first, second) + 1
    try read(buckets: range) { bytes in
      for bucket in [first, second] {
        for number in 0..<Self.slotsPerBucket {
          let offset = (bucket - range.lowerBound) * Self.bucketLength + number * IndexSlot.length
          let slot = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + IndexSlot.length])
          body(bucket, bucket * Self.slotsPerBucket + number, slot)
        }
      }
    }
  }

  /// The slot of a key; of two, as a power cut may leave them, the newer one.
  func find(_ hash: KeyHash) throws(FileFailure) -> PlacedSlot? {
    // What another thread is writing at the moment is there in the next.
    for attempt in 0..<2 {
      var found: PlacedSlot?
      var isTorn = false
      try forEachSlot(of: hash) { _, place, bytes in
        guard bytes.little(at: 0) == hash.low, bytes.little(at: 8) == hash.high else { return }
        guard let slot = IndexSlot(bytes) else {
          isTorn = true
          return
        }
        if found == nil || found!.slot.sequence < slot.sequence { found = PlacedSlot(place: place, slot: slot) }
      }
      if found != nil || !isTorn || attempt == 1 { return found }
    }
    return nil
  }

  /// What an insertion did.
  enum Insertion: Equatable {
    /// So many records more are in the index.
    case done(change: Int, evicts: Bool)
    /// There is a newer record of the key; or no place, which for a record that is put means that it is not found.
    case left
    /// There is no place for a removal, which must not be forgotten.
    case full
  }

  /// Puts a slot where its key belongs: in place of an older one of the key, of a free one, or, if both buckets are full, of
  /// the one of the oldest segment. For those who hold the lock of the cache.
  /// - Parameters:
  ///   - isFound: a record that was found, and not made: it counts only if the index knows nothing newer of the key.
  ///   - isRebuilding: removals are kept.
  func insert(
    _ slot: IndexSlot, isFound: Bool = false, isRebuilding: Bool = false
  ) throws(FileFailure) -> Insertion {
    var same: [PlacedSlot] = []
    var oldest: PlacedSlot?
    var free: [(bucket: Int, place: Int)] = []
    try forEachSlot(of: slot.hash) { bucket, place, bytes in
      guard let known = IndexSlot(bytes) else { return free.append((bucket, place)) }
      let placed = PlacedSlot(place: place, slot: known)
      if known.hash.low == slot.hash.low, known.hash.high == slot.hash.high {
        same.append(placed)
      } else if !(isRebuilding && known.isRemoval), oldest.map({ known.segment < $0.slot.segment }) ?? true {
        oldest = placed
      }
    }
    // After a power cut there may be two of a key.
    same.sort { $0.slot.sequence > $1.slot.sequence }
    if isFound, let known = same.first, known.slot.sequence >= slot.sequence { return .left }
    // In the emptier bucket.
    let inFirst = free.prefix { $0.bucket == free[0].bucket }
    let emptier = (2 * inFirst.count >= free.count ? inFirst : free[inFirst.count...]).first?.place
    guard let place = same.first?.place ?? emptier ?? oldest?.place else { return slot.isRemoval ? .full : .left }
    let evicted = same.isEmpty && emptier == nil ? oldest : nil
    try write(slot, at: place)
    for double in same.dropFirst() { try self.free(double.place) }
    let lost = (same + (evicted.map { [$0] } ?? [])).count { !$0.slot.isRemoval }
    return .done(change: (slot.isRemoval ? 0 : 1) - lost, evicts: evicted.map { !$0.slot.isRemoval } ?? false)
  }

  private func write(_ slot: IndexSlot, at place: Int) throws(FileFailure) {
    forgetRead(place)
    try Self.write(IndexSlot.length, file, at: offset(ofSlot: place), operations) { slot.write(to: $0) }
  }

  /// Empties a slot. For those who hold the lock of the cache.
  func free(_ place: Int) throws(FileFailure) {
    forgetRead(place)
    try Self.write(IndexSlot.length, file, at: offset(ofSlot: place), operations) { _ in }
  }

  /// Gives all slots that are taken, some thousand at a time.
  func forEachPart(_ body: ([PlacedSlot]) throws(FileFailure) -> Void) throws(FileFailure) {
    let part = 512
    for first in stride(from: 0, to: bucketCount, by: part) {
      let found = try read(buckets: first..<min(first + part, bucketCount)) { bytes in
        var found: [PlacedSlot] = []
        for bucket in 0..<bytes.count / Self.bucketLength {
          let slots = bytes.baseAddress! + bucket * Self.bucketLength
          // Most are empty, of many tables.
          if memcmp(slots, slots + 1, Self.bucketLength - 1) == 0 { continue }
          for number in 0..<Self.slotsPerBucket {
            let bytes = UnsafeRawBufferPointer(start: slots + number * IndexSlot.length, count: IndexSlot.length)
            guard let slot = IndexSlot(bytes) else { continue }
            found.append(PlacedSlot(place: (first + bucket) * Self.slotsPerBucket + number, slot: slot))
          }
        }
        return found
      }
      if !found.isEmpty { try body(found) }
    }
  }

  /// Empties all slots. For those who hold the lock of the cache.
  func removeAll() throws(FileFailure) {
    try check(operations.truncate(file.number, Int64(Self.headLength)), "empty", Self.name)
    try check(operations.truncate(file.number, Int64(Self.length(buckets: bucketCount))), "empty", Self.name)
  }

  // MARK: Which were read

  private func bit(_ place: Int) -> (byte: Int, mask: UInt8) {
    (place / Self.slotsPerBucket, 1 << UInt8(place % Self.slotsPerBucket))
  }

  /// Notes that a record was read; nothing is written.
  func noteRead(_ place: Int) {
    let (byte, mask) = bit(place)
    reads.withLock { $0[byte] |= mask }
  }

  func forgetRead(_ place: Int) {
    let (byte, mask) = bit(place)
    reads.withLock { $0[byte] &= ~mask }
  }

  private var readsOffset: Int64 { Int64(Self.headLength + bucketCount * Self.bucketLength) }

  /// Adds what was read here to what is written. For those who hold the lock of the cache.
  func saveReads() throws(FileFailure) {
    let own = reads.withLock { $0 }
    guard own.contains(where: { $0 != 0 }) else { return }
    var all = try savedReads()
    for byte in all.indices { all[byte] |= own[byte] }
    let result = all.withUnsafeBytes { operations.writeAll(file.number, $0, at: readsOffset) }
    try check(result, "write", Self.name)
  }

  private func savedReads() throws(FileFailure) -> [UInt8] {
    var all = [UInt8](repeating: 0, count: bucketCount)
    let result = all.withUnsafeMutableBytes { operations.readAll(file.number, into: $0, at: readsOffset) }
    try check(result, "read", Self.name)
    return all
  }

  /// Records that were read since the last time that this was asked, here or elsewhere; they begin anew with it. For those
  /// who hold the lock of the cache.
  func takeReads(of places: [Int]) throws(FileFailure) -> Set<Int> {
    guard !places.isEmpty else { return [] }
    var all = try savedReads()
    var read: Set<Int> = []
    reads.withLock { own in
      for place in places {
        let (byte, mask) = bit(place)
        if (own[byte] | all[byte]) & mask != 0 { read.insert(place) }
        own[byte] &= ~mask
        all[byte] &= ~mask
      }
    }
    let result = all.withUnsafeBytes { operations.writeAll(file.number, $0, at: readsOffset) }
    try check(result, "write", Self.name)
    return read
  }
}
