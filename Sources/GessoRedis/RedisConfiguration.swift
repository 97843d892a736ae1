#if Redis
  import Gesso

  /// Which server a ``RedisStore`` talks to, and how long it waits for it.
  public struct RedisConfiguration: Sendable {
    /// Where a server is.
    public enum Address: Hashable, Sendable {
      /// A host's name or address, and a port, 6379 by default.
      case tcp(host: String, port: Int = 6379)
      /// The path of a Unix socket.
      case unix(path: String)
    }

    /// How a connection by TCP is made secure. The server's name is verified.
    public struct TLS: Hashable, Sendable {
      /// A file of the certificates that are trusted, PEM; `nil`: those of the system.
      public var authorities: String?
      /// A file of the client's own certificate, and one of its key; `nil`: none.
      public var certificate: String?
      /// PEM.
      public var key: String?

      /// By the system's certificates, or others.
      public init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
        (self.authorities, self.certificate, self.key) = (authorities, certificate, key)
      }
    }

    /// Where the server is.
    public var address: Address
    /// `nil`: without TLS.
    public var tls: TLS?
    /// The name of a user, of servers that have some.
    public var user: String?
    /// `nil`: none is sent.
    public var password: String?
    /// The number of the database.
    public var database: Int
    /// What all keys on the server begin with.
    public var prefix: String
    /// After how long the server forgets a blob that was put; `nil`: by its own rule, such as `allkeys-lru`.
    public var lifetime: Duration?
    /// How long a request waits for an answer.
    public var timeout: Duration
    /// How long connecting may take, TLS and password included.
    public var connectTimeout: Duration
    /// Bytes of blobs that may wait to be sent.
    public var queueLimit: Int
    /// The largest blob, in bytes; what is larger is not sent, nor taken.
    public var largestBlob: Int

    /// An answer that is so late, in nanoseconds, and that nobody waits for any more, does not come: the connection is given
    /// up.
    var lateness: Int64 = 2_000_000_000

    /// A server, and defaults for all else.
    public init(
      _ address: Address = .tcp(host: "localhost"), tls: TLS? = nil, user: String? = nil, password: String? = nil,
      database: Int = 0, prefix: String = "gesso:", lifetime: Duration? = .seconds(7 * 86400),
      timeout: Duration = .milliseconds(50), connectTimeout: Duration = .milliseconds(500),
      queueLimit: Int = 16 << 20, largestBlob: Int = 8 << 20
    ) {
      self.address = address
      self.tls = tls
      self.user = user
      self.password = password
      self.database = database
      self.prefix = prefix
      self.lifetime = lifetime
      self.timeout = timeout
      self.connectTimeout = connectTimeout
      self.queueLimit = queueLimit
      self.largestBlob = largestBlob
    }
  }

  /// Why a server did not do what it was asked for. A drawer goes on without it.
  public enum RedisError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no connection, or it was lost: why.
    case notConnected(String)
    /// It did not answer in time.
    case timeout
    /// It is not asked, as it has failed several times, and will be after a while: why it failed last.
    case resting(String)
    /// It has answered with an error, such as that it has no memory.
    case refused(String)
    /// More waits to be sent than may.
    case queueFull
    /// A blob, or its key, is too large.
    case tooLarge(Int)

    /// A sentence for a person.
    public var description: String {
      switch self {
      case .notConnected(let reason): "no connection to the Redis server: \(reason)"
      case .timeout: "the Redis server did not answer in time"
      case .resting(let reason): "the Redis server is left alone for a while: \(reason)"
      case .refused(let reason): "the Redis server says: \(reason)"
      case .queueFull: "too much waits for the Redis server"
      case .tooLarge(let count): "a blob of \(count) bytes is too large for the Redis server"
      }
    }
  }
#endif
