#if Redis
  import Foundation
  import Gesso
  import Synchronization

  /// Keeps blobs on a Redis server, or one that speaks its language, such as Valkey: for all machines that name it.
  ///
  ///     let remote = RedisStore(.init(.tcp(host: "cache.example", port: 6379), password: secret))
  ///     let drawer = CachedDrawer(.init(stores: [disk, remote]))
  ///
  /// What one program has drawn, the others do not draw. Each value is a record with the whole key and a checksum, as a
  /// ``DiskCache`` has it: what is damaged, or somebody else's, is a miss and left alone. The server's memory is bounded by the
  /// server (`maxmemory`, `allkeys-lru`), and blobs have a lifetime.
  ///
  /// Nothing waits longer than the time-out, 50 ms by default. While the server fails it is left alone, for up to ten seconds
  /// at a time, and a drawer goes on with its other stores. One server, or a proxy of several: the sharding of Redis Cluster
  /// is not followed, as hiredis has none.
  ///
  /// Thread-safety: any thread.
  public final class RedisStore: BlobStore {
    private let connection: RedisConnection
    private let prefix: [UInt8]
    private let counters = RedisCounters()

    /// Another machine.
    public var tier: BlobTier { .remote }
    /// Which server, and how.
    public var configuration: RedisConfiguration { connection.configuration }

    /// A store on a server, which is connected to when something is asked for.
    public init(_ configuration: RedisConfiguration = RedisConfiguration()) {
      prefix = Array(configuration.prefix.utf8)
      connection = RedisConnection(configuration)
    }

    deinit { connection.stop() }

    /// What a store has done so far.
    public struct Statistics: Hashable, Sendable {
      /// Reads that found a blob.
      public var hits = 0
      /// Reads that found none.
      public var misses = 0
      /// Values that were no record of the key, and were left alone.
      public var foreign = 0
      /// Requests that failed.
      public var failures = 0
      /// Connections that were made.
      public var connections = 0
    }

    /// What this store has done so far.
    public var statistics: Statistics {
      Statistics(
        hits: counters.hits.load(ordering: .relaxed), misses: counters.misses.load(ordering: .relaxed),
        foreign: counters.foreign.load(ordering: .relaxed), failures: counters.failures.load(ordering: .relaxed),
        connections: connection.connections)
    }

    // MARK: Asking

    private func ask(
      _ kind: RedisConnection.Request.Kind, byteCount: Int = 0, timeout: Duration? = nil
    ) async throws(RedisError) -> RedisReply {
      let result: Result<RedisReply, RedisError> = await callback { finish in
        connection.submit(kind, byteCount: byteCount, timeout: timeout, finish: finish)
      }
      if case .failure = result { counters.failures.add(1, ordering: .relaxed) }
      return try result.get()
    }

    private func ask(_ command: String, _ arguments: [UInt8]..., timeout: Duration? = nil) async throws(RedisError)
      -> RedisReply
    {
      try await ask(.command([Array(command.utf8)] + arguments), timeout: timeout)
    }

    /// The blob of a key, verified; `nil` if there is none.
    public func blob(for key: BitmapKey) async throws(RedisError) -> Data? {
      let reply = try await ask(.get(RedisKey.bytes(key, prefix: prefix)))
      guard case .bytes(let value) = reply else {
        counters.misses.add(1, ordering: .relaxed)
        return nil
      }
      guard let blob = Self.blob(in: value, of: key), blob.count <= configuration.largestBlob else {
        counters.foreign.add(1, ordering: .relaxed)
        counters.misses.add(1, ordering: .relaxed)
        return nil
      }
      counters.hits.add(1, ordering: .relaxed)
      return blob
    }

    private static func blob(in value: [UInt8], of key: BitmapKey) -> Data? {
      var expected: [UInt8] = []
      key.append(to: &expected)
      return value.withUnsafeBytes { bytes in
        guard let record = BlobRecord(verifying: bytes), record.kind == .blob, record.length == bytes.count,
          bytes[BlobRecord.headLength...].starts(with: expected), record.keyLength == expected.count
        else { return nil }
        let blob = UnsafeRawBufferPointer(rebasing: bytes[(BlobRecord.headLength + record.keyLength)...])
        return record.matches(blob: blob) ? Data(blob) : nil
      }
    }

    /// Sends a blob, and returns when the server has it.
    public func put(_ blob: Data, for key: BitmapKey) async throws(RedisError) {
      guard blob.count <= configuration.largestBlob, key.identity.utf8.count <= 1 << 20 else {
        throw .tooLarge(blob.count)
      }
      var value = [UInt8](repeating: 0, count: BlobRecord.headLength)
      key.append(to: &value)
      var record = blob.withUnsafeBytes { BlobRecord(key: value.count - BlobRecord.headLength, blob: $0) }
      record.created = UInt32(clamping: Int(Date().timeIntervalSince1970))
      value.withUnsafeMutableBytes { record.write(to: $0) }
      value += blob
      let lifetime = configuration.lifetime.map { duration -> [[UInt8]] in
        let (seconds, attoseconds) = duration.components
        let time = min(max(0, seconds), 1 << 40) * 1000 + attoseconds / 1_000_000_000_000_000
        return [Array("PX".utf8), Array("\(max(1, time))".utf8)]
      }
      let arguments = [Array("SET".utf8), RedisKey.bytes(key, prefix: prefix), value] + (lifetime ?? [])
      guard try await ask(.command(arguments), byteCount: value.count) == .text("OK") else {
        throw .refused("no answer to SET")
      }
    }

    /// Removes one.
    public func remove(_ key: BitmapKey) async throws(RedisError) {
      _ = try await ask("UNLINK", RedisKey.bytes(key, prefix: prefix))
    }

    // MARK: Removing many

    /// Removes all that are selected. The server looks through all of its keys for it, some at a time, while it serves others.
    public func removeAll(_ selection: KeySelection) async throws(RedisError) {
      let pattern = RedisKey.pattern(selection, prefix: prefix)
      var cursor = Array("0".utf8)
      repeat {
        if Task.isCancelled { throw .notConnected("it was cancelled") }
        let reply = try await ask(
          "SCAN", cursor, Array("MATCH".utf8), pattern, Array("COUNT".utf8), Array("1000".utf8), timeout: .seconds(1))
        guard case .list(let parts) = reply, parts.count == 2, case .bytes(let next) = parts[0],
          case .list(let names) = parts[1]
        else { throw .refused("no answer to SCAN") }
        var selected: [[UInt8]] = []
        for case .bytes(let name) in names where try await isSelected(name, selection) { selected.append(name) }
        if !selected.isEmpty {
          _ = try await ask(.command([Array("UNLINK".utf8)] + selected), timeout: .seconds(1))
        }
        cursor = next
      } while cursor != Array("0".utf8)
    }

    private func isSelected(_ name: [UInt8], _ selection: KeySelection) async throws(RedisError) -> Bool {
      if let isSelected = RedisKey.isSelected(name, selection, prefix: prefix) { return isSelected }
      // A long key, of which the name has the beginning.
      let end = Array("\(BlobRecord.headLength + (2 << 20))".utf8)
      let head: RedisReply
      do throws(RedisError) {
        head = try await ask("GETRANGE", name, Array("0".utf8), end, timeout: .seconds(1))
      } catch {
        // No value at all, but somebody's list.
        if case .refused = error { return false }
        throw error
      }
      guard case .bytes(let bytes) = head else { return false }
      return bytes.withUnsafeBytes { bytes in
        guard let record = BlobRecord(verifying: bytes) else { return false }
        let key = bytes[BlobRecord.headLength..<BlobRecord.headLength + record.keyLength]
        return StoredKey(UnsafeRawBufferPointer(rebasing: key)).map { selection.contains($0) } ?? false
      }
    }
  }

  private final class RedisCounters: Sendable {
    let hits = Atomic(0)
    let misses = Atomic(0)
    let foreign = Atomic(0)
    let failures = Atomic(0)
  }
#endif
