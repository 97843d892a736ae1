import Foundation

/// Which of a cache's keys goes when another one needs room.
enum EvictionRule: Int, CaseIterable, Sendable {
  /// The one that was asked for longest ago.
  case recency
  /// The one that was asked for least often, of some that are drawn by lot; old requests count less and less.
  case frequency
}

/// The keys of a cache, by their hashes, and what is known of each: what a cache decides by, without what it keeps.
///
/// Time is counted in requests. Keys with a row are those of the list in front: see ``Viewport``.
struct KeyCache {
  struct Entry {
    var hash: UInt64
    var size: Int
    /// What making it again costs, in any unit; all the same if costs do not count.
    var cost: Float
    /// When it was asked for first and last, and how often: each request is worth half after 32 · N further ones.
    var first: Int
    var last: Int
    var count: Float
    /// Its row in the list in front, or -1.
    var row: Int32
    fileprivate var newer: Int32 = -1
    fileprivate var older: Int32 = -1
    /// Where it is among the residents.
    fileprivate var place: Int32 = -1
  }

  private struct Ghost {
    let first: Int
    let last: Int
    let count: Float
  }

  /// Keys that went, young and old: up to 4 · N.
  private struct Ghosts {
    private var young = HashTable<Ghost>()
    private var old = HashTable<Ghost>()

    mutating func take(_ hash: UInt64) -> Ghost? {
      let (young, old) = (young.remove(hash), old.remove(hash))
      return young ?? old
    }

    mutating func add(_ ghost: Ghost, for hash: UInt64, capacity: Double) {
      young.update(ghost, for: hash)
      if Double(young.count) > 2 * max(8, capacity) { (young, old) = (HashTable(), young) }
    }
  }

  /// A doubly linked list in the order of last use.
  private struct Recency {
    var newest: Int32 = -1
    var oldest: Int32 = -1
  }

  /// Bytes that the keys' values may take.
  var limit: Int
  /// Bytes that they take.
  private(set) var byteCount = 0
  /// Requests so far.
  private(set) var now = 0

  private(set) var entries: [Entry] = []
  private var index = HashTable<Int32>()
  private var free: [Int32] = []
  /// All of them, in no order, to draw by lot from.
  private var residents: [Int32] = []
  /// Those without a row, and those with one.
  private var lists = (plain: Recency(), rowed: Recency())
  private(set) var rows = RowOrder()
  /// Apart, as rows come and go, and of others it matters how often they were asked for.
  private var ghosts = (plain: Ghosts(), rowed: Ghosts())
  private var random: UInt64 = 0x9E37_79B9_7F4A_7C15
  private var sizesDiffer = false
  private var costsDiffer = false

  init(limit: Int) { self.limit = limit }

  var count: Int { residents.count }

  /// How many values of the usual size there is room for.
  var capacity: Double {
    guard byteCount > 0 else { return 1 }
    return max(1, Double(limit) * Double(count) / Double(byteCount))
  }

  func slot(of hash: UInt64) -> Int? { index[hash].map { Int($0) } }

  // MARK: Requests

  /// A request for a key that is there; false if it is not.
  mutating func touch(_ hash: UInt64) -> Bool {
    guard let slot = index[hash] else { return false }
    now += 1
    let place = Int(slot)
    entries[place].count = aged(entries[place].count, since: entries[place].last) + 1
    entries[place].last = now
    unlink(slot)
    link(slot)
    return true
  }

