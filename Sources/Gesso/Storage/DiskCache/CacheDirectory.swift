import Foundation
import Synchronization

/// The open directory of a disk cache: its lock, its index, and the segments that were read last.
///
/// Thread-safety: any thread.
final class CacheDirectory: Sendable {
  let operations: FileOperations
  let directory: Descriptor
  let index: IndexFile
  /// Where nothing may be written.
  let isReadOnly: Bool
  private let lock: CacheLock?
  private let open = Lock(OpenSegments())
  private let isComplete = Atomic(false)
  /// When it was last looked at whether the index is replaced.
  private let lastLook = Atomic<Int64>(0)

  private init(
    _ directory: Descriptor, _ lock: CacheLock?, _ index: IndexFile, isReadOnly: Bool, _ operations: FileOperations
  ) {
    self.operations = operations
    self.directory = directory
    self.lock = lock
    self.index = index
    self.isReadOnly = isReadOnly
  }

  /// Opens a directory, which is made if it is not there, and makes an index if there is none.
  /// - Parameters:
  ///   - limits: what the index is to be made for; `nil`: what it is made for.
  ///   - fallback: what one is made for that is not there, if `limits` does not say; `nil`: what there is.
  ///   - isAgain: it was open before. It is no link then.
  static func open(
    _ path: String, _ limits: DiskCacheLimits?, fallback: DiskCacheLimits?, isAgain: Bool, isReadOnly: Bool,
    _ operations: FileOperations
  ) throws(FileFailure) -> CacheDirectory {
    if !isReadOnly {
      do throws(StorageError) { _ = try Directories.make(path, operations) } catch {
        guard case .system(_, _, let code) = error, [EROFS, EACCES, EPERM].contains(code) else {
          throw FileFailure("make the directory", "", -Int(error.code ?? EIO))
        }
      }
    }
    let flags = O_RDONLY | O_DIRECTORY | (isAgain ? O_NOFOLLOW : 0)
    let folder = operations.uninterrupted { operations.open(AT_FDCWD, path, flags, 0) }
    let directory = Descriptor(Int32(try check(folder, "open", "")), operations)
    do throws(FileFailure) {
      if isReadOnly { throw FileFailure("write to", "", -Int(EROFS)) }
      return try open(directory, CacheLock(in: directory, operations), limits, fallback, operations)
    } catch {
      guard [EROFS, EACCES, EPERM].contains(error.code) else { throw error }
      guard let index = try IndexFile.open(in: directory.number, isReadOnly: true, operations) else {
        throw FileFailure("open", IndexFile.name, -Int(ENOENT))
      }
      return CacheDirectory(directory, nil, index, isReadOnly: true, operations)
    }
  }

  private static func open(
    _ directory: Descriptor, _ lock: CacheLock, _ limits: DiskCacheLimits?, _ fallback: DiskCacheLimits?,
    _ operations: FileOperations
  ) throws(FileFailure) -> CacheDirectory {
    func existing() throws(FileFailure) -> (IndexFile, isFit: Bool)? {
      guard let index = try IndexFile.open(in: directory.number, isReadOnly: false, operations),
        let state = try index.state()
      else { return nil }
      return (index, (limits == nil || limits == index.limits) && state.boot == SystemStart.identity)
    }
    if let (index, isFit) = try existing(), isFit {
      return CacheDirectory(directory, lock, index, isReadOnly: false, operations)
    }
    return try lock.exclusively { () throws(FileFailure) in
      // Another process may have come first.
      var old = try existing()
      if let (index, isFit) = old, isFit {
        return CacheDirectory(directory, lock, index, isReadOnly: false, operations)
      }
      if let (index, _) = old, let limits, limits != index.limits {
        if limits.bucketCount == index.bucketCount { try index.change(to: limits) } else { old = nil }
      }
      if old != nil, let index = try IndexFile.open(in: directory.number, isReadOnly: false, operations),
        var state = try index.state()
      {
        // After a power cut the sequence may be older than records are.
        if state.boot != SystemStart.identity {
          state.boot = SystemStart.identity
          state.sequence += 1 << 32
          try index.write(state)
        }
        return CacheDirectory(directory, lock, index, isReadOnly: false, operations)
      }
      let state = try stateForSegments(in: directory, operations)
      let index = try IndexFile.make(
        in: directory.number, limits ?? fallback ?? limitsForSegments(in: directory, operations), state, operations)
      return CacheDirectory(directory, lock, index, isReadOnly: false, operations)
    }
  }

