import Foundation
import Gesso

/// `gesso cache`.
struct CacheCommand {
  static let help = """
    usage: gesso cache stats DIR             tells what a disk cache holds
           gesso cache verify DIR            reads all of it; damaged records are forgotten, and end with 1
           gesso cache prune DIR [LIMITS]    removes what has expired, and the oldest of what is over limits
           gesso cache clear DIR             removes all of it

    DIR may be in use by other programs meanwhile.

    options:
      --bytes N     prune: bytes on the disk, also as 500K, 64M or 2G
      --count N     prune: records
      --age S       prune: seconds since a file was written last
      --json        the answer as JSON
      --help        this
    """

  private let directory: String
  private let options: Options

  static func run(_ arguments: [String]) async throws {
    if arguments.contains("--help") || arguments.contains("-h") { return print(help) }
    guard let action = arguments.first, !action.hasPrefix("-") else {
      throw UsageError("cache needs stats, verify, prune or clear", help: help)
    }
    guard ["stats", "verify", "prune", "clear"].contains(action) else {
      throw UsageError("there is no cache \(action)", help: help)
    }
    let options = try Options(
      Array(arguments.dropFirst()), values: action == "prune" ? ["bytes", "count", "age"] : [], flags: ["json"],
      takesOperands: true, help: help)
    guard options.operands.count == 1, let directory = options.operands.first, !directory.isEmpty else {
      throw UsageError("cache \(action) needs one directory", help: help)
    }
    let command = CacheCommand(directory: directory, options: options)
    try command.checkDirectory()
    switch action {
    case "stats": try await command.stats()
    case "verify": try await command.verify()
    case "prune": try await command.prune()
    default: try await command.clear()
    }
  }

  private init(directory: String, options: Options) { (self.directory, self.options) = (directory, options) }