  /// A request for a key that is not there, and comes in. The caller has made room.
  mutating func insert(_ hash: UInt64, size: Int, cost: Float = 1, row: Int32 = -1) {
    now += 1
    let (plain, rowed) = (ghosts.plain.take(hash), ghosts.rowed.take(hash))
    let ghost = plain ?? rowed
    let count = ghost.map { aged($0.count, since: $0.last) + 1 } ?? 1
    if let first = residents.first.map({ entries[Int($0)] }) {
      sizesDiffer = sizesDiffer || size != first.size
      costsDiffer = costsDiffer || cost != first.cost
    }
    let entry = Entry(
      hash: hash, size: size, cost: cost, first: ghost?.first ?? now, last: now, count: count, row: row)
    let slot: Int32
    if let reused = free.popLast() {
      slot = reused
      entries[Int(slot)] = entry
    } else {
      slot = Int32(entries.count)
      entries.append(entry)
    }
    index.update(slot, for: hash)
    entries[Int(slot)].place = Int32(residents.count)
    residents.append(slot)
    byteCount += size
    if row >= 0 { rows.insert(row, slot) }
    link(slot)
  }

  /// Takes a key out.
  mutating func remove(_ hash: UInt64, isEviction: Bool = false) {
    guard let slot = index.remove(hash) else { return }
    let entry = entries[Int(slot)]
    unlink(slot)
    if entry.row >= 0 { rows.remove(entry.row, slot) }
    let lastResident = residents.removeLast()
    if lastResident != slot {
      residents[Int(entry.place)] = lastResident
      entries[Int(lastResident)].place = entry.place
    }
    free.append(slot)
    byteCount -= entry.size
    guard isEviction else { return }
    let ghost = Ghost(first: entry.first, last: entry.last, count: entry.count)
    if entry.row >= 0 {
      ghosts.rowed.add(ghost, for: hash, capacity: capacity)
    } else {
      ghosts.plain.add(ghost, for: hash, capacity: capacity)
    }
  }

  /// A request in a cache that keeps nothing: whether the key was there. Others go for it by the rule.
  mutating func request(_ hash: UInt64, size: Int, cost: Float, by rule: EvictionRule) -> Bool {
    if touch(hash) { return true }
    guard size <= limit else {
      now += 1
      return false
    }
    while byteCount > limit - size, let victim = victim(by: rule) { remove(victim, isEviction: true) }
    insert(hash, size: size, cost: cost)
    return false
  }

  // MARK: Victims

  /// The key that was asked for longest ago; `nil`: there is none.
  func recencyVictim() -> UInt64? { oldestPlain().map { entries[$0].hash } }

  /// The key that goes next while a list is in front; `nil` if all are on screen, or there is none.
  ///
  /// Of a row it is known when it may be needed again: in twelve requests for each row in between, or later. Of others, it
  /// is known how often they were. What is needed last goes.
  func recencyVictim(_ screen: VisibleRows) -> UInt64? {
    guard let far = rows.farthest(from: screen) else { return recencyVictim() }
    guard let rare = rarestPlain(), rare.interval >= far.distance * 12 else { return entries[Int(far.slot)].hash }
    return entries[rare.slot].hash
  }

  /// The same by either rule. By frequency it is one of 32 that are drawn by lot.
  mutating func victim(by rule: EvictionRule, screen: VisibleRows? = nil) -> UInt64? {
    guard rule == .frequency else { return recency(screen) }
    var worst: (slot: Int, value: Double)?
    let half = 32 * capacity, average = Double(byteCount) / Double(max(1, count))
    for _ in 0..<min(32, 4 * count) {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let slot = Int(residents[Int((random >> 33) % UInt64(count))]), entry = entries[slot]
      if let screen, entry.row >= 0, screen.rows.contains(entry.row) { continue }
      var value = Double(entry.last) / half + log2(Double(entry.count))
      if sizesDiffer { value += log2(average / Double(max(1, entry.size))) }
      if costsDiffer { value += log2(Double(max(1e-3, entry.cost))) }
      if value < worst?.value ?? .infinity { worst = (slot, value) }
    }
    return worst.map { entries[$0.slot].hash } ?? recency(screen)
  }

  private func recency(_ screen: VisibleRows?) -> UInt64? {
    if let screen { recencyVictim(screen) } else { recencyVictim() }
  }

