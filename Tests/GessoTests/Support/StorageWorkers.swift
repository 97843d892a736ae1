import Foundation
import Testing

@testable import Gesso

/// A process of `storage-worker`, which a test may kill.
final class StorageWorker: Sendable {
  // Proof of safety: `Process` guards what is used of it here by itself.
  private nonisolated(unsafe) let process = Process()
  private let log: URL

  init(_ arguments: [String]) throws {
    let tests = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    process.executableURL = tests.deletingLastPathComponent().appendingPathComponent("storage-worker")
    process.arguments = arguments
    log = FileManager.default.temporaryDirectory.appendingPathComponent("gesso-worker-\(UUID().uuidString)")
    try Data().write(to: log)
    process.standardOutput = try FileHandle(forWritingTo: log)
    try process.run()
  }

  deinit { try? FileManager.default.removeItem(at: log) }

  /// What it has said so far, all of it in whole lines.
  var lines: [[String]] {
    let text = (try? Data(contentsOf: log)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    return text.split(separator: "\n", omittingEmptySubsequences: true)
      .dropLast(text.hasSuffix("\n") || text.isEmpty ? 0 : 1).map { $0.split(separator: " ").map(String.init) }
  }

  var isRunning: Bool { process.isRunning }

  /// Kills it, and returns what it has said.
  func kill() -> [[String]] {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    return lines
  }

  /// Waits for its end.
  func end() async -> (status: Int32, lines: [[String]]) {
    while process.isRunning { try? await Task.sleep(for: .milliseconds(5)) }
    return (process.terminationStatus, lines)
  }
}

/// The bytes that a worker has for a version of a name.
func workerContents(_ name: String, _ version: Int) -> Data {
  var bytes = [UInt8]("\(name) \(version) ".utf8)
  let head = bytes.count, count = 2000 + (version * 7919) % 60_000
  bytes += [UInt8](repeating: UInt8(truncatingIfNeeded: version), count: count)
  for place in stride(from: head, to: head + count, by: 61) {
    bytes[place] = UInt8(truncatingIfNeeded: place &* version)
  }
  return Data(bytes)
}

/// What workers have said, by name, over several of them.
struct WorkerHistory {
  /// The last version that is known to be written; 0: none.
  private(set) var done: [String: Int] = [:]
  /// Versions that were begun after that.
  private(set) var begun: [String: Set<Int>] = [:]
  private(set) var last = 0
  private(set) var acknowledged = 0

  mutating func add(_ lines: [[String]]) {
    for line in lines where line.count >= 2 {
      let name = line[1]
      switch line[0] {
      case "begin":
        let version = Int(line[2])!
        begun[name, default: []].insert(version)
        last = max(last, version)
      case "done":
        let version = Int(line[2])!
        done[name] = version
        begun[name] = begun[name]?.filter { $0 > version }
        acknowledged += 1
      case "removed":
        (done[name], begun[name]) = (nil, [])
      case "removing": begun[name, default: []].formUnion(done[name].map { [$0] } ?? [])
      default: Issue.record("a worker said: \(line.joined(separator: " "))")
      }
    }
  }

  /// Which version of a name bytes are; `nil`: none that may be.
  func version(of bytes: Data, _ name: String) -> Int? {
    (begun[name] ?? []).union(done[name].map { [$0] } ?? []).first { bytes == workerContents(name, $0) }
  }
}
