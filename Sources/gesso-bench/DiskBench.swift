import Foundation
import Gesso

/// What a disk cache and a disk writer cost: prints lines `NAME VALUE`, by turns with peers that do the same.
///
/// Entry `i` is as large, and has the bytes, that the peers' own has.
struct DiskBench {
  let directory: URL
  let count: Int
  let seed: UInt64
  var smallest = 2048.0
  var largest = 204800.0

  init(_ arguments: [String]) {
    guard arguments.count == 3 || arguments.count == 5, let count = Int(arguments[1]), let seed = UInt64(arguments[2])
    else { fail("disk OPERATION DIR COUNT SEED [SMALLEST LARGEST]") }
    directory = URL(fileURLWithPath: arguments[0], isDirectory: true)
    (self.count, self.seed) = (count, seed)
    if arguments.count == 5, let smallest = Double(arguments[3]), let largest = Double(arguments[4]) {
      (self.smallest, self.largest) = (smallest, largest)
    }
  }

  func run(_ operation: String) throws {
    switch operation {
    case "put": try put()
    case "get": try get()
    case "delete": try delete()
    case "fill": try fill(cache(), 0..<count)
    case "open": try open()
    case "growth": try growth()
    case "space": try space()
    case "submit": try submit()
    case "durable": try durable(isBatch: false)
    case "durable-batch": try durable(isBatch: true)
    default: fail("there is no operation \"\(operation)\"")
    }
  }

  // MARK: Entries

  private func cache(_ byteCount: Int = 64 << 30, count: Int? = nil) -> DiskCache {
    DiskCache(
      directory: directory, limits: DiskCacheLimits(byteCount: byteCount, count: count ?? max(2 * self.count, 200_000)))
  }

