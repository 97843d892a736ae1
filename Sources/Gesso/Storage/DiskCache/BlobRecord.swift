internal import CGesso
import Foundation

/// A blob with its key, as stores keep it: what a read verifies, whatever happened to the bytes meanwhile.
///
/// 48 bytes, little endian, then the key and the blob:
///
///     0  u64  XXH3 of bytes 8 ..< 48 + key
///     8  u32  "GsRc"         12  u8  version, 1        13  u8  kind         14  u16  0
///     16 u32  bytes of the key                         20  u32 bytes of the blob
///     24 u64  sequence: of two records of one key the higher one counts
///     32 u32  created        36  u32 expires, 0 for never: seconds since 1970
///     40 u64  XXH3 of the blob
package struct BlobRecord: Expiring {
  package enum Kind: UInt8 {
    /// A key and its blob.
    case blob = 1
    /// A key that was removed: what came before does not count.
    case removal = 2
  }

  package var kind = Kind.blob
  package var keyLength = 0
  package var blobLength = 0
  package var sequence: UInt64 = 0
  package var created: UInt32 = 0
  package var expires: UInt32 = 0
  package var blobHash: UInt64 = 0

  package static let headLength = 48
  package static let longestKey = 2 << 20
  package static let longestBlob = 1 << 30
  private static let magic = UInt32(littleEndian: 0x6352_7347)
  private static let version: UInt8 = 1

  /// Bytes of head, key and blob, without what pads it to 8.
  package var length: Int { Self.headLength + keyLength + blobLength }

  /// Bytes in a segment.
  var paddedLength: Int { (length + 7) & ~7 }

  /// Writes the head before a key that is there already.
  /// - Parameter bytes: head and key.
  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    bytes.storeLittle(Self.magic, at: 8)
    bytes.storeLittle(UInt32(Self.version) | UInt32(kind.rawValue) << 8, at: 12)
    bytes.storeLittle(UInt32(keyLength), at: 16)
    bytes.storeLittle(UInt32(blobLength), at: 20)
    bytes.storeLittle(sequence, at: 24)
    bytes.storeLittle(created, at: 32)
    bytes.storeLittle(expires, at: 36)
    bytes.storeLittle(blobHash, at: 40)
    bytes.storeLittle(Self.hash(UnsafeRawBufferPointer(rebasing: bytes[8...])), at: 0)
  }

  /// Reads the lengths alone, of a head that is not verified.
  init?(head bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.headLength, bytes.little(UInt32.self, at: 8) == Self.magic, bytes[12] == Self.version,
      let kind = Kind(rawValue: bytes[13])
    else { return nil }
    self.kind = kind
    keyLength = Int(bytes.little(UInt32.self, at: 16))
    blobLength = Int(bytes.little(UInt32.self, at: 20))
    // Of what is damaged, or was made up, the lengths may be anything.
    guard keyLength <= Self.longestKey, blobLength <= Self.longestBlob else { return nil }
    sequence = bytes.little(at: 24)
    created = bytes.little(at: 32)
    expires = bytes.little(at: 36)
    blobHash = bytes.little(at: 40)
  }

  /// Reads and verifies head and key. `nil`: that is not what was written.
  /// - Parameter bytes: head and key, and whatever comes after.
  package init?(verifying bytes: UnsafeRawBufferPointer) {
    self.init(head: bytes)
    guard Self.headLength + keyLength <= bytes.count,
      bytes.little(UInt64.self, at: 0)
        == Self.hash(UnsafeRawBufferPointer(rebasing: bytes[8..<Self.headLength + keyLength]))
    else { return nil }
  }

  package init(
    kind: Kind = .blob, key: Int, blob: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) {
    (self.kind, keyLength, blobLength, blobHash) = (kind, key, blob.count, Self.hash(blob))
  }

  /// - Parameters:
  ///   - blob: its length.
  ///   - hash: of its bytes.
  init(key: Int, blob: Int, hash: UInt64) { (keyLength, blobLength, blobHash) = (key, blob, hash) }

  /// Whether these are the bytes that the record was made with.
  package func matches(blob: UnsafeRawBufferPointer) -> Bool { blob.count == blobLength && Self.hash(blob) == blobHash }

  static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 { gesso_hash_bytes(bytes.baseAddress, bytes.count).low }
}

/// What counts for some time only, in seconds since 1970.
protocol Expiring {
  var created: UInt32 { get }
  /// 0: never.
  var expires: UInt32 { get }
}

extension Expiring {
  /// Whether it is over. What was made in the future was made by a clock that has been set back since: it may be of any age.
  func isExpired(at now: UInt32) -> Bool { created > now || (expires != 0 && expires <= now) }
}

extension UnsafeRawBufferPointer {
  /// A number, little endian.
  func little<Number: FixedWidthInteger & BitwiseCopyable>(_: Number.Type = Number.self, at offset: Int) -> Number {
    Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: Number.self))
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Writes a number, little endian.
  func storeLittle<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number, at offset: Int) {
    storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self)
  }
}
