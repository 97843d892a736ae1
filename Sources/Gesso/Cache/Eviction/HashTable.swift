/// Values by hashes that are uniform already: a dictionary that does not hash them again.
///
/// Open addressing: a value lies at its hash's place or in the next free one, and what follows a removed one moves up.
struct HashTable<Value: Sendable>: Sendable {
  /// 0 where nothing is.
  private var hashes: [UInt64] = [0, 0, 0, 0]
  private var values: [Value?] = [nil, nil, nil, nil]
  private(set) var count = 0

  /// A hash that is not the mark of nothing.
  private static func marked(_ hash: UInt64) -> UInt64 { hash == 0 ? 1 : hash }

  /// Where a hash is, or the free place at which it would be.
  private func place(of hash: UInt64) -> Int {
    let mask = hashes.count - 1
    var place = Int(truncatingIfNeeded: hash) & mask
    return hashes.withUnsafeBufferPointer { hashes in
      while hashes[place] != hash, hashes[place] != 0 { place = (place + 1) & mask }
      return place
    }
  }

  subscript(hash: UInt64) -> Value? {
    let hash = Self.marked(hash), place = place(of: hash)
    return hashes[place] == hash ? values[place] : nil
  }

  /// Returns what was there.
  @discardableResult
  mutating func update(_ value: Value, for hash: UInt64) -> Value? {
    let hash = Self.marked(hash)
    var place = place(of: hash)
    if hashes[place] == hash {
      let old = values[place]
      values[place] = value
      return old
    }
    if 4 * (count + 1) > 3 * hashes.count {
      grow()
      place = self.place(of: hash)
    }
    hashes[place] = hash
    values[place] = value
    count += 1
    return nil
  }

  /// Returns what was there.
  @discardableResult
  mutating func remove(_ hash: UInt64) -> Value? {
    let hash = Self.marked(hash), mask = hashes.count - 1
    var free = place(of: hash)
    guard hashes[free] == hash else { return nil }
    let old = values[free]
    var next = (free + 1) & mask
    while hashes[next] != 0 {
      // One may move up if its own place does not lie between the free one and it.
      let home = Int(truncatingIfNeeded: hashes[next]) & mask
      if (next - home) & mask >= (next - free) & mask {
        hashes[free] = hashes[next]
        values[free] = values[next]
        free = next
      }
      next = (next + 1) & mask
    }
    hashes[free] = 0
    values[free] = nil
    count -= 1
    return old
  }

  /// All values, in no order.
  var all: [Value] { values.compactMap { $0 } }

  private mutating func grow() {
    let old = zip(hashes, values)
    hashes = [UInt64](repeating: 0, count: 2 * hashes.count)
    values = [Value?](repeating: nil, count: hashes.count)
    for (hash, value) in old where hash != 0 {
      let place = place(of: hash)
      hashes[place] = hash
      values[place] = value
    }
  }
}
