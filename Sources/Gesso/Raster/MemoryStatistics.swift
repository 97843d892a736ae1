internal import CGesso

/// Counts of all bitmaps of the process that have pixels of their own.
public struct MemoryStatistics: Hashable, Sendable {
  /// Bitmaps made since the process began.
  public let bitmapsCreated: Int
  /// Of those, how many are still there.
  public let bitmapsAlive: Int
  /// Bytes of their pixels.
  public let bytesAlive: Int

  /// The counts now. Thread-safety: any thread.
  public static var current: MemoryStatistics {
    var statistics = gesso_memory_statistics()
    statistics.struct_size = MemoryLayout<gesso_memory_statistics>.size
    gesso_memory_statistics_get(&statistics)
    return MemoryStatistics(
      bitmapsCreated: Int(statistics.bitmaps_created), bitmapsAlive: Int(statistics.bitmaps_alive),
      bytesAlive: Int(statistics.bytes_alive))
  }
}

/// The version of Gesso that runs, as `major.minor.patch`.
public var gessoVersion: String {
  let version = gesso_version()
  return "\(version / 10000).\(version / 100 % 100).\(version % 100)"
}
