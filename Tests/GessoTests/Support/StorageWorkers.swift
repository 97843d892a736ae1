import Foundation
import Testing

@testable import Gesso
@testable import storage_worker

/// A process of `storage-worker`, which a test may kill.
final class StorageWorker: Sendable {
  private let process: pid_t
  private let log: URL
  /// How it ended, once it has.
  private let ended = Box<Int32?>(nil)

  /// Starts it, by the system's own call: Foundation's waits for the end of one by a loop that may miss it.
  init(_ arguments: [String]) throws {
    let tests = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    let program = tests.deletingLastPathComponent().appendingPathComponent("storage-worker").path
    log = FileManager.default.temporaryDirectory.appendingPathComponent("gesso-worker-\(UUID().uuidString)")
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    var words = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, program, &actions, nil, &words, environ)
    guard result == 0 else { throw StorageError.system(operation: "start", path: program, code: result) }
    self.process = process
  }

  deinit {
    _ = kill()
    try? FileManager.default.removeItem(at: log)
  }

  /// What it has said so far, all of it in whole lines.
  var lines: [[String]] {
    let text = (try? Data(contentsOf: log)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    return text.split(separator: "\n", omittingEmptySubsequences: true)
      .dropLast(text.hasSuffix("\n") || text.isEmpty ? 0 : 1).map { $0.split(separator: " ").map(String.init) }
  }

  var isRunning: Bool {
    ended.update { ended in
      var status: Int32 = 0
      if ended == nil, waitpid(process, &status, WNOHANG) == process { ended = status }
    }
    return ended.value == nil
  }

  /// Kills it, and returns what it has said.
  @discardableResult
  func kill() -> [[String]] {
    while isRunning {
      Foundation.kill(process, SIGKILL)
      usleep(200)
    }
    return lines
  }

  /// Waits for its end. Of one that a signal has ended the status is that of a shell, 128 and more.
  func end() async -> (status: Int32, lines: [[String]]) {
    while isRunning { try? await Task.sleep(for: .milliseconds(5)) }
    let status = ended.value!
    return (status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F, lines)
  }
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
    (begun[name] ?? []).union(done[name].map { [$0] } ?? []).first { bytes == contents(name, $0) }
  }
}