  /// The oldest of those without a row: the last one, or, where sizes or costs differ, of the last ones the one whose age
  /// keeps most bytes for least cost.
  private func oldestPlain() -> Int? {
    var slot = lists.plain.oldest
    guard slot >= 0 else { return nil }
    guard sizesDiffer || costsDiffer else { return Int(slot) }
    var worst = (slot: slot, value: -1.0)
    for _ in 0..<32 where slot >= 0 {
      let entry = entries[Int(slot)]
      let value = Double(now - entry.last + 1) * Double(max(1, entry.size)) / Double(max(1e-3, entry.cost))
      if value > worst.value { worst = (slot, value) }
      slot = entry.newer
    }
    return Int(worst.slot)
  }

  /// Of the 32 without a row that were asked for longest ago, the one that is asked for least often: once in so many
  /// requests, since it was first seen. Where sizes or costs differ, it is the one that keeps most bytes for least cost.
  private func rarestPlain() -> (slot: Int, interval: Double)? {
    var rarest: (slot: Int, interval: Double)?, worst = -1.0
    var slot = lists.plain.oldest
    let memory = 32 * capacity / log(2)
    for _ in 0..<32 where slot >= 0 {
      let entry = entries[Int(slot)]
      let seen = memory * (1 - exp(-Double(now - entry.first + 1) / memory))
      let interval = seen / Double(aged(entry.count, since: entry.last))
      var value = interval
      if sizesDiffer || costsDiffer { value *= Double(max(1, entry.size)) / Double(max(1e-3, entry.cost)) }
      if value > worst { (rarest, worst) = ((Int(slot), interval), value) }
      slot = entry.newer
    }
    return rarest
  }

  // MARK: Rows

  /// Gives each key its row in another list, or none.
  mutating func setRows(_ row: (_ hash: UInt64, _ row: Int32) -> Int32) {
    for slot in residents { entries[Int(slot)].row = row(entries[Int(slot)].hash, entries[Int(slot)].row) }
    lists = (Recency(), Recency())
    for slot in residents.sorted(by: { entries[Int($0)].last < entries[Int($1)].last }) { link(slot) }
    rows = RowOrder(residents.map { (entries[Int($0)].row, $0) }.filter { $0.0 >= 0 })
  }

  /// Bytes of the rows on screen.
  func byteCount(on screen: ClosedRange<Int32>) -> Int {
    rows.slots(on: screen).reduce(0) { $0 + entries[Int($1)].size }
  }

  /// The hashes of all keys that are not on screen.
  func hashes(outside viewport: ClosedRange<Int32>?) -> [UInt64] {
    residents.compactMap { slot in
      let entry = entries[Int(slot)]
      if let viewport, entry.row >= 0, viewport.contains(entry.row) { return nil }
      return entry.hash
    }
  }

  // MARK: -

  private func aged(_ count: Float, since last: Int) -> Float {
    count * Float(exp2(-Double(now - last) / (32 * capacity)))
  }

  private mutating func link(_ slot: Int32) {
    withList(of: slot) { list, entries in
      entries[Int(slot)].newer = -1
      entries[Int(slot)].older = list.newest
      if list.newest >= 0 { entries[Int(list.newest)].newer = slot } else { list.oldest = slot }
      list.newest = slot
    }
  }

  private mutating func unlink(_ slot: Int32) {
    withList(of: slot) { list, entries in
      let (newer, older) = (entries[Int(slot)].newer, entries[Int(slot)].older)
      if newer >= 0 { entries[Int(newer)].older = older } else { list.newest = older }
      if older >= 0 { entries[Int(older)].newer = newer } else { list.oldest = newer }
    }
  }

  private mutating func withList(of slot: Int32, _ body: (inout Recency, inout [Entry]) -> Void) {
    if entries[Int(slot)].row >= 0 { body(&lists.rowed, &entries) } else { body(&lists.plain, &entries) }
  }
}
