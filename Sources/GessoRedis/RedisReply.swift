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
    fileprivate init(_ reply: UnsafeMutablePointer<redisReply>) {
      let bytes = UnsafeRawBufferPointer(start: reply.pointee.str, count: reply.pointee.len)
      switch reply.pointee.type {
      case REDIS_REPLY_STRING: self = .bytes(Array(bytes))
      case REDIS_REPLY_STATUS: self = .text(String(decoding: bytes, as: UTF8.self))
      case REDIS_REPLY_ERROR: self = .error(String(decoding: bytes, as: UTF8.self))
      case REDIS_REPLY_INTEGER: self = .number(Int(reply.pointee.integer))
      case REDIS_REPLY_ARRAY: self = .list((0..<reply.pointee.elements).map { RedisReply(reply.pointee.element[$0]!) })
      default: self = .nothing
      }
    }
  }

  /// Reads answers out of a stream of bytes.
  struct RedisParser: ~Copyable {
    private let reader: UnsafeMutablePointer<redisReader>

    init() { reader = redisReaderCreate() }
    deinit { redisReaderFree(reader) }

    /// Takes more bytes. `false`: they make no sense.
    func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
      redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count) == REDIS_OK
    }

    /// The next answer, if all of it has come.
    func next() throws(RedisError) -> RedisReply? {
      var reply: UnsafeMutableRawPointer?
      guard redisReaderGetReply(reader, &reply) == REDIS_OK else { throw .notConnected("that is no Redis server") }
      guard let reply else { return nil }
      defer { freeReplyObject(reply) }
      return RedisReply(reply.assumingMemoryBound(to: redisReply.self))
    }
  }

  /// Commands as they are sent.
  enum RedisCommand {
    /// Adds a command's bytes.
    static func append(_ arguments: [[UInt8]], to bytes: inout [UInt8]) {
      // Simple enough that formatting it elsewhere would only copy a blob once more.
      bytes += Array("*\(arguments.count)\r\n".utf8)
      for argument in arguments {
        bytes += Array("$\(argument.count)\r\n".utf8)
        bytes += argument
        bytes += [13, 10]
      }
    }
  }
#endif
