#if Redis
  internal import CHiredis

  /// What a server answers.
  enum RedisReply: Sendable, Equatable {
    case nothing
    case text(String)
    case number(Int)
    case bytes([UInt8])
    case list([RedisReply])
    case error(String)

    /// `nil`: of a kind that no command here is answered with.
    fileprivate init?(_ reply: UnsafeMutablePointer<redisReply>) {
      let bytes = UnsafeRawBufferPointer(start: reply.pointee.str, count: reply.pointee.len)
      switch reply.pointee.type {
      case REDIS_REPLY_NIL: self = .nothing
      case REDIS_REPLY_STRING: self = .bytes(Array(bytes))
      case REDIS_REPLY_STATUS: self = .text(String(decoding: bytes, as: UTF8.self))
      case REDIS_REPLY_ERROR: self = .error(String(decoding: bytes, as: UTF8.self))
      case REDIS_REPLY_INTEGER: self = .number(Int(reply.pointee.integer))
      case REDIS_REPLY_ARRAY:
        var list: [RedisReply] = []
        for place in 0..<Int(reply.pointee.elements) {
          guard let element = RedisReply(reply.pointee.element[place]!) else { return nil }
          list.append(element)
        }
        self = .list(list)
      default: return nil
      }
    }
  }

  /// Reads answers out of a stream of bytes, by hiredis.
  struct RedisParser: ~Copyable {
    /// Elements of an answer; a server that says there are more is none.
    private static let mostElements = 100_000

    private static let usual = redisReaderCreate()!.pointee.fn!.pointee
    // Proof of safety: written once, before anybody has it, and read only.
    private nonisolated(unsafe) static let functions = {
      var functions = usual
      functions.createArray = { task, count in
        count > RedisParser.mostElements ? nil : RedisParser.usual.createArray(task, count)
      }
      let copy = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
      copy.initialize(to: functions)
      return copy
    }()

    private let reader: UnsafeMutablePointer<redisReader>
    private let most: Int
    /// Bytes since the last answer.
    private var unfinished = 0

    /// - Parameter most: bytes that an answer may have.
    init(most: Int) {
      reader = redisReaderCreate()
      reader.pointee.fn = Self.functions
      self.most = most
    }

    deinit { redisReaderFree(reader) }

    /// Takes more bytes. `false`: they make no sense.
    mutating func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
      unfinished += bytes.count
      return unfinished <= most
        && redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count) == REDIS_OK
    }

    /// The next answer, if all of it has come.
    mutating func next() throws(RedisError) -> RedisReply? {
      var reply: UnsafeMutableRawPointer?
      guard redisReaderGetReply(reader, &reply) == REDIS_OK else { throw Self.nonsense }
      guard let reply else { return nil }
      defer { freeReplyObject(reply) }
      unfinished = 0
      guard let answer = RedisReply(reply.assumingMemoryBound(to: redisReply.self)) else { throw Self.nonsense }
      return answer
    }

    static var nonsense: RedisError { .notConnected("what it says is no Redis server's") }
  }

  /// Commands as they are sent.
  enum RedisCommand {
    /// Adds a command's bytes: so simple that formatting it elsewhere would only copy a blob once more.
    static func append(_ arguments: [[UInt8]], to bytes: inout [UInt8]) {
      bytes += Array("*\(arguments.count)\r\n".utf8)
      for argument in arguments {
        bytes += Array("$\(argument.count)\r\n".utf8)
        bytes += argument
        bytes += [13, 10]
      }
    }
  }
#endif
