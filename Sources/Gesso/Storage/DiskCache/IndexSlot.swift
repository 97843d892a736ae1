/// Where a record is: 64 bytes of the index, little endian, all 0 where there is none.
///
///     0  u64 ×2 hash of the key      16 u64 sequence       24 u64 hash of what the user called it
///     32 u32 segment   36 u32 offset in it   40 u32 bytes of the blob   44 u32 bytes of the key
///     48 u32 created   52 u32 expires        56 u64 XXH3 of bytes 0 ..< 56
struct IndexSlot: Equatable, Expiring {
  var hash: KeyHash
  var sequence: UInt64
  /// 0 for a key that was removed, which the index knows while it is being rebuilt.
  var segment: UInt32
  var offset: UInt32
  var blobLength: UInt32
  var keyLength: UInt32
  var created: UInt32
  var expires: UInt32

  static let length = 64

  var isRemoval: Bool { segment == 0 }
  var recordLength: Int { BlobRecord.headLength + Int(keyLength) + Int(blobLength) }

  init(_ record: BlobRecord, hash: KeyHash, segment: UInt32, offset: Int) {
    self.hash = hash
    sequence = record.sequence
    self.segment = record.kind == .removal ? 0 : segment
    self.offset = UInt32(offset)
    blobLength = UInt32(record.blobLength)
    keyLength = UInt32(record.keyLength)
    created = record.created
    expires = record.expires
  }

  /// `nil`: empty, or torn.
  init?(_ bytes: UnsafeRawBufferPointer) {
    let check: UInt64 = bytes.little(at: 56)
    guard check != 0, check == Self.check(bytes), bytes.little(UInt32.self, at: 40) <= BlobRecord.longestBlob,
      bytes.little(UInt32.self, at: 44) <= BlobRecord.longestKey
    else { return nil }
    hash = KeyHash(low: bytes.little(at: 0), high: bytes.little(at: 8), identity: bytes.little(at: 24))
    sequence = bytes.little(at: 16)
    segment = bytes.little(at: 32)
    offset = bytes.little(at: 36)
    blobLength = bytes.little(at: 40)
    keyLength = bytes.little(at: 44)
    created = bytes.little(at: 48)
    expires = bytes.little(at: 52)
  }

  func write(to bytes: UnsafeMutableRawBufferPointer) {
    bytes.storeLittle(hash.low, at: 0)
    bytes.storeLittle(hash.high, at: 8)
    bytes.storeLittle(sequence, at: 16)
    bytes.storeLittle(hash.identity, at: 24)
    bytes.storeLittle(segment, at: 32)
    bytes.storeLittle(offset, at: 36)
    bytes.storeLittle(blobLength, at: 40)
    bytes.storeLittle(keyLength, at: 44)
    bytes.storeLittle(created, at: 48)
    bytes.storeLittle(expires, at: 52)
    bytes.storeLittle(Self.check(UnsafeRawBufferPointer(bytes)), at: 56)
  }

  private static func check(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    BlobRecord.hash(UnsafeRawBufferPointer(rebasing: bytes[0..<56]))
  }

  /// Whether it still is where a record was.
  func isAt(_ segment: UInt32, _ offset: Int) -> Bool { self.segment == segment && Int(self.offset) == offset }
}

/// A slot, and which one of the index it is.
struct PlacedSlot: Equatable, Sendable {
  let place: Int
  let slot: IndexSlot
}
