#if Redis
  internal import CGessoRedis
  internal import CGessoSystem
  import Foundation
  import Gesso

  /// What serves a connection: on its thread, which alone has this.
  final class RedisLink {
    /// A command that was sent, and whom its answer is for.
    private struct Sent {
      /// One of each key of a read.
      var finish: [RedisConnection.Finish?]
      var deadline: Int64
      let isRead: Bool
      let time: Int64
    }

    private unowned let connection: RedisConnection
    private let configuration: RedisConfiguration
    private var link: OpaquePointer?
    private var parser = RedisParser()
    private var output: [UInt8] = []
    private var written = 0
    private var sent: ArraySlice<Sent> = []
    private var wantsWrite = false
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)

    /// Keys of one read.
    private static let mostKeys = 64
    /// An answer that is so late does not come: the connection is given up.
    private static let lateness: Int64 = 2_000_000_000

    init(_ connection: RedisConnection) {
      self.connection = connection
      configuration = connection.configuration
    }

    deinit {
      gesso_link_close(link)
      buffer.deallocate()
    }

    func run() {
      // TLS writes as if nobody could have hung up.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      while let requests = connection.takeQueue() {
        var unsent = requests
        do throws(RedisError) {
          if !requests.isEmpty {
            if link == nil { try connect() }
            send(requests)
            unsent = []
          }
          try flush()
          try receive()
        } catch {
          give(up: error)
          for request in unsent { request.finish(.failure(error)) }
        }
        expire()
        wait()
      }
      give(up: .notConnected("it was closed"), isFailure: false)
    }

    // MARK: Connecting

    private func connect() throws(RedisError) {
      let deadline = MonotonicClock.time(after: configuration.connectTimeout)
      var (host, port, path) = ("", "", String?.none)
      switch configuration.address {
      case .tcp(let name, let number): (host, port) = (name, "\(number)")
      case .unix(let file): path = file
      }
      let tls = path == nil ? configuration.tls : nil
      link = withOptional(path) { path in
        host.withCString { host in
          port.withCString { port in
            withOptional(tls?.authorities) { authorities in
              withOptional(tls?.certificate) { certificate in
                withOptional(tls?.key) { key in
                  var options = gesso_link_options(
                    path: path, host: host, port: port, is_secure: tls == nil ? 0 : 1, authorities: authorities,
                    certificate: certificate, key: key)
                  return gesso_link_open(&options)
                }
              }
            }
          }
        }
      }
      guard let link else { throw .notConnected("no memory") }
      parser = RedisParser()
      (output, written) = ([], 0)
      while true {
        let result = gesso_link_connect(link)
        if result == GESSO_LINK_DONE { break }
        if result == GESSO_LINK_FAILED { throw lost() }
        try wait(for: result, until: deadline)
      }
      var greeting: [[String]] = []
      if let password = configuration.password {
        greeting.append(["AUTH"] + (configuration.user.map { [$0] } ?? []) + [password])
      }
      if configuration.database != 0 { greeting.append(["SELECT", "\(configuration.database)"]) }
      for command in greeting {
        RedisCommand.append(command.map { Array($0.utf8) }, to: &output)
        if case .error(let text) = try answer(until: deadline) { throw .refused(text) }
      }
      connection.noteConnected()
    }

    private func withOptional<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
      guard let text else { return body(nil) }
      return text.withCString { body($0) }
    }

    private func wait(for want: Int32, until deadline: Int64) throws(RedisError) {
      var descriptor = pollfd(
        fd: gesso_link_descriptor(link), events: Int16(want == GESSO_LINK_WANTS_READ ? POLLIN : POLLOUT), revents: 0)
      let left = (deadline - MonotonicClock.now) / 1_000_000
      guard left > 0 else { throw .notConnected("connecting took too long") }
      poll(&descriptor, 1, Int32(clamping: left))
    }

    /// The answer to one of the first commands.
    private func answer(until deadline: Int64) throws(RedisError) -> RedisReply {
      while true {
        try flush()
        if let reply = try parser.next() { return reply }
        let count = gesso_link_read(link, buffer.baseAddress, buffer.count)
        if count > 0 {
          guard parser.feed(UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)])) else { throw lost() }
        } else {
          if count == Int64(GESSO_LINK_FAILED) { throw lost() }
          try wait(for: Int32(written < output.count ? Int64(GESSO_LINK_WANTS_WRITE) : count), until: deadline)
        }
      }
    }

    private func lost() -> RedisError { .notConnected(String(cString: gesso_link_error(link))) }

    /// Closes the connection, and tells all who wait.
    private func give(up error: RedisError, isFailure: Bool = true) {
      if isFailure { connection.noteFailure(error, isFinal: true) }
      gesso_link_close(link)
      link = nil
      let waiting = sent
      sent = []
      for finish in waiting.lazy.flatMap(\.finish) { finish?(.failure(error)) }
    }

    // MARK: Sending

    /// Adds requests to what is to be written: neighbouring reads as one.
    private func send(_ requests: [RedisConnection.Request]) {
      let now = MonotonicClock.now
      var reads: [RedisConnection.Request] = []
      func sendReads() {
        guard !reads.isEmpty else { return }
        let keys = reads.map { if case .get(let key) = $0.kind { key } else { [UInt8]() } }
        RedisCommand.append([Array("MGET".utf8)] + keys, to: &output)
        sent.append(
          Sent(finish: reads.map(\.finish), deadline: reads.map(\.deadline).max()!, isRead: true, time: now))
        reads = []
      }
      for request in requests {
        switch request.kind {
        case .get:
          reads.append(request)
          if reads.count == Self.mostKeys { sendReads() }
        case .command(let arguments):
          sendReads()
          RedisCommand.append(arguments, to: &output)
          sent.append(Sent(finish: [request.finish], deadline: request.deadline, isRead: false, time: now))
        }
      }
      sendReads()
    }

    /// Writes what can be written without waiting.
    private func flush() throws(RedisError) {
      wantsWrite = false
      guard let link else { return }
      while written < output.count {
        let count = output.withUnsafeBytes { gesso_link_write(link, $0.baseAddress! + written, $0.count - written) }
        if count > 0 {
          written += Int(count)
        } else {
          if count == Int64(GESSO_LINK_FAILED) { throw lost() }
          wantsWrite = count == Int64(GESSO_LINK_WANTS_WRITE)
          return
        }
      }
      // What a large blob has taken is given back.
      output.removeAll(keepingCapacity: output.capacity <= 1 << 20)
      written = 0
    }

    // MARK: Receiving

    private func receive() throws(RedisError) {
      while let link {
        let count = gesso_link_read(link, buffer.baseAddress, buffer.count)
        if count == Int64(GESSO_LINK_FAILED) { throw lost() }
        if count <= 0 { return }
        guard parser.feed(UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)])) else { throw lost() }
        while let reply = try parser.next() { try take(reply) }
      }
    }

    private func take(_ reply: RedisReply) throws(RedisError) {
      guard let first = sent.popFirst() else { throw .notConnected("an answer that nobody has asked for") }
      connection.noteAnswer()
      if first.isRead, case .list(let values) = reply, values.count == first.finish.count {
        for (finish, value) in zip(first.finish, values) { finish?(.success(value)) }
      } else {
        for finish in first.finish {
          if case .error(let text) = reply { finish?(.failure(.refused(text))) } else { finish?(.success(reply)) }
        }
      }
    }

    // MARK: Waiting

    /// Tells those whose time is over. Their answers are awaited all the same, as those of others come after them.
    private func expire() {
      let now = MonotonicClock.now
      for place in sent.indices where sent[place].deadline <= now {
        let finish = sent[place].finish
        guard finish.contains(where: { $0 != nil }) else { continue }
        sent[place].finish = finish.map { _ in nil }
        sent[place].deadline = .max
        connection.noteFailure(.timeout, isFinal: false)
        for finish in finish { finish?(.failure(.timeout)) }
      }
      if let first = sent.first, now - first.time > Self.lateness { give(up: .timeout) }
    }

    private func wait() {
      let late = sent.first.map { $0.time + Self.lateness } ?? .max
      let deadline = min(sent.lazy.map(\.deadline).min() ?? .max, late)
      let now = MonotonicClock.now
      // A millisecond more, so that it is over then.
      let time: Int32 = deadline == .max ? -1 : Int32(clamping: max(0, (deadline - now) / 1_000_000 + 1))
      var descriptors = [pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)]
      if let link {
        let events = POLLIN | (wantsWrite ? POLLOUT : 0)
        descriptors.append(pollfd(fd: gesso_link_descriptor(link), events: Int16(events), revents: 0))
      }
      poll(&descriptors, nfds_t(descriptors.count), time)
      if descriptors[0].revents != 0 {
        var count: UInt64 = 0
        _ = read(connection.descriptor, &count, 8)
      }
    }
  }
#endif