  /// Limits that what there is does not exceed, where nobody says any.
  private static func limitsForSegments(in directory: Descriptor, _ operations: FileOperations) -> DiskCacheLimits {
    var information = stat()
    let bytes = ((try? numbers(in: directory, operations)) ?? []).reduce(0) { sum, number in
      let result = operations.statusOfEntry(directory.number, SegmentFile.name(number), &information)
      return sum + (result < 0 ? 0 : room(information))
    }
    return DiskCacheLimits(byteCount: max(DiskCacheLimits().byteCount, 2 * bytes))
  }

  /// What an index begins with whose records are to be found in the segments that there are.
  private static func stateForSegments(
    in directory: Descriptor, _ operations: FileOperations
  ) throws(FileFailure) -> IndexFile.State {
    var state = IndexFile.State(boot: SystemStart.identity)
    for number in try numbers(in: directory, operations) {
      state.isRebuilding = true
      state.segment = max(state.segment, number)
      guard let segment = try SegmentFile(number, in: directory.number, O_RDONLY, operations) else { continue }
      if let head = try? segment.head() {
        state.sequence = max(state.sequence, head.sequence)
      } else {
        // Its head is damaged; its records may not be.
        _ = try? segment.forEachRecord { (record, _, _) throws(FileFailure) in
          state.sequence = max(state.sequence, min(record.sequence, SegmentFile.mostSequence))
          return true
        }
      }
    }
    // More than there can be records since the last segment was begun.
    if state.isRebuilding { state.sequence += 1 << 32 }
    state.rebuildSequence = state.sequence
    return state
  }

  // MARK: The lock

  /// Whether other processes can be kept apart: not on a network file system without locks.
  var isShared: Bool { lock?.isShared ?? false }

  /// Does something while no other thread or process writes to index or segments.
  func exclusively<Result>(_ body: () throws(FileFailure) -> Result) throws(FileFailure) -> Result {
    guard let lock else { throw FileFailure("write to", "", -Int(EROFS)) }
    return try lock.exclusively(body)
  }

  /// Whether the directory of that name is this one still, with this lock and index.
  func isCurrent(_ path: String) -> Bool {
    guard !index.isReplaced else { return false }
    guard let lock else { return true }
    return lock.isCurrent(path) && isIndexCurrent
  }

  /// Whether the index is still the one of that name.
  private var isIndexCurrent: Bool { operations.isFile(index.file.number, IndexFile.name, in: directory.number) }

  /// Forgets all that the index knows, and what it may still have found. For those who hold the lock.
  func forgetAll(_ state: inout IndexFile.State) throws(FileFailure) {
    try index.removeAll()
    (state.count, state.isRebuilding) = (0, false)
    try index.write(state)
  }

  // MARK: Segments

  /// Segments that are open for reading; those that were read last.
  private struct OpenSegments {
    var files: [UInt32: (file: Descriptor, time: Int)] = [:]
    var time = 0
  }

  /// At most so many, and a quarter of what the process may have open.
  private static let mostOpen: Int = {
    var limit = rlimit()
    let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    return isKnown ? min(64, max(4, Int(clamping: limit.rlim_cur) / 4)) : 64
  }()

