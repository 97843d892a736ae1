/// Decides which bitmaps a cache keeps: by the rule that fits the requests, and by what is on screen.
struct EvictionPolicy {
  private(set) var keys: KeyCache
  private var selector: RuleSelector
  /// What is on screen, of the list in front.
  private(set) var screen: VisibleRows?
  private(set) var evictions = 0

  init(limit: Int) {
    keys = KeyCache(limit: limit)
    selector = RuleSelector(limit: limit)
  }

  /// Where a list tells what is on screen, recency knows more than its shadow: frequency has to be better by more.
  var rule: EvictionRule {
    screen != nil && selector.advantage < 0.1 ? .recency : selector.rule
  }

  /// A request that was a hit.
  mutating func hit(_ hash: UInt64) {
    // It may be gone since: a request all the same, but nobody knows of what size.
    guard let slot = keys.slot(of: hash) else { return }
    let entry = keys.entries[slot]
    selector.request(hash, size: entry.size, cost: entry.cost)
    _ = keys.touch(hash)
  }

  /// A request that was a miss, and whose bitmap comes in. Tells which others have to go, and whether it is kept: it is not
  /// if it alone is too large, or if all others are on screen.
  mutating func insert(_ hash: UInt64, size: Int, cost: Float, row: Int32) -> (isKept: Bool, evicted: [UInt64]) {
    keys.remove(hash)
    selector.request(hash, size: size, cost: cost)
    guard size <= keys.limit else { return (false, []) }
    let (fits, evicted) = makeRoom(for: size)
    if fits { keys.insert(hash, size: size, cost: cost, row: row) }
    return (fits, evicted)
  }

  /// Another number of bytes, and what has to go for it.
  mutating func setLimit(_ limit: Int) -> [UInt64] {
    self.limit = limit
    return makeRoom(for: 0).evicted
  }

  /// Bytes that there may be, from the next insertion on.
  var limit: Int {
    get { keys.limit }
    set { keys.limit = max(0, newValue) }
  }

  private mutating func makeRoom(for size: Int) -> (fits: Bool, evicted: [UInt64]) {
    var evicted: [UInt64] = []
    // What cannot fit beside that on screen drives nothing out.
    if let screen, size > keys.limit - keys.byteCount(on: screen.rows) { return (false, []) }
    while keys.byteCount > keys.limit - size {
      guard let victim = keys.victim(by: rule, screen: screen) else { return (false, evicted) }
      keys.remove(victim, isEviction: true)
      evicted.append(victim)
      evictions += 1
    }
    return (true, evicted)
  }

  /// Forgets a key.
  mutating func remove(_ hash: UInt64) {
    keys.remove(hash)
    selector.remove(hash)
  }

  /// Takes out all that is not on screen.
  mutating func trim() -> [UInt64] {
    let gone = keys.hashes(outside: screen?.rows)
    for hash in gone { keys.remove(hash, isEviction: true) }
    evictions += gone.count
    return gone
  }

  /// Another list is in front, or none: what row each key has in it.
  mutating func setRows(_ row: (_ hash: UInt64, _ row: Int32) -> Int32) { keys.setRows(row) }

  /// Rows are on screen, of the list that was in front before or of another one; `nil`: no list is in front.
  mutating func show(_ rows: ClosedRange<Int32>?, isSameList: Bool) {
    if isSameList, let rows, screen != nil { screen?.move(to: rows) } else { screen = rows.map { VisibleRows($0) } }
  }
}
