#if Redis
  internal import CGessoSystem
  import Foundation
  import Gesso

  /// A connection that is made when it is needed, and again when it was lost, and a thread that serves it.
  ///
  /// Commands are sent one after the other without waiting for answers; reads that come close together are sent as one. Who
  /// waits is told in time, whatever the server does. After several failures in a row the server is left alone for a while.
  ///
  /// Thread-safety: any thread.
  final class RedisConnection: Sendable {
    typealias Finish = @Sendable (Result<RedisReply, RedisError>) -> Void

    /// A command that waits to be sent, or for its answer.
    struct Request: Sendable {
      enum Kind: Sendable {
        /// The value of a key.
        case get([UInt8])
        case command([[UInt8]])
      }
      let kind: Kind
      let byteCount: Int
      let deadline: Int64
      let finish: Finish
    }

    private struct State {
      var queue: [Request] = []
      /// Requests that have not ended, and their bytes.
      var count = 0
      var byteCount = 0
      var isStopped = false
      /// Failures since the last answer that came in time, and until when nothing is tried.
      var failures = 0
      var restsUntil: Int64 = 0
      var reason = ""
      var connections = 0
    }

    /// So many failures in a row, and the server is left alone.
    private static let patience = 5
    private static let longestRest: Int64 = 10_000_000_000
    private static let mostWaiting = 10_000

    let configuration: RedisConfiguration
    private let state = Lock(State())
    /// Wakes the thread; -1 if the process has no descriptor left: then there is none.
    let event: Int32

    init(_ configuration: RedisConfiguration) {
      self.configuration = configuration
      event = gesso_eventfd()
      guard event >= 0 else { return }
      let thread = Thread { [self] in RedisLink(self).run() }
      thread.name = "gesso.redis"
      thread.start()
    }

    deinit { if event >= 0 { close(event) } }

    /// Ends the thread; who waits is told.
    func stop() {
      state.withLock { $0.isStopped = true }
      wake()
    }

    func wake() {
      var one: UInt64 = 1
      if event >= 0 { _ = write(event, &one, 8) }
    }

    /// How often a connection was made.
    var connections: Int { state.withLock { $0.connections } }

    /// Asks for something; never waits. `finish` is called once, on another thread, or before this returns if it is refused.
    func submit(_ kind: Request.Kind, byteCount: Int, timeout: Duration? = nil, finish: @escaping Finish) {
      let deadline = MonotonicClock.time(after: timeout ?? configuration.timeout)
      let error = state.withLock { state -> RedisError? in
        if event < 0 { return .notConnected("the process may open no more files") }
        if state.isStopped { return .notConnected("it was closed") }
        if state.restsUntil > MonotonicClock.now { return .resting(state.reason) }
        guard state.byteCount == 0 || state.byteCount + byteCount <= configuration.queueLimit,
          state.count < Self.mostWaiting
        else { return .queueFull }
        state.queue.append(
          Request(kind: kind, byteCount: byteCount, deadline: deadline) { [self] result in
            self.state.withLock { state in
              state.count -= 1
              state.byteCount -= byteCount
            }
            finish(result)
          })
        state.count += 1
        state.byteCount += byteCount
        return nil
      }
      if let error { finish(.failure(error)) } else { wake() }
    }

    // MARK: For the thread

    /// What was asked for since; `nil`: it is over.
    func takeQueue() -> [Request]? {
      state.withLock { state in
        defer { state.queue = [] }
        return state.isStopped && state.queue.isEmpty ? nil : state.queue
      }
    }

    func noteConnected() { state.withLock { $0.connections += 1 } }

    /// An answer came in time.
    func noteAnswer() { state.withLock { ($0.failures, $0.restsUntil) = (0, 0) } }

    /// - Parameter isLost: the connection is, and is not tried again at once.
    func noteFailure(_ error: RedisError, isLost: Bool) {
      state.withLock { state in
        state.failures += 1
        state.reason = error.description
        guard isLost || state.failures >= Self.patience else { return }
        let times = min(max(0, isLost ? state.failures - 1 : state.failures - Self.patience), 10)
        // Not all clients of a server that comes back at the same moment.
        let rest = min(Self.longestRest, 50_000_000 << Int64(times))
        state.restsUntil = MonotonicClock.now + Int64.random(in: rest / 2...rest)
      }
    }
  }
#endif
