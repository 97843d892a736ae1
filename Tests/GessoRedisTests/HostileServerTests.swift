#if Redis
  import Foundation
  import Testing

  @testable import Gesso
  @testable import GessoRedis

  /// Something that listens on a Unix socket and is no Redis server: each connection is given to a closure, on a thread.
  private final class FakeServer: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/gesso-fake-\(UUID().uuidString.prefix(8))"
    private let listener: Int32
    private let accepted = Lock(0)
    private let ended = Lock(0)

    /// How many connections have ended.
    var endings: Int { ended.withLock { $0 } }

    /// How many have connected.
    var connections: Int { accepted.withLock { $0 } }

    init(_ serve: @escaping @Sendable (Int32) -> Void) {
      listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      #expect(result == 0 && listen(listener, 100) == 0)
      Thread.detachNewThread { [listener, self] in
        while true {
          let file = accept(listener, nil, nil)
          if file < 0 { return }
          accepted.withLock { $0 += 1 }
          Thread.detachNewThread { [self] in
            serve(file)
            close(file)
            self.ended.withLock { $0 += 1 }
          }
        }
      }
    }

    func stop() {
      shutdown(listener, Int32(SHUT_RDWR))
      unlink(path)
    }

    /// A store on it.
    func store(timeout: Duration = .milliseconds(100), _ change: (inout RedisConfiguration) -> Void = { _ in })
      -> RedisStore
    {
      var configuration = RedisConfiguration(.unix(path: path), timeout: timeout, connectTimeout: .seconds(20))
      change(&configuration)
      return RedisStore(configuration)
    }
  }

  /// Waits for something to come; `nil`: the other side has hung up.
  private func hear(_ file: Int32) -> String? {
    var bytes = [UInt8](repeating: 0, count: 65536)
    let count = read(file, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }

  @discardableResult
  private func say(_ file: Int32, _ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return send(file, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }

  private func key(_ name: String) -> BitmapKey {
    DrawRequest(key: name, size: CGSize(width: 8, height: 8), scale: 1) { _, _ in }.cacheKey
  }

  /// How a read ends.
  private func outcome(_ store: RedisStore, _ name: String = "a") async -> RedisError? {
    do throws(RedisError) {
      _ = try await store.blob(for: key(name))
      return nil
    } catch { return error }
  }

  @Suite("A Redis store on a server that is none")
  struct HostileServerTests {
    @Test("ends its requests in time though the server never answers, not even to a password")
    func silence() async throws {
      let server = FakeServer { file in while hear(file) != nil {} }
      defer { server.stop() }
      for password in [nil, "secret"] {
        let store = server.store { $0.password = password }
        // Before it is connected nobody waits for that.
        #expect(await outcome(store) == .timeout)
        #expect(await outcome(store, "b") == .timeout)
      }
    }

    @Test(
      "ends its requests, and gives up what makes no sense",
      arguments: [
        "HTTP/1.1 400 Bad Request\r\n\r\n", "*1000000000\r\n:1\r\n", "$99999999999999999999\r\n",
        "+OK\r\n+OK\r\n+OK\r\n",
        ":7\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", ">2\r\n+message\r\n+x\r\n",
        "\u{0}\u{1}\u{2}", "*-7\r\n",
      ])
    func nonsense(_ text: String) async throws {
      // To the greeting, and to the first request.
      for isLate in [false, true] {
        let server = FakeServer { file in
          if isLate, hear(file) != nil { say(file, "+PONG\r\n") }
          while hear(file) != nil { say(file, text) }
        }
        let store = server.store()
        // An answer that is as it should be to the greeting is none.
        for name in ["a", "b", "c"] { #expect(await outcome(store, name) != nil, "\(text.prefix(20))") }
        server.stop()
      }
    }

    @Test("ends its requests in the midst of an answer that has no end, and does not keep all of it")
    func endlessAnswer() async throws {
      let server = FakeServer { file in
        guard hear(file) != nil else { return }
        say(file, "+PONG\r\n")
        guard hear(file) != nil else { return }
        say(file, "*1\r\n$999999999\r\n")
        let part = String(repeating: "x", count: 65536)
        while say(file, part) {}
      }
      defer { server.stop() }
      let store = server.store { $0.largestBlob = 1000 }
      #expect(await outcome(store) != nil)
      #expect(await outcome(store, "b") != nil)
    }

    @Test("leaves a server alone that is always too late, and one that takes no more clients")
    func alwaysLate() async throws {
      // Each request has its answer, after twice the time that it is waited for.
      let late = FakeServer { file in
        guard hear(file) != nil else { return }
        say(file, "+PONG\r\n")
        while let heard = hear(file) {
          usleep(40_000)
          for _ in 1..<max(1, heard.components(separatedBy: "MGET").count) { say(file, "*1\r\n$-1\r\n") }
        }
      }
      defer { late.stop() }
      let store = late.store(timeout: .milliseconds(20))
      var outcomes: [RedisError?] = []
      while outcomes.count < 200 {
        outcomes.append(await outcome(store))
        if case .resting = outcomes.last! { break }
      }
      #expect(outcomes.count < 200)

      let full = FakeServer { file in
        say(file, "-ERR max number of clients reached\r\n")
        _ = hear(file)
      }
      defer { full.stop() }
      let refused = full.store()
      for _ in 0..<400 {
        _ = await outcome(refused)
        try await Task.sleep(for: .milliseconds(2))
      }
      #expect(full.connections < 30, "\(full.connections)")
    }

    @Test("keeps what waits within its bounds when the server reads nothing")
    func unreadServer() async throws {
      let server = FakeServer { file in
        guard hear(file) != nil else { return }
        say(file, "+PONG\r\n")
        usleep(3_000_000)
      }
      defer { server.stop() }
      let store = server.store(timeout: .seconds(1)) { $0.queueLimit = 4 << 20 }
      let errors = await withTaskGroup(of: RedisError?.self) { group in
        for number in 0..<20 {
          group.addTask {
            do throws(RedisError) {
              try await store.put(Data(count: 1 << 20), for: key("\(number)"))
              return nil
            } catch { return error }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(errors.count { $0 == .queueFull } >= 15 && !errors.contains(nil))
    }

    @Test("waits as long as it was told to, and not until an answer is late")
    func patience() async throws {
      // Answers when it has heard both requests.
      let server = FakeServer { file in
        guard hear(file) != nil else { return }
        say(file, "+PONG\r\n")
        guard hear(file) != nil, hear(file) != nil else { return }
        say(file, "*1\r\n$-1\r\n*1\r\n$-1\r\n")
        while hear(file) != nil {}
      }
      defer { server.stop() }
      let store = server.store(timeout: .seconds(60)) { $0.lateness = 0 }
      async let first = outcome(store)
      // Once there is a connection, what waited for it is sent, and what comes after is not sent with it.
      while store.statistics.connections == 0 { try await Task.sleep(for: .milliseconds(2)) }
      #expect(await outcome(store, "b") == nil)
      #expect(await first == nil)
    }

    @Test("connects anew for who asks, when an idle connection was ended")
    func idleConnection() async throws {
      // Answers to one request, and hangs up after it.
      let server = FakeServer { file in
        guard hear(file) != nil else { return }
        say(file, "+PONG\r\n")
        guard hear(file) != nil else { return }
        say(file, "*1\r\n$-1\r\n")
      }
      defer { server.stop() }
      let store = server.store(timeout: .seconds(20))
      for number in 1...5 {
        let error = await outcome(store)
        try #require(error == nil, "\(String(describing: error))")
        while server.endings < number { try await Task.sleep(for: .milliseconds(2)) }
      }
      #expect(server.connections == 5)
    }
  }
#endif