  /// A segment for reading; `nil`: it is not there any more.
  func segment(_ number: UInt32) throws(FileFailure) -> SegmentFile? {
    let known = open.withLock { open -> Descriptor? in
      open.time += 1
      open.files[number]?.time = open.time
      return open.files[number]?.file
    }
    if let known { return SegmentFile(number: number, file: known) }
    let segment: SegmentFile?
    do throws(FileFailure) {
      segment = try SegmentFile(number, in: directory.number, O_RDONLY, operations)
    } catch {
      guard [EMFILE, ENFILE].contains(error.code) else { throw error }
      closeSegments()
      segment = try SegmentFile(number, in: directory.number, O_RDONLY, operations)
    }
    guard let segment else { return nil }
    // Those that other processes have removed hold their room for as long as they are open.
    let others = open.withLock { $0.files }
    let removed = others.filter { SegmentFile(number: $0.key, file: $0.value.file).isRemoved }
    let closed = open.withLock { open -> [Descriptor] in
      for number in removed.keys { open.files[number] = nil }
      let oldest = open.files.count < Self.mostOpen ? nil : open.files.min { $0.value.time < $1.value.time }
      if let oldest { open.files[oldest.key] = nil }
      open.files[number] = (segment.file, open.time)
      return oldest.map { [$0.value.file] } ?? []
    }
    withExtendedLifetime((closed, removed, others)) {}
    return segment
  }

  func closeSegments() {
    let closed = open.withLock { open in
      defer { open.files = [:] }
      return open.files
    }
    withExtendedLifetime(closed) {}
  }

  /// Closes a segment that is to be no more, so that its room becomes free.
  func closeSegment(_ number: UInt32) {
    let closed = open.withLock { $0.files.removeValue(forKey: number) }
    withExtendedLifetime(closed) {}
  }

  private static func numbers(
    in directory: Descriptor, _ operations: FileOperations
  ) throws(FileFailure) -> [UInt32] {
    var names: [String] = []
    try check(operations.list(directory.number, &names), "list", "")
    return names.compactMap(SegmentFile.number).sorted()
  }

  /// The numbers of all segments, the oldest first.
  func segmentNumbers() throws(FileFailure) -> [UInt32] { try Self.numbers(in: directory, operations) }

  /// A segment, and the bytes that it takes on the disk.
  struct Room {
    let number: UInt32
    let byteCount: Int
    /// Seconds since 1970.
    let lastWritten: Int
  }

  /// What a file takes, or will; of one whose length is nonsense, more than any quota.
  private static func room(_ information: stat) -> Int {
    max(min(Int(information.st_size), 1 << 50), min(Int(information.st_blocks), 1 << 40) * 512)
  }

  /// All segments, the oldest first, and the bytes that the index takes.
  func rooms() throws(FileFailure) -> (segments: [Room], index: Int) {
    var segments: [Room] = []
    var information = stat()
    for number in try segmentNumbers() {
      guard operations.statusOfEntry(directory.number, SegmentFile.name(number), &information) >= 0 else { continue }
      segments.append(
        Room(
          number: number, byteCount: Self.room(information),
          lastWritten: information.st_mtim.tv_sec))
    }
    // All of it, though what was never written takes no room yet.
    return (segments, IndexFile.length(buckets: index.bucketCount))
  }

  // MARK: Reading

  /// Whether the index has been replaced, as of a millisecond ago at most. Who makes one anew empties the old one, which nobody
  /// reads then: it is of an index that somebody else has removed that some more is read.
  var wasReplaced: Bool {
    let now = MonotonicClock.now
    guard now - lastLook.load(ordering: .relaxed) > 1_000_000 else { return false }
    guard isIndexCurrent else { return true }
    lastLook.store(now, ordering: .relaxed)
    return false
  }

  /// The sequence from which on records are told. An index that is complete stays so.
  private func firstSequence() throws(FileFailure) -> UInt64 {
    if isComplete.load(ordering: .relaxed) { return 0 }
    var known = try index.state()
    // Another one may just be writing it. Of one that is torn nothing is told: whoever writes next makes it anew.
    if known == nil { known = try index.state() }
    guard let state = known else { return .max }
    if state.isRebuilding { return state.rebuildSequence }
    isComplete.store(true, ordering: .relaxed)
    return 0
  }

  /// What a look into the cache found.
  enum Found {
    case blob(Data, place: Int)
    case nothing
    /// A slot whose record is not what was written: damaged, evicted meanwhile, or of another key with the same hash.
    case damaged(PlacedSlot)
    case otherKey
  }

