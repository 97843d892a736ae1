extension DiskCache {
  /// What a disk cache has done, and holds.
  public struct Statistics: Equatable, Sendable {
    /// How much it keeps.
    public var limits: DiskCacheLimits
    /// Records in the index, of all processes.
    public var count = 0
    /// Bytes on the disk.
    public var byteCount = 0
    /// Files of records.
    public var segmentCount = 0
    /// Whether an index that was lost is being rebuilt: what is not found yet is a miss.
    public var isRebuilding = false
    /// Whether it may be read only.
    public var isReadOnly = false
    /// Whether several processes may use it: not on a network file system without locks.
    public var isShared = true

    /// Of this process: reads that found a blob.
    public var hits = 0
    /// Reads that found none.
    public var misses = 0
    /// Records that were not what was written, and were forgotten.
    public var damaged = 0
    /// Records that went to make room.
    public var evicted = 0
    /// Records that were kept when the others of their segment went, as they were read.
    public var reinserted = 0
    /// Blobs that wait to be written.
    public var waiting = 0
    /// Blobs that found no room to wait in, or are too large to be kept.
    public var dropped = 0
    /// Times that writing failed.
    public var writeFailures = 0
    /// Why nothing can be read or written at the moment.
    public var failure: StorageError?
  }

  /// What a look at all records found.
  public struct Verification: Hashable, Sendable {
    /// Records that are what was written.
    public var intact = 0
    /// Bytes of their blobs.
    public var byteCount = 0
    /// Of those that are not: where they should be.
    public var damaged: [String] = []
    /// Records that have expired.
    public var expired = 0
  }
}