  /// Nothing is made, and above all nothing removed, in a directory that is something else.
  private func checkDirectory() throws {
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: directory) } catch {
      let reason = FileManager.default.fileExists(atPath: directory) ? "cannot be read as a directory" : "is not there"
      throw CacheFailure("\(directory): \(reason)")
    }
    guard names.contains("index") || names.contains(where: { $0.hasSuffix(".segment") }) else {
      throw CacheFailure("\(directory): there is no disk cache in it")
    }
  }

  private func cache(isReadOnly: Bool = false) -> DiskCache {
    DiskCache(directory: URL(fileURLWithPath: directory, isDirectory: true), limits: nil, isReadOnly: isReadOnly)
  }

  /// A cache whose index knows all records.
  private func completeCache() async throws -> DiskCache {
    let cache = cache()
    while true {
      let statistics = try cache.statistics()
      guard statistics.isRebuilding else { break }
      // Nobody may rebuild it here.
      if statistics.isReadOnly { throw CacheFailure("\(directory): the index was lost, and nothing may be written") }
      Console.progress("\(directory): the index was lost, and is being rebuilt")
      try await Task.sleep(for: .milliseconds(20))
    }
    Console.progress("")
    return cache
  }

  // MARK: Actions

  private func stats() async throws {
    let statistics: DiskCache.Statistics
    do { statistics = try cache(isReadOnly: true).statistics() } catch {
      // There is none that can be read: one is made, which is no harm to the records.
      statistics = try await completeCache().statistics()
    }
    let document = StatsDocument(directory, statistics)
    report(document, document.text)
  }

  private func verify() async throws {
    let cache = try await completeCache()
    let found = try cache.verify()
    try await cache.flush()  // which forgets what is damaged
    let document = VerifyDocument(
      directory: directory, intact: found.intact, blobBytes: found.byteCount, expired: found.expired,
      damaged: found.damaged)
    let lines = found.damaged.map { "\(directory)/\($0): damaged" }
    report(
      document,
      (lines + ["\(directory): \(found.intact) records are as they were put, \(found.damaged.count) are not"])
        .joined(separator: "\n"))
    if !found.damaged.isEmpty {
      throw CacheFailure("\(directory): \(found.damaged.count) damaged records were forgotten")
    }
  }

  private func prune() async throws {
    let byteCount = try options.value("bytes", default: nil, expected: "a number of bytes, as 500K, 64M or 2G") {
      Self.bytes($0).map { Optional($0) }
    }
    let count = try options.value("count", default: nil, expected: "a whole number, 1 or more") {
      Int($0).flatMap { $0 > 0 ? Optional(Optional($0)) : nil }
    }
    let age = try options.value("age", default: nil, expected: "whole seconds, 1 or more") {
      Int($0).flatMap { $0 > 0 ? Optional(Optional($0)) : nil }
    }
    let cache = try await completeCache()
    let before = try cache.statistics()
    let limits = DiskCacheLimits(
      byteCount: byteCount ?? before.limits.byteCount, count: count ?? before.limits.count,
      lifetime: age.map { .seconds($0) } ?? before.limits.lifetime)
    try await cache.prune(to: limits)
    try report(before, cache.statistics())
  }

  private func clear() async throws {
    let cache = cache()
    let before = try cache.statistics()
    try await cache.removeAll(.all)
    try report(before, cache.statistics())
  }

  private static func bytes(_ text: String) -> Int? {
    let units = ["K": 10, "M": 20, "G": 30, "T": 40]
    let shift = units[text.suffix(1).uppercased()]
    guard let number = Int(shift == nil ? text : String(text.dropLast())), number > 0,
      number <= Int.max >> (shift ?? 0)
    else { return nil }
    return number << (shift ?? 0)
  }

  // MARK: Answers

  private func report(_ before: DiskCache.Statistics, _ after: DiskCache.Statistics) {
    let document = RemovalDocument(
      directory: directory, removedRecords: max(0, before.count - after.count),
      removedBytes: max(0, before.byteCount - after.byteCount), records: after.count, bytes: after.byteCount)
    report(
      document,
      "\(directory): \(document.removedRecords) records and \(document.removedBytes) bytes removed, "
        + "\(after.count) records and \(after.byteCount) bytes are left")
  }

  private func report(_ document: some Encodable, _ text: String) {
    guard options.has("json") else { return print(text) }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    // Numbers, text and lists of it are always encoded.
    if let data = try? encoder.encode(document) { print(String(decoding: data, as: UTF8.self)) }
  }
}

/// Something that is wrong with a cache.
private struct CacheFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

private struct StatsDocument: Encodable {
  let directory: String
  let records: Int
  let bytes: Int
  let segments: Int
  let byteLimit: Int
  let recordLimit: Int
  let lifetimeSeconds: Int?
  let isReadOnly: Bool
  let isShared: Bool

  init(_ directory: String, _ statistics: DiskCache.Statistics) {
    self.directory = directory
    records = statistics.count
    bytes = statistics.byteCount
    segments = statistics.segmentCount
    byteLimit = statistics.limits.byteCount
    recordLimit = statistics.limits.count
    lifetimeSeconds = statistics.limits.lifetime.map { Int($0.components.seconds) }
    isReadOnly = access(directory, W_OK) != 0
    isShared = statistics.isShared
  }

  var text: String {
    var lines = [
      "\(directory): \(records) records, of at most \(recordLimit)",
      "  \(bytes) bytes in \(segments) segments and an index, of at most \(byteLimit)",
    ]
    if let lifetimeSeconds { lines.append("  records count for \(lifetimeSeconds) s") }
    if isReadOnly { lines.append("  it may be read only") }
    return lines.joined(separator: "\n")
  }
}

private struct VerifyDocument: Encodable {
  let directory: String
  let intact: Int
  let blobBytes: Int
  let expired: Int
  let damaged: [String]
}

private struct RemovalDocument: Encodable {
  let directory: String
  let removedRecords: Int
  let removedBytes: Int
  let records: Int
  let bytes: Int
}
