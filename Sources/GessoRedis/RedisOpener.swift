#if Redis
  internal import CGessoRedis
  import Foundation
  import Gesso

  /// Begins connections on another thread: looking a name up may take longer than anybody waits.
  final class RedisOpener: Sendable {
    /// A link that nobody else has.
    private struct Link: @unchecked Sendable {
      // Proof of safety: the pointer goes from the thread that has made it to the one that takes it, under the lock.
      let handle: OpaquePointer?
    }

    private struct State {
      /// Which attempt is wanted.
      var number = 0
      var opened: Link?
    }
    private let state = Lock(State())

    /// Opens, and calls back when it can be taken.
    func open(_ configuration: RedisConfiguration, ready: @escaping @Sendable () -> Void) {
      let number = state.withLock { state in
        state.number += 1
        return state.number
      }
      let thread = Thread { [self] in
        let link = Link(handle: Self.link(configuration))
        let isWanted = state.withLock { state in
          if state.number == number { state.opened = link }
          return state.number == number
        }
        if isWanted { ready() } else { gesso_link_close(link.handle) }
      }
      thread.name = "gesso.resolve"
      thread.start()
    }

    /// What was opened; `nil`: nothing yet; `nil` within: there is no memory.
    func take() -> OpaquePointer?? {
      let opened = state.withLock { state in
        defer { state.opened = nil }
        return state.opened
      }
      return opened.map(\.handle)
    }

    /// Nobody wants it any more.
    func giveUp() {
      let opened = state.withLock { state in
        state.number += 1
        defer { state.opened = nil }
        return state.opened
      }
      if let opened { gesso_link_close(opened.handle) }
    }

    private static func link(_ configuration: RedisConfiguration) -> OpaquePointer? {
      var (host, port, path) = ("", "", String?.none)
      switch configuration.address {
      case .tcp(let name, let number): (host, port) = (name, "\(number)")
      case .unix(let file): path = file
      }
      let tls = path == nil ? configuration.tls : nil
      return withOptional(path) { path in
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
    }

    private static func withOptional<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
      guard let text else { return body(nil) }
      return text.withCString { body($0) }
    }
  }
#endif
