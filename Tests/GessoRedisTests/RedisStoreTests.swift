#if Redis
  import Foundation
  import Synchronization
  import Testing

  @testable import Gesso
  @testable import GessoRedis

  private func key(_ name: String, _ side: Int = 8) -> BitmapKey {
    DrawRequest(key: name, size: CGSize(width: side, height: side), scale: 1) { _, _ in }.cacheKey
  }

  private func blob(_ name: String, count: Int = 1000) -> Data {
    Data((name + "|").utf8)
      + Data(repeating: UInt8(truncatingIfNeeded: name.utf8.reduce(0) { $0 &+ Int($1) }), count: count)
  }

  /// A store that is not hurried by a busy machine.
  private func store(
    _ server: RedisServer, timeout: Duration = .seconds(5), _ change: (inout RedisConfiguration) -> Void = { _ in }
  ) -> RedisStore {
    var configuration = RedisConfiguration(server.address, timeout: timeout, connectTimeout: .seconds(5))
    change(&configuration)
    return RedisStore(configuration)
  }

  private final class Counter: Sendable {
    private let value = Atomic(0)
    var count: Int { value.load(ordering: .relaxed) }
    func increment() { value.add(1, ordering: .relaxed) }
  }

  private func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
    for _ in 0..<4000 {
      if try await condition() { return true }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return false
  }

  @Suite("A Redis store")
  struct RedisStoreTests {
    @Test("gives back what was put, to this store and to others", arguments: [0, 1, 50_000, 4 << 20])
    func roundTrip(_ count: Int) async throws {
      let server = try await RedisServer(), first = store(server), second = store(server)
      #expect(try await first.blob(for: key("a")) == nil)
      try await first.put(blob("a", count: count), for: key("a"))
      #expect(try await second.blob(for: key("a")) == blob("a", count: count))
      #expect(try await second.blob(for: key("a", 9)) == nil, "another size")
      try await second.remove(key("a"))
      #expect(try await first.blob(for: key("a")) == nil)
      #expect(first.statistics.connections == 1 && first.statistics.failures == 0)
      #expect(second.statistics.hits == 1 && second.statistics.misses == 1)
    }

    @Test("sends reads that come together as one")
    func batches() async throws {
      let server = try await RedisServer(), store = store(server)
      for number in 0..<200 { try await store.put(blob("\(number)"), for: key("\(number)")) }
      try await server.command("CONFIG", "RESETSTAT")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<200 {
          group.addTask {
            let found = try await store.blob(for: key("\(number)"))
            #expect(found == blob("\(number)"))
          }
        }
        try await group.waitForAll()
      }
      let statistics = try await server.command("INFO", "commandstats")
      let calls = try #require(statistics.firstMatch(of: /cmdstat_mget:calls=(\d+)/).flatMap { Int($0.1) })
      #expect(calls < 150, "\(calls)")
      #expect(!statistics.contains("cmdstat_get:"))
    }

    @Test("gives blobs a lifetime, and readable names")
    func lifetime() async throws {
      let server = try await RedisServer(), limited = store(server) { $0.lifetime = .milliseconds(90_500) }
      try await limited.put(blob("badge"), for: key("badge"))
      let name = try await server.command("KEYS", "*").trimmingCharacters(in: .whitespacesAndNewlines)
      #expect(name.hasPrefix("gesso:badge:") && name.utf8.count == 12 + 32)
      let left = try #require(Int(await server.command("PTTL", name).trimmingCharacters(in: .whitespacesAndNewlines)))
      #expect(left > 60_000 && left <= 90_500)
      let unlimited = store(server) { configuration in
        configuration.lifetime = nil
        configuration.prefix = "other:"
      }
      try await unlimited.put(blob("badge"), for: key("badge"))
      #expect(try await server.command("PTTL", name.replacingOccurrences(of: "gesso:", with: "other:")).hasPrefix("-1"))
    }

    @Test("forgets all sizes of a key, all of a prefix, or all, and nothing of others")
    func removing() async throws {
      let server = try await RedisServer(), store = store(server)
      let long = String(repeating: "long", count: 300)
      let names = ["a", "a*", "a?b", "ab", "[x]", "\\", "é", "e\u{301}", long, long + "x", "", "a\u{0}b"]
      for name in names { for side in 1...2 { try await store.put(blob(name), for: key(name, side)) } }
      // Of others, whose names begin so: a value, and what is none.
      let others = [
        "gesso:session:of-somebody-else-with-a-long-name-that-is-precious",
        "gesso:" + String(repeating: "x", count: 600) + ":" + String(repeating: "0", count: 32),
      ]
      try await server.command("SET", others[0], "precious")
      try await server.command("LPUSH", others[1], "precious")
      func left() async throws -> [String] {
        var left: [String] = []
        for name in names where try await store.blob(for: key(name, 2)) == blob(name) { left.append(name) }
        return left
      }
      try await store.removeAll(.key("a*"))
      #expect(try await left() == names.filter { $0 != "a*" })
      try await store.removeAll(.prefix("a"))
      #expect(try await left() == ["[x]", "\\", "é", "e\u{301}", long, long + "x", ""])
      try await store.removeAll(.key(long))
      #expect(try await left() == ["[x]", "\\", "é", "e\u{301}", long + "x", ""])
      try await store.removeAll(.prefix("e"))
      #expect(try await left() == ["[x]", "\\", "é", long + "x", ""])
      try await store.removeAll(.all)
      #expect(try await left() == [])
      let remaining = try await server.command("KEYS", "*").split(separator: "\n").map(String.init)
      #expect(remaining.sorted() == others)
    }

    @Test("has a miss for a value that is not its own, and leaves it alone")
    func foreignValues() async throws {
      let server = try await RedisServer(), store = store(server)
      try await store.put(blob("a"), for: key("a"))
      try await store.put(blob("b"), for: key("b"))
      let names = try await server.command("KEYS", "*").split(separator: "\n").map(String.init).sorted()
      for damage in [
        ["SET", names[0], "hello"], ["SETRANGE", names[0], "900", "x"], ["SETRANGE", names[0], "20", "xxxx"],
        ["APPEND", names[0], "more"], ["SET", names[0], ""],
        // The record of another key.
        ["COPY", names[1], names[0], "REPLACE"],
      ] {
        _ = try await server.command("COPY", names[1], names[0], "REPLACE")
        try await store.put(blob("a"), for: key("a"))
        #expect(try await store.blob(for: key("a")) == blob("a"))
        switch damage.count {
        case 2: try await server.command(damage[0], damage[1])
        case 3: try await server.command(damage[0], damage[1], damage[2])
        default: try await server.command(damage[0], damage[1], damage[2], damage[3])
        }
        #expect(try await store.blob(for: key("a")) == nil, "\(damage)")
        #expect(try await server.command("EXISTS", names[0]).hasPrefix("1"))
      }
      #expect(store.statistics.foreign == 6)
      try await server.command("DEL", names[0])
      try await server.command("LPUSH", names[0], "a list")
      #expect(try await store.blob(for: key("a")) == nil)
      #expect(try await store.blob(for: key("b")) == blob("b"))
    }

    @Test("says what is wrong with a password, and works with the right one")
    func passwords() async throws {
      let server = try await RedisServer("--requirepass", "secret")
      for password in [nil, "wrong"] {
        let store = store(server) { $0.password = password }
        let error = await #expect(throws: RedisError.self) { try await store.blob(for: key("a")) }
        guard case .refused(let reason) = error else {
          Issue.record("\(String(describing: error))")
          continue
        }
        #expect(reason.contains("NOAUTH") || reason.contains("WRONGPASS"), "\(reason)")
      }
      for user in [nil, "default"] {
        let store = store(server) { configuration in
          (configuration.user, configuration.password, configuration.database) = (user, "secret", 3)
        }
        try await store.put(blob("a"), for: key("a"))
        #expect(try await store.blob(for: key("a")) == blob("a"))
      }
      #expect(try await server.command("-n", "3", "DBSIZE", password: "secret").hasPrefix("1"))
    }

    @Test("says that there is no server, soon, and does not ask again at once")
    func absentServer() async throws {
      for address in [RedisConfiguration.Address.unix(path: "/nowhere/s"), .tcp(host: "127.0.0.1", port: 1)] {
        let store = RedisStore(RedisConfiguration(address, timeout: .seconds(5), connectTimeout: .seconds(5)))
        var reasons: [String] = []
        while reasons.count < 100 {
          do { _ = try await store.blob(for: key("a")) } catch {
            reasons.append(error.description)
            if case .resting = error { break }
          }
        }
        #expect(reasons.count > 1 && reasons.count < 100, "after the first it is left alone for a while")
        for reason in reasons {
          #expect(reason.contains("cannot connect") || reason.contains("/nowhere/s"), "\(reason)")
        }
      }
      await #expect(throws: RedisError.tooLarge(9 << 20)) {
        try await RedisStore().put(Data(count: 9 << 20), for: key("a"))
      }
    }

    @Test("tells who waits when the server dies, and goes on when it is there again")
    func killedServer() async throws {
      let server = try await RedisServer(), store = store(server)
      try await store.put(blob("a"), for: key("a"))
      let outcomes = Counter()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<500 {
          group.addTask {
            // Whichever way it ends, it ends.
            if number % 2 == 0 {
              try? await store.put(blob("\(number)", count: 20_000), for: key("\(number)"))
            } else if let found = try? await store.blob(for: key("\(number - 1)")) {
              #expect(found == blob("\(number - 1)", count: 20_000))
            }
            outcomes.increment()
          }
          if number == 250 { server.kill() }
        }
        try await group.waitForAll()
      }
      #expect(outcomes.count == 500)
      await #expect(throws: RedisError.self) { try await store.blob(for: key("a")) }
      try await server.start()
      #expect(await eventually { (try? await store.put(blob("b"), for: key("b"))) != nil })
      #expect(try await store.blob(for: key("b")) == blob("b"))
      #expect(store.statistics.connections >= 2)
    }

    @Test("does not wait for a slow server, leaves it alone after some time-outs, and goes on after")
    func slowServer() async throws {
      let server = try await RedisServer(), store = store(server, timeout: .milliseconds(50))
      #expect(await eventually { (try? await store.put(blob("a"), for: key("a"))) != nil })
      server.pause()
      let errors = await withTaskGroup(of: RedisError?.self) { group in
        for number in 0..<10 {
          group.addTask {
            do throws(RedisError) {
              try await store.put(blob("\(number)"), for: key("\(number)"))
              return nil
            } catch { return error }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(errors.contains(.timeout))
      // Each failure makes the rest longer: at last longer than a busy machine takes to ask again.
      var reason: String?
      for _ in 0..<200 where reason == nil {
        do { _ = try await store.blob(for: key("a")) } catch RedisError.resting(let text) { reason = text } catch {}
      }
      // No answer came, or, where the machine is so slow that a connection was made anew, none to its greeting.
      #expect(reason.map { $0.contains("in time") || $0.contains("too long") } == true, "\(reason ?? "none")")
      server.resume()
      // Late answers are nobody else's.
      for name in (0..<10).map({ "\($0)" }) + ["a"] {
        var found: Data?
        #expect(
          await eventually {
            do {
              found = try await store.blob(for: key(name))
              return true
            } catch { return false }
          })
        #expect(found == nil && name != "a" || found == blob(name))
      }
    }

    @Test("lives with a server that has no memory left, or gives old blobs up")
    func fullServer() async throws {
      let server = try await RedisServer("--maxmemory", "4mb", "--maxmemory-policy", "allkeys-lru"),
        store = store(server)
      for number in 0..<200 { try await store.put(blob("\(number)", count: 50_000), for: key("\(number)")) }
      var found = 0
      for number in 0..<200 {
        guard let bytes = try await store.blob(for: key("\(number)")) else { continue }
        #expect(bytes == blob("\(number)", count: 50_000))
        found += 1
      }
      #expect(found > 10 && found < 150, "\(found)")
      try await server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
      try await server.command("CONFIG", "SET", "maxmemory", "1")
      let error = await #expect(throws: RedisError.self) { try await store.put(blob("x"), for: key("x")) }
      guard case .refused(let reason) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(reason.contains("OOM"))
      #expect(try await store.blob(for: key("x")) == nil, "reading goes on")
    }

    @Test("is bounded in what waits to be sent")
    func bounds() async throws {
      let server = try await RedisServer(), small = store(server) { $0.queueLimit = 100_000 }
      try await small.put(blob("large", count: 500_000), for: key("large"))  // alone
      let sleeping = Task { try await server.command("DEBUG", "SLEEP", "0.5") }
      let full = Counter()
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<400 {
          group.addTask {
            do { try await small.put(blob("\(number)", count: 40_000), for: key("\(number)")) } catch RedisError
              .queueFull
            {
              full.increment()
            } catch { Issue.record("\(error)") }
          }
        }
      }
      _ = try await sleeping.value
      #expect(full.count > 0)
    }

    @Test("talks by TLS to a server that is who it says, and to no other")
    func tls() async throws {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("gesso-tls-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
      process.arguments = [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
        "subjectAltName=DNS:localhost", "-keyout", folder.path + "/key.pem", "-out", folder.path + "/cert.pem",
      ]
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      let port = Int.random(in: 20_000..<60_000)
      let server = try await RedisServer(
        "--port", "0", "--tls-port", "\(port)", "--tls-cert-file", folder.path + "/cert.pem", "--tls-key-file",
        folder.path + "/key.pem", "--tls-ca-cert-file", folder.path + "/cert.pem", "--tls-auth-clients", "no")
      func secure(_ host: String, _ authorities: String?) -> RedisStore {
        store(server) { configuration in
          configuration.address = .tcp(host: host, port: port)
          configuration.tls = .init(authorities: authorities)
        }
      }
      let trusted = secure("localhost", folder.path + "/cert.pem")
      for name in (0..<20).map({ "\($0)" }) {
        try await trusted.put(blob(name, count: 300_000), for: key(name))
        #expect(try await trusted.blob(for: key(name)) == blob(name, count: 300_000))
      }
      for (store, words) in [
        (secure("localhost", nil), "self-signed"), (secure("127.0.0.1", folder.path + "/cert.pem"), "mismatch"),
        (secure("localhost", "/none.pem"), "/none.pem"),
      ] {
        let error = await #expect(throws: RedisError.self) { try await store.blob(for: key("0")) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
      }
    }
  }

  @Suite("Two programs with one Redis server")
  struct SharedServerTests {
    /// What a program says that draws ten tiles, in lines of words.
    private func tiles(_ server: RedisServer) async throws -> [[Substring]] {
      let tests = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      let program = tests.deletingLastPathComponent().appendingPathComponent("storage-worker").path
      let output = try await RedisServer.output(of: program, ["tiles", server.socket])
      return output.split(separator: "\n").map { $0.split(separator: " ") }
    }

    @Test("draw once: what one has drawn, the other reads, and both have the same pictures")
    func drawsOnce() async throws {
      let server = try await RedisServer()
      let first = try await tiles(server), second = try await tiles(server)
      #expect(first.last == ["drawn", "10", "read", "0"])
      #expect(second.last == ["drawn", "0", "read", "10"])
      #expect(first.count == 11 && first.dropLast() == second.dropLast())
    }

    @Test("do without it when it is gone")
    func withoutServer() async throws {
      let server = try await RedisServer()
      let store = store(server)
      func drawer() -> CachedDrawer {
        CachedDrawer(.init(workers: 1, stores: [store], completions: ImmediateCompletionQueue()))
      }
      let request = DrawRequest(key: "a", size: CGSize(width: 9, height: 9)) { context, rect in context.fill(rect) }
      let first = drawer()
      let picture = try await first.bitmap(for: request)
      await first.flush()
      server.kill()
      let second = drawer()
      #expect(try await second.bitmap(for: request).hasSamePixels(as: picture))
      #expect(second.statistics.draws == 1 && second.statistics.storeFailures > 0)
    }
  }
#endif
