#if Redis
  internal import CGessoRedis
  import Foundation
  import Gesso

  /// What serves a connection: on its thread, which alone has this.
  final class RedisLink {
    private enum Phase: Equatable {
      case closed
      /// A name is looked up, elsewhere, as that may take long.
      case opening
      case connecting
      /// So many answers to password and database are still to come.
      case greeting(Int)
      case ready
    }

    private struct Waiter {
      var finish: RedisConnection.Finish?
      let deadline: Int64
    }

    /// A command that was sent, and whom its answer is for: of a read of several keys one for each.
    private struct Sent {
      var waiters: [Waiter]
      let isRead: Bool
      let time: Int64
      var isAwaited: Bool { waiters.contains { $0.finish != nil } }
    }

    private unowned let connection: RedisConnection
    private let configuration: RedisConfiguration
    private let opener = RedisOpener()
    private var phase = Phase.closed
    private var phaseDeadline: Int64 = .max
    private var link: OpaquePointer?
    private var parser: RedisParser
    private var output: [UInt8] = []
    private var written = 0
    private var pending: [RedisConnection.Request] = []
    private var sent: ArraySlice<Sent> = []
    private var wantsWrite = false
    private var hasAnswered = false
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)

    /// Keys of one read.
    private static let mostKeys = 64
    /// Bytes that are read before somebody looks at the time.
    private static let round = 1 << 20

    init(_ connection: RedisConnection) {
      self.connection = connection
      configuration = connection.configuration
      parser = Self.parser(configuration)
    }

    deinit {
      gesso_link_close(link)
      buffer.deallocate()
    }

    private static func parser(_ configuration: RedisConfiguration) -> RedisParser {
      RedisParser(most: mostKeys * (configuration.largestBlob + 2 << 20))
    }

    func run() {
      // TLS writes as if nobody could have hung up.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      while let requests = connection.takeQueue() {
        pending += requests
        do throws(RedisError) { try goOn() } catch { lose(error) }
        expire()
        wait()
      }
      close()
      end(pending.map(\.finish) + sent.flatMap { $0.waiters.compactMap(\.finish) }, .notConnected("it was closed"))
    }

    private func goOn() throws(RedisError) {
      if phase == .closed, !pending.isEmpty { open() }
      if phase == .opening, let opened = opener.take() {
        guard let opened else { throw .notConnected("no memory") }
        (link, phase) = (opened, .connecting)
      }
      if phase == .connecting { try connect() }
      if phase == .ready {
        // First, so that a connection which has ended meanwhile is not taken for those who ask now.
        try receive()
        send()
      }
      guard phase != .closed, phase != .opening, phase != .connecting else { return }
      try flush()
      try receive()
      // What an answer was waited for with can be written now.
      if phase == .ready { send() }
      try flush()
    }

    // MARK: Connecting

    private func open() {
      phase = .opening
      phaseDeadline = MonotonicClock.time(after: configuration.connectTimeout)
      parser = Self.parser(configuration)
      (output, written, hasAnswered) = ([], 0, false)
      opener.open(configuration) { [connection] in connection.wake() }
    }

    private func connect() throws(RedisError) {
      let result = gesso_link_connect(link)
      if result == GESSO_LINK_FAILED { throw lost() }
      wantsWrite = result == GESSO_LINK_WANTS_WRITE
      guard result == GESSO_LINK_DONE else { return }
      var greeting: [[String]] = []
      if let password = configuration.password {
        greeting.append(["AUTH"] + (configuration.user.map { [$0] } ?? []) + [password])
      }
      if configuration.database != 0 { greeting.append(["SELECT", "\(configuration.database)"]) }
      // An answer before all else: a server that refuses to serve says so now.
      greeting.append(["PING"])
      for command in greeting { RedisCommand.append(command.map { Array($0.utf8) }, to: &output) }
      phase = .greeting(greeting.count)
    }

    private func lost() -> RedisError { .notConnected(String(cString: gesso_link_error(link))) }

    private func close() {
      gesso_link_close(link)
      opener.giveUp()
      (link, phase, phaseDeadline, wantsWrite) = (nil, .closed, .max, false)
    }

    /// The connection is lost: all who wait are told. One that was not in use is made anew for them.
    private func lose(_ error: RedisError) {
      let wasIdle = phase == .ready && hasAnswered && !sent.contains(where: \.isAwaited) && output.count == written
      close()
      if wasIdle {
        sent = []
        return
      }
      connection.noteFailure(error, isLost: true)
      let finish = sent.flatMap { $0.waiters.compactMap(\.finish) } + pending.map(\.finish)
      (sent, pending) = ([], [])
      end(finish, error)
    }

    private func end(_ waiters: [RedisConnection.Finish], _ error: RedisError) {
      for finish in waiters { finish(.failure(error)) }
    }

    // MARK: Sending

    /// Adds what waits to what is to be written: neighbouring reads as one.
    private func send() {
      let now = MonotonicClock.now
      var reads: [RedisConnection.Request] = []
      func sendReads() {
        guard !reads.isEmpty else { return }
        let keys = reads.map { if case .get(let key) = $0.kind { key } else { [UInt8]() } }
        RedisCommand.append([Array("MGET".utf8)] + keys, to: &output)
        sent.append(
          Sent(waiters: reads.map { Waiter(finish: $0.finish, deadline: $0.deadline) }, isRead: true, time: now))
        reads = []
      }
      for request in pending {
        switch request.kind {
        case .get:
          reads.append(request)
          if reads.count == Self.mostKeys { sendReads() }
        case .command(let arguments):
          sendReads()
          RedisCommand.append(arguments, to: &output)
          let waiter = Waiter(finish: request.finish, deadline: request.deadline)
          sent.append(Sent(waiters: [waiter], isRead: false, time: now))
        }
      }
      sendReads()
      pending = []
    }

    /// Writes what can be written without waiting.
    private func flush() throws(RedisError) {
      wantsWrite = false
      while written < output.count {
        let count = output.withUnsafeBytes { gesso_link_write(link, $0.baseAddress! + written, $0.count - written) }
        if count > 0 {
          written += Int(count)
          continue
        }
        if count == Int64(GESSO_LINK_FAILED) { throw lost() }
        wantsWrite = count == Int64(GESSO_LINK_WANTS_WRITE)
        if written > 1 << 20 {
          output.removeFirst(written)
          written = 0
        }
        return
      }
      // What a large blob has taken is given back.
      output.removeAll(keepingCapacity: output.capacity <= 1 << 20)
      written = 0
    }

    // MARK: Receiving

    private func receive() throws(RedisError) {
      var taken = 0
      while taken < Self.round {
        let count = gesso_link_read(link, buffer.baseAddress, buffer.count)
        if count == Int64(GESSO_LINK_FAILED) { throw lost() }
        if count <= 0 {
          if count == Int64(GESSO_LINK_WANTS_WRITE) { wantsWrite = true }
          return
        }
        taken += Int(count)
        guard parser.feed(UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)])) else { throw RedisParser.nonsense }
        while let reply = try parser.next() { try take(reply) }
      }
    }

    private func take(_ reply: RedisReply) throws(RedisError) {
      if case .greeting(let left) = phase {
        if case .error(let text) = reply { throw .refused(text) }
        phase = left > 1 ? .greeting(left - 1) : .ready
        if phase == .ready {
          phaseDeadline = .max
          connection.noteConnected()
        }
        return
      }
      guard let first = sent.first else { throw RedisParser.nonsense }
      var results = first.waiters.map { _ in Result<RedisReply, RedisError>.success(reply) }
      if case .error(let text) = reply {
        results = first.waiters.map { _ in .failure(.refused(text)) }
      } else if first.isRead {
        // Otherwise they are told that the connection is lost.
        guard case .list(let values) = reply, values.count == first.waiters.count else { throw RedisParser.nonsense }
        results = values.map { .success($0) }
      }
      sent.removeFirst()
      // Only an answer that somebody still waits for shows that the server is fast enough.
      if first.isAwaited {
        hasAnswered = true
        connection.noteAnswer()
      }
      for (waiter, result) in zip(first.waiters, results) { waiter.finish?(result) }
    }

    // MARK: Waiting

    /// Tells those whose time is over. Answers to what was sent are awaited all the same, as those of others come after them.
    private func expire() {
      let now = MonotonicClock.now
      if phaseDeadline <= now { lose(.notConnected("connecting took too long")) }
      let late = pending.filter { $0.deadline <= now }
      if !late.isEmpty {
        pending.removeAll { $0.deadline <= now }
        end(late.map(\.finish), .timeout)
      }
      for place in sent.indices where sent[place].isAwaited {
        var finished: [RedisConnection.Finish] = []
        for waiter in sent[place].waiters.indices where sent[place].waiters[waiter].deadline <= now {
          if let finish = sent[place].waiters[waiter].finish { finished.append(finish) }
          sent[place].waiters[waiter].finish = nil
        }
        guard !finished.isEmpty else { continue }
        connection.noteFailure(.timeout, isLost: false)
        end(finished, .timeout)
      }
      if let first = sent.first, !first.isAwaited, now - first.time > configuration.lateness { lose(.timeout) }
    }

    private func wait() {
      // An idle connection has ended, and somebody wants another one.
      if phase == .closed, !pending.isEmpty { return }
      let waiting = sent.lazy.flatMap { $0.waiters.lazy.filter { $0.finish != nil }.map(\.deadline) }
      let deadline = min(
        waiting.min() ?? .max, pending.lazy.map(\.deadline).min() ?? .max, phaseDeadline,
        sent.first.map { $0.isAwaited ? .max : $0.time + configuration.lateness } ?? .max)
      // A millisecond more, so that it is over then.
      let left = deadline == .max ? -1 : max(0, (deadline - MonotonicClock.now) / 1_000_000 + 1)
      var descriptors = [pollfd(fd: connection.event, events: Int16(POLLIN), revents: 0)]
      if let link, phase != .opening {
        let events = (wantsWrite && phase == .connecting ? 0 : POLLIN) | (wantsWrite ? POLLOUT : 0)
        descriptors.append(pollfd(fd: gesso_link_descriptor(link), events: Int16(events), revents: 0))
      }
      poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: left))
      if descriptors[0].revents != 0 {
        var count: UInt64 = 0
        _ = read(connection.event, &count, 8)
      }
    }
  }
#endif
