/// How much a ``DiskCache`` keeps.
public struct DiskCacheLimits: Hashable, Sendable {
  /// Bytes on the disk, of records and index together; a segment more for a moment.
  public let byteCount: Int
  /// Records.
  public let count: Int
  /// How long a record counts after it was put; `nil`: for ever.
  public let lifetime: Duration?

  /// - Parameters:
  ///   - byteCount: bytes on the disk; 256 MiB by default, at least 1 MiB.
  ///   - count: records; by default, one for each 4 KiB, and at most one for each KiB and 2²⁸. The index is made for as many.
  ///   - lifetime: whole seconds; for ever by default.
  public init(byteCount: Int = 256 << 20, count: Int? = nil, lifetime: Duration? = nil) {
    self.byteCount = min(max(byteCount, 1 << 20), 1 << 50)
    self.count = min(max(count ?? self.byteCount >> 12, 64), self.byteCount >> 10, 1 << 28)
    self.lifetime = lifetime.map { max($0, .seconds(1)) }
  }

  var lifetimeSeconds: UInt32 { lifetime.map { UInt32(clamping: $0.components.seconds) } ?? 0 }

  /// Bytes of a segment: 16 MiB, and of a small cache a sixteenth, as one is dropped at a time.
  var segmentLength: Int { min(max((byteCount >> 4) & ~4095, 64 << 10), 16 << 20) }

  /// At most three slots in five are taken. With two buckets of eight for each key, of one page, four records in 100,000 find
  /// no place then, and hardly one in a million in a table that is half full: as simulated.
  var bucketCount: Int {
    let page = IndexFile.slotsPerBucket * IndexFile.bucketsPerPage
    return (count * 5 / 3 + page) / page * IndexFile.bucketsPerPage
  }
}
