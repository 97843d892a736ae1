#if Redis
  import Gesso

  /// What a blob is called on the server: the prefix, what the user called it (of what is long, the beginning), and the hash of
  /// the whole key. So people who look at the server know what is what, and blobs are found by the beginnings of keys.
  struct RedisKey {
    private static let longest = 512
    private static let hashLength = 33  // a colon and 32 digits

    static func bytes(_ key: BitmapKey, prefix: [UInt8]) -> [UInt8] {
      let hash = key.storeHash
      return prefix + Array(key.identity.utf8.prefix(longest)) + Array(":\(digits(hash.high))\(digits(hash.low))".utf8)
    }

    private static func digits(_ number: UInt64) -> String {
      let digits = String(number, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// A pattern that all names of selected keys match, and some others perhaps.
    static func pattern(_ selection: KeySelection, prefix: [UInt8]) -> [UInt8] {
      switch selection {
      case .all: escaped(prefix) + Array("*".utf8)
      case .prefix(let identity): escaped(prefix + identity.utf8.prefix(longest)) + Array("*".utf8)
      case .key(let identity):
        escaped(prefix + identity.utf8.prefix(longest)) + Array((":" + String(repeating: "?", count: 32)).utf8)
      }
    }

    /// Characters that mean something in patterns stand for themselves.
    private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
      bytes.flatMap { "*?[]^-\\".utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
    }

    /// Whether a name is that of a selected key; `nil`: its record has to be looked at.
    static func isSelected(_ name: [UInt8], _ selection: KeySelection, prefix: [UInt8]) -> Bool? {
      guard name.count >= prefix.count + hashLength, name.starts(with: prefix) else { return false }
      // Others may have names that begin so.
      let end = name.suffix(hashLength)
      guard end.first == UInt8(ascii: ":"), end.dropFirst().allSatisfy({ "0123456789abcdef".utf8.contains($0) })
      else { return false }
      let identity = name[prefix.count..<name.count - hashLength]
      guard identity.count < longest else { return nil }
      switch selection {
      case .all: return true
      case .key(let key): return identity.elementsEqual(key.utf8)
      case .prefix(let beginning): return identity.starts(with: beginning.utf8)
      }
    }
  }
#endif
