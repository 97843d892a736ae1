import Foundation

/// Bytes that say what they are, and that can be told from those of other names and versions, and from a part of them.
func contents(_ name: String, _ version: Int) -> Data {
  var bytes = [UInt8]("\(name) \(version) ".utf8)
  let head = bytes.count, count = 2000 + (version * 7919) % 60_000
  bytes += [UInt8](repeating: UInt8(truncatingIfNeeded: version), count: count)
  for place in stride(from: head, to: head + count, by: 61) {
    bytes[place] = UInt8(truncatingIfNeeded: place &* version)
  }
  return Data(bytes)
}