  /// The blob of a key.
  /// - Parameter key: all of its bytes, as ``BitmapKey/bytes`` are.
  func read(_ hash: KeyHash, _ key: [UInt8]) throws(FileFailure) -> Found {
    // What is being overwritten or evicted at the moment is elsewhere in the next.
    for attempt in 0..<2 {
      let (now, first) = (operations.now(), try firstSequence())
      guard let placed = try index.find(hash), !placed.slot.isRemoval, !placed.slot.isExpired(at: now),
        placed.slot.sequence >= first
      else { return .nothing }
      guard placed.slot.keyLength == UInt32(key.count) else { return .otherKey }
      let found = try read(placed, key)
      if case .damaged = found, attempt == 0 {
        // Nor is it in a file that another one has taken the name of.
        closeSegment(placed.slot.segment)
        continue
      }
      return found
    }
    return .nothing
  }

  private func read(_ placed: PlacedSlot, _ key: [UInt8]) throws(FileFailure) -> Found {
    let slot = placed.slot
    guard let segment = try segment(slot.segment) else { return .damaged(placed) }
    let blobLength = Int(slot.blobLength)
    // Memory is not taken on the word of an index alone.
    if blobLength > 1 << 20, try segment.length() < Int(slot.offset) + slot.recordLength { return .damaged(placed) }
    guard let memory = RecordMemory(slot) else { throw FileFailure("read", segment.name, -Int(ENOMEM)) }
    var found = Found.damaged(placed)
    do throws(FileFailure) {
      let result = operations.readAll(segment.file.number, into: memory.record, at: Int64(slot.offset))
      if try check(result, "read", segment.name) == slot.recordLength {
        found = judge(UnsafeRawBufferPointer(memory.record), placed, key)
      }
    } catch {
      free(memory.base)
      throw error
    }
    guard case .blob = found else {
      free(memory.base)
      return found
    }
    return .blob(memory.blob, place: placed.place)
  }

  /// Whether a record is the one that a slot tells of, and that key's.
  private func judge(_ bytes: UnsafeRawBufferPointer, _ placed: PlacedSlot, _ key: [UInt8]) -> Found {
    let slot = placed.slot
    guard let record = BlobRecord(verifying: bytes), record.kind == .blob, record.sequence == slot.sequence,
      record.keyLength == key.count, record.blobLength == Int(slot.blobLength)
    else { return .damaged(placed) }
    let blob = BlobRecord.headLength + key.count
    guard key.withUnsafeBytes({ memcmp($0.baseAddress!, bytes.baseAddress! + BlobRecord.headLength, key.count) }) == 0
    else { return .otherKey }
    guard record.matches(blob: UnsafeRawBufferPointer(rebasing: bytes[blob...])) else { return .damaged(placed) }
    return .blob(Data(), place: placed.place)
  }
}

/// Memory to read a record into: as far behind a cache line's begin as the record is in its file, as copies are a
/// quarter faster that way.
private struct RecordMemory {
  private static let line = 64

  let base: UnsafeMutableRawPointer
  let record: UnsafeMutableRawBufferPointer
  private let blobLength: Int

  /// `nil`: there is no memory.
  init?(_ slot: IndexSlot) {
    guard let base = malloc(slot.recordLength + Self.line) else { return nil }
    let start = base + (Int(slot.offset) - Int(bitPattern: base)) & (Self.line - 1)
    (self.base, blobLength) = (base, Int(slot.blobLength))
    record = UnsafeMutableRawBufferPointer(start: start, count: slot.recordLength)
  }

  /// The end of the record, which takes the memory over.
  var blob: Data {
    let start = record.baseAddress! + record.count - blobLength
    return Data(bytesNoCopy: start, count: blobLength, deallocator: .custom { [base] _, _ in free(base) })
  }
}

/// Which start of the system this is: what was written before another one may have been lost by halves.
enum SystemStart {
  static let identity: UInt64 = {
    let text = (try? FileBytes.read("/proc/sys/kernel/random/boot_id", limit: 4096)) ?? Data()
    return text.withUnsafeBytes { BlobRecord.hash($0) }
  }()
}