  private struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }

  private func sizes(_ count: Int) -> [Int] {
    var generator = SplitMix(state: seed)
    return (0..<count).map { _ in
      let part = Double(generator.next() >> 11) * 0x1p-53
      return Int(smallest * pow(largest / smallest, part))
    }
  }

  private static func key(_ number: Int) -> BitmapKey {
    let digits = String(number)
    let name = "picture." + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    return DrawRequest(key: name, size: CGSize(width: 8, height: 8), scale: 1) { _, _ in }.cacheKey
  }

  /// Random bytes, of which each entry is a part: nobody copies them but who keeps them.
  private final class Bytes {
    private let bytes: UnsafeMutableRawBufferPointer

    init(seed: UInt64) {
      bytes = .allocate(byteCount: 1 << 20, alignment: 8)
      var generator = SplitMix(state: ~seed)
      for place in stride(from: 0, to: bytes.count, by: 8) {
        bytes.storeBytes(of: generator.next(), toByteOffset: place, as: UInt64.self)
      }
    }

    func entry(_ number: Int, _ size: Int) -> Data {
      let place = (number &* 4099) % (bytes.count - size)
      // Kept for as long as the process lives.
      return Data(bytesNoCopy: bytes.baseAddress! + place, count: size, deallocator: .none)
    }
  }

  private func microseconds(_ body: () throws -> Void) rethrows -> Double {
    let begin = MonotonicClock.now
    try body()
    return Double(MonotonicClock.now - begin) / 1000
  }

  private func waiting<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let done = DispatchSemaphore(value: 0)
    let result = Received<Value>()
    Task.detached {
      do { result.value = .success(try await body()) } catch { result.value = .failure(error) }
      done.signal()
    }
    done.wait()
    return try result.value!.get()
  }

  /// Proof of safety: written before the semaphore is signalled, read after.
  private final class Received<Value>: @unchecked Sendable { var value: Result<Value, any Error>? }

  private func fill(_ cache: DiskCache, _ range: Range<Int>) throws {
    let (sizes, bytes) = (sizes(range.upperBound), Bytes(seed: seed))
    for first in stride(from: range.lowerBound, to: range.upperBound, by: 1024) {
      for number in first..<min(first + 1024, range.upperBound) {
        try cache.putNow(bytes.entry(number, sizes[number]), for: Self.key(number))
      }
      try waiting { try await cache.flush() }
    }
  }

  // MARK: Operations

  /// Puts as they come, and then some more in batches, each waited for.
  private func put() throws {
    let batched = 1600
    let (sizes, bytes, keys) = (sizes(count + batched), Bytes(seed: seed), (0..<count + batched).map(Self.key))
    let cache = cache()
    func put(_ range: Range<Int>) throws {
      for number in range { try cache.putNow(bytes.entry(number, sizes[number]), for: keys[number]) }
      try waiting { try await cache.flush() }
    }
    // As many as may wait.
    let time = try microseconds {
      for first in stride(from: 0, to: count, by: 200) { try put(first..<min(first + 200, count)) }
    }
    print("put", time / Double(count))
    let batches = try stride(from: count, to: count + batched, by: 32).map { first in
      try microseconds { try put(first..<first + 32) }
    }
    print("batch-p99", batches.sorted()[batches.count * 99 / 100] / 1000)
  }

  private func get() throws {
    let (sizes, keys) = (sizes(count), (0..<count).map(Self.key))
    let cache = cache()
    for number in 0..<count {
      guard try cache.blobNow(for: keys[number])?.count == sizes[number] else { fail("entry \(number) is not there") }
    }
    var generator = SplitMix(state: seed + 1)
    let order = (0..<4 * count).map { _ in Int(generator.next() % UInt64(count)) }
    var found = 0
    let time = try microseconds { for number in order { found += try cache.blobNow(for: keys[number])!.count } }
    guard found == order.reduce(0, { $0 + sizes[$1] }) else { fail("not what was put") }
    print("get", time / Double(order.count))
  }

  private func delete() throws {
    let keys = (0..<count).map(Self.key), cache = cache()
    _ = try cache.blobNow(for: keys[0])
    let before = try cache.statistics().count
    let removed = stride(from: 0, to: count, by: 2).map { keys[$0] }
    // In one call, as somebody does who has to be rid of many: the others gain nothing by that.
    let time = try microseconds { try waiting { try await cache.remove(removed) } }
    guard try cache.statistics().count == before - removed.count else { fail("not all were removed") }
    print("delete", time / Double(removed.count))
  }

  private func open() throws {
    let key = Self.key(count / 2)
    var found = false
    let time = try microseconds {
      let cache = DiskCache(directory: directory, limits: nil)
      found = try cache.blobNow(for: key) != nil
    }
    guard found else { fail("entry \(count / 2) is not there") }
    print("open", time / 1000)
  }

  /// The worst ratio, of put, get and evict, among so many records and 10,000 of them.
  private func growth() throws {
    var figures: [[Double]] = []
    for (folder, count) in [("small", 10_000), ("large", count)] {
      let bench = DiskBench(folder, count, of: self)
      figures.append(try bench.costs())
    }
    let ratios = zip(figures[0], figures[1]).map { $1 / $0 }
    FileHandle.standardError.write(Data("put, get, evict: \(figures[0]), \(figures[1])\n".utf8))
    print("growth", ratios.max()!)
  }

  private init(_ folder: String, _ count: Int, of other: DiskBench) {
    self.init(
      [
        other.directory.appendingPathComponent(folder).path, "\(count)", "\(other.seed)", "\(other.smallest)",
        "\(other.largest)",
      ])
  }

  /// Microseconds of a put, a get, and an eviction for each put at the quota.
  private func costs() throws -> [Double] {
    let cache = cache(), measured = 20_000
    try fill(cache, 0..<count)
    let (sizes, bytes) = (sizes(count + 3 * measured), Bytes(seed: seed))
    var puts: [Double] = []
    for first in stride(from: count - count / 5, to: count, by: 32).prefix(measured / 32) {
      let entries = (first..<first + 32).map { (Self.key($0), bytes.entry($0, sizes[$0])) }
      puts.append(
        try microseconds {
          for (key, entry) in entries { try cache.putNow(entry, for: key) }
          try waiting { try await cache.flush() }
        } / 32)
    }
    var generator = SplitMix(state: seed + 1)
    let order = (0..<measured).map { _ in Self.key(Int(generator.next() % UInt64(count))) }
    for key in order { _ = try cache.blobNow(for: key) }
    var gets: [Double] = []
    for first in stride(from: 0, to: measured, by: 100) {
      gets.append(try microseconds { for key in order[first..<first + 100] { _ = try cache.blobNow(for: key) } } / 100)
    }
    let before = try cache.statistics()
    let limits = DiskCacheLimits(byteCount: before.byteCount - before.byteCount / 20, count: count)
    let time = try microseconds { try waiting { try await cache.prune(to: limits) } }
    let evicted = before.count - (try cache.statistics().count)
    return [puts.sorted()[puts.count / 2], gets.sorted()[gets.count / 2], time / Double(max(1, evicted))]
  }

  /// Bytes on the disk for each byte that is alive, after pictures came and went at the quota for long.
  private func space() throws {
    let quota = 256 << 20
    let cache = cache(quota, count: quota >> 12), bytes = Bytes(seed: seed), sizes = sizes(count)
    var generator = SplitMix(state: seed + 2)
    var worst = 0
    for number in 0..<count {
      try cache.putNow(bytes.entry(number, sizes[number]), for: Self.key(number))
      // Some of what was put before is read, more often the newer; and some is put anew.
      let back = Int(Double(6000) * pow(Double(generator.next() >> 11) * 0x1p-53, 2))
      _ = try cache.blobNow(for: Self.key(max(0, number - back)))
      if number % 50 == 0 {
        let again = max(0, number - back)
        try cache.putNow(bytes.entry(again, sizes[again]), for: Self.key(again))
      }
      if number % 200 == 199 {
        try waiting { try await cache.flush() }
        worst = max(worst, try cache.statistics().byteCount - quota)
      }
    }
    try waiting { try await cache.prune() }
    let statistics = try cache.statistics(), alive = try cache.verify().byteCount
    print("space", Double(statistics.byteCount) / Double(alive))
    print("over-quota", worst)
  }
}

