import Foundation

/// A file of records, one after the other, each at a multiple of 8 bytes. Written once, from front to back, by one process,
/// which holds a lock on it for as long as it does. Beginning with 64 bytes, little endian:
///
///     0  u64 "GESSOSEG"   8 u32 version, 1   12 u32 number   16 u64 the index's sequence when it was made
///     24 u64 its length once it is complete, 0 before   56 u64 XXH3 of bytes 0 ..< 56
struct SegmentFile {
  static let headLength = 64
  /// Larger numbers are nobody's.
  static let mostNumber = UInt32(1) << 31
  static let mostSequence = UInt64(1) << 62
  private static let magic = UInt64(littleEndian: 0x4745_534F_5353_4547)
  private static let version: UInt32 = 1

  let number: UInt32
  let file: Descriptor

  init(number: UInt32, file: Descriptor) { (self.number, self.file) = (number, file) }

  /// Opens a segment; `nil`: there is none of that number, or something else has its name.
  init?(
    _ number: UInt32, in directory: Int32, _ flags: Int32, _ operations: FileOperations
  ) throws(FileFailure) {
    let file: Descriptor
    do throws(FileFailure) {
      file = try Descriptor(directory, Self.name(number), flags | O_NOFOLLOW | O_NONBLOCK, operations)
    } catch {
      if [ENOENT, ELOOP, EISDIR, ENXIO].contains(error.code) { return nil }
      throw error
    }
    var information = stat()
    try check(operations.status(file.number, &information), "look at", Self.name(number))
    guard information.st_mode & S_IFMT == S_IFREG else { return nil }
    self.init(number: number, file: file)
  }

  var name: String { Self.name(number) }

  static func name(_ number: UInt32) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits + ".segment"
  }

  /// The number in a name; `nil`: not a segment's.
  static func number(_ name: String) -> UInt32? {
    guard name.utf8.count == 16, name.hasSuffix(".segment"), let number = UInt32(name.prefix(8), radix: 16),
      number > 0, number <= mostNumber, self.name(number) == name
    else { return nil }
    return number
  }

  /// Whether another process has removed it.
  var isRemoved: Bool {
    var information = stat()
    return file.operations.status(file.number, &information) < 0 || information.st_nlink == 0
  }

  /// What stands at the beginning.
  struct Head {
    var sequence: UInt64
    var completeLength: UInt64
  }

  /// `nil`: damaged.
  func head() throws(FileFailure) -> Head? {
    try withUnsafeTemporaryAllocation(byteCount: Self.headLength, alignment: 8) { bytes throws(FileFailure) -> Head? in
      let count = try check(file.operations.readAll(file.number, into: bytes, at: 0), "read", name)
      let bytes = UnsafeRawBufferPointer(bytes)
      guard count == Self.headLength, bytes.little(UInt64.self, at: 0) == Self.magic,
        bytes.little(UInt32.self, at: 8) == Self.version,
        bytes.little(at: 56) == BlobRecord.hash(UnsafeRawBufferPointer(rebasing: bytes[0..<56])),
        bytes.little(UInt64.self, at: 16) <= Self.mostSequence
      else { return nil }
      return Head(sequence: bytes.little(at: 16), completeLength: bytes.little(at: 24))
    }
  }

  func write(_ head: Head) throws(FileFailure) {
    try withUnsafeTemporaryAllocation(byteCount: Self.headLength, alignment: 8) { bytes throws(FileFailure) in
      _ = bytes.initializeMemory(as: UInt8.self, repeating: 0)
      bytes.storeLittle(Self.magic, at: 0)
      bytes.storeLittle(Self.version, at: 8)
      bytes.storeLittle(number, at: 12)
      bytes.storeLittle(head.sequence, at: 16)
      bytes.storeLittle(head.completeLength, at: 24)
      bytes.storeLittle(BlobRecord.hash(UnsafeRawBufferPointer(rebasing: bytes[0..<56])), at: 56)
      try check(file.operations.writeAll(file.number, UnsafeRawBufferPointer(bytes), at: 0), "write", name)
    }
  }

  func length() throws(FileFailure) -> Int {
    var information = stat()
    try check(file.operations.status(file.number, &information), "look at", name)
    return Int(information.st_size)
  }

  /// Gives head, key and place of each record from a place on, until one is damaged or `body` says no.
  /// - Returns: where the last one ends.
  func forEachRecord(
    from start: Int = headLength, _ body: (BlobRecord, UnsafeRawBufferPointer, Int) throws(FileFailure) -> Bool
  ) throws(FileFailure) -> Int {
    var window = Window(file: self, offset: start)
    defer { window.bytes.deallocate() }
    var offset = start
    while true {
      guard offset <= Int(UInt32.max), let head = BlobRecord(head: try window.load(BlobRecord.headLength, at: offset))
      else { return offset }
      let bytes = try window.load(BlobRecord.headLength + head.keyLength, at: offset)
      guard let record = BlobRecord(verifying: bytes),
        try body(record, UnsafeRawBufferPointer(rebasing: bytes[BlobRecord.headLength...]), offset)
      else { return offset }
      offset += record.paddedLength
    }
  }

  /// What of a file was read last: some small records at a time; of large ones the head and the key.
  private struct Window {
    let file: SegmentFile
    var bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 8)
    var offset: Int
    var count = 0

    init(file: SegmentFile, offset: Int) { (self.file, self.offset) = (file, offset) }

    /// Bytes from a place on, fewer at the end of the file; until the next ones are asked for.
    mutating func load(_ length: Int, at place: Int) throws(FileFailure) -> UnsafeRawBufferPointer {
      if place + length > offset + count {
        if length > bytes.count {
          bytes.deallocate()
          bytes = .allocate(byteCount: length, alignment: 8)
        }
        (offset, count) = (place, 0)
        count = try check(
          file.file.operations.readAll(file.file.number, into: bytes, at: Int64(place)), "read", file.name)
      }
      let first = place - offset
      return UnsafeRawBufferPointer(rebasing: bytes[first..<min(first + length, count)])
    }
  }

  /// Where the last record ends that is whole, and how many there are: who was killed may have written a part of one.
  func intactEnd() throws(FileFailure) -> (end: Int, count: Int) {
    var last: (record: BlobRecord, offset: Int)?
    var count = 0
    let end = try forEachRecord { (record, _, offset) throws(FileFailure) in
      last = (record, offset)
      count += 1
      return true
    }
    if let last, try blob(of: last.record, at: last.offset) == nil { return (last.offset, count - 1) }
    return (end, count)
  }

  /// The blob of a record that was found at a place; `nil`: damaged.
  func blob(of record: BlobRecord, at offset: Int) throws(FileFailure) -> [UInt8]? {
    guard try length() >= offset + record.length else { return nil }
    var blob = [UInt8](repeating: 0, count: record.blobLength)
    let place = Int64(offset + BlobRecord.headLength + record.keyLength)
    let result = blob.withUnsafeMutableBytes { file.operations.readAll(file.number, into: $0, at: place) }
    guard try check(result, "read", name) == blob.count else { return nil }
    return blob.withUnsafeBytes { record.matches(blob: $0) } ? blob : nil
  }
}
