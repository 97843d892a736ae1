import Foundation

/// What a file may be called.
enum FileName {
  static func check(_ name: String) throws(StorageError) {
    if name.isEmpty { throw .invalidName(name, reason: "it is empty") }
    if name == "." || name == ".." { throw .invalidName(name, reason: "it is a directory") }
    if name.utf8.contains(UInt8(ascii: "/")) { throw .invalidName(name, reason: "it contains a /") }
    if name.utf8.contains(0) { throw .invalidName(name, reason: "it contains NUL") }
    if name.utf8.count > 255 { throw .invalidName(name, reason: "it is longer than 255 bytes") }
  }

  static func unique(pathExtension: String) throws(StorageError) -> String {
    if pathExtension.isEmpty { return UUID.quick.uuidString.lowercased() }
    if pathExtension.hasPrefix(".") { throw .invalidName(pathExtension, reason: "an extension begins with a dot") }
    if pathExtension.utf8.count > 16 { throw .invalidName(pathExtension, reason: "an extension of over 16 bytes") }
    let name = UUID.quick.uuidString.lowercased() + "." + pathExtension
    try check(name)
    return name
  }
}

extension UUID {
  /// A random one. Foundation's own opens a device for each.
  static var quick: UUID {
    var generator = SystemRandomNumberGenerator()
    let (high, low): (UInt64, UInt64) = (generator.next(), generator.next())
    // Version 4, of RFC 9562.
    let numbers = ((high & ~0xF000 | 0x4000).bigEndian, (low & ~(3 << 62) | 2 << 62).bigEndian)
    return withUnsafeBytes(of: numbers) { UUID(uuid: $0.load(as: uuid_t.self)) }
  }
}