// MARK: Submitting, and durable files

extension DiskBench {
  private static let fileLength = 20_000

  private func writer() -> DiskWriter {
    DiskWriter(
      directories: StorageDirectories(cache: directory, temporary: directory, documents: directory),
      completions: ImmediateCompletionQueue(), byteLimit: 1 << 30)
  }

  /// What the caller's thread spends on a write: while the writer is at work, and when it has to be woken.
  private func submit() throws {
    let writer = writer(), data = Data(count: Self.fileLength)
    func one() throws -> Double {
      microseconds { writer.write(data, to: .cache, completion: nil) }
    }
    var busy: [Double] = [], asleep: [Double] = []
    for _ in 0..<max(1, count / 200) {
      for _ in 0..<200 { busy.append(try one()) }
      try waiting { await writer.barrier(.cache) }
    }
    for _ in 0..<max(1, min(count, 300)) {
      usleep(2000)
      asleep.append(try one())
      try waiting { await writer.barrier(.cache) }
    }
    print("submit-p50", busy.sorted()[busy.count / 2])
    print("submit-asleep-p50", asleep.sorted()[asleep.count / 2])
  }

  /// Documents, one awaited after the other, or in batches of 32 with a barrier after each.
  private func durable(isBatch: Bool) throws {
    let writer = writer(), data = Data(repeating: 7, count: Self.fileLength), count = count
    let time = try microseconds {
      try waiting {
        for first in stride(from: 0, to: count, by: isBatch ? 32 : 1) {
          if isBatch {
            for number in first..<min(first + 32, count) {
              writer.write(data, to: .documents, named: "file\(number)", completion: nil)
            }
            await writer.barrier(.documents)
          } else {
            try await writer.write(data, to: .documents, named: "file\(first)")
          }
        }
      }
    }
    print(isBatch ? "durable-batch" : "durable", time / Double(count))
  }
}
