#if Redis
  import Foundation
  import Testing

  @testable import Gesso
  @testable import GessoRedis

  /// A real server of a test's own, on a Unix socket, and by TLS on a port if it is so wished.
  final class RedisServer: Sendable {
    let folder: URL
    // Proof of safety: a test starts and kills it from one task at a time.
    private nonisolated(unsafe) var process: Process?
    private let options: [String]
    var socket: String { folder.appendingPathComponent("s").path }
    var address: RedisConfiguration.Address { .unix(path: socket) }

    init(_ options: String...) async throws {
      folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "gesso-redis-\(UUID().uuidString.prefix(8))")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      self.options = options
      try await start()
    }

    deinit {
      kill()
      try? FileManager.default.removeItem(at: folder)
    }

    func start() async throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/redis-server")
      process.arguments =
        (options.contains("--port") ? [] : ["--port", "0"]) + [
          "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", folder.path, "--logfile",
          folder.appendingPathComponent("log").path, "--enable-debug-command", "yes",
        ] + options
      try process.run()
      self.process = process
      for _ in 0..<2000 {
        if (try? await command("PING"))?.isEmpty == false { return }
        try await Task.sleep(for: .milliseconds(5))
      }
      let log = (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
      Issue.record("redis-server does not start: \(log)")
    }

    /// Holds the server up: it takes what is sent, and answers nothing before it goes on.
    func pause() { if let process { Foundation.kill(process.processIdentifier, SIGSTOP) } }
    func resume() { if let process { Foundation.kill(process.processIdentifier, SIGCONT) } }

    func kill() {
      guard let process else { return }
      Foundation.kill(process.processIdentifier, SIGKILL)
      for _ in 0..<5000 where process.isRunning { usleep(1000) }
      self.process = nil
    }

    /// What the server's own client answers.
    @discardableResult
    func command(_ arguments: String..., password: String? = nil) async throws -> String {
      let options = ["-s", socket] + (password.map { ["-a", $0, "--no-auth-warning"] } ?? [])
      return try await Self.output(of: "/usr/bin/redis-cli", options + arguments)
    }

    /// What a program prints. On a thread of its own: it may take long, and those of tasks are few.
    static func output(of program: String, _ arguments: [String]) async throws -> String {
      let result: Result<String, any Error> = await callback { finish in
        Thread.detachNewThread {
          finish(
            Result {
              let process = Process(), output = Pipe()
              process.executableURL = URL(fileURLWithPath: program)
              process.arguments = arguments
              process.standardOutput = output
              process.standardError = FileHandle.nullDevice
              try process.run()
              let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
              process.waitUntilExit()
              return String(decoding: bytes, as: UTF8.self)
            })
        }
      }
      return try result.get()
    }
  }
#endif
