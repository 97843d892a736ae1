import Testing

@testable import Gesso

/// Requests as they come, by keys' numbers.
private struct Requests {
  /// Up and down a list, again and again.
  static func upAndDown(rows: Int, passes: Int) -> [Int] {
    (0..<passes).flatMap { $0 % 2 == 0 ? Array(0..<rows) : Array((0..<rows).reversed()) }
  }

  /// Some keys far more often than others, and in no order.
  static func popular(keys: Int, count: Int, seed: UInt64) -> [Int] {
    var random = SeededGenerator(state: seed)
    var sums: [Double] = []
    for key in 1...keys { sums.append((sums.last ?? 0) + 1 / Double(key)) }
    return (0..<count).map { _ in
      let value = Double.random(in: 0..<sums.last!, using: &random)
      return sums.firstIndex { $0 > value }!
    }
  }
}

/// Hits of a list in the order of use.
private func hitsOfList(_ requests: [Int], capacity: Int) -> Int {
  var list: [Int] = []
  var hits = 0
  for key in requests {
    if let place = list.firstIndex(of: key) {
      list.append(list.remove(at: place))
      hits += 1
    } else {
      if list.count == capacity { list.removeFirst() }
      list.append(key)
    }
  }
  return hits
}

private func hash(_ key: Int) -> UInt64 {
  var random = SeededGenerator(state: UInt64(key))
  return random.next()
}

private func hits(_ requests: [Int], capacity: Int, by rule: EvictionRule) -> Int {
  var cache = KeyCache(limit: capacity)
  return requests.reduce(0) { $0 + (cache.request(hash($1), size: 1, cost: 1, by: rule) ? 1 : 0) }
}

@Suite("What a cache drops")
struct EvictionTests {
  @Test("by recency is what a list in the order of use drops")
  func recency() {
    for seed in 1...5 {
      let requests =
        Requests.popular(keys: 300, count: 5000, seed: UInt64(seed)) + Requests.upAndDown(rows: 90, passes: 6)
      for capacity in [1, 7, 40, 200] {
        #expect(hits(requests, capacity: capacity, by: .recency) == hitsOfList(requests, capacity: capacity))
      }
    }
  }

  @Test("by frequency is what is seldom asked for: more hits where some keys are popular")
  func frequency() {
    let requests = Requests.popular(keys: 4000, count: 40_000, seed: 9)
    for capacity in [100, 400] {
      let byList = hitsOfList(requests, capacity: capacity)
      #expect(hits(requests, capacity: capacity, by: .frequency) > byList + requests.count / 20)
    }
  }

  @Test("by frequency is not what used to be popular: requests fade")
  func fading() {
    // A hundred keys, each often; then a hundred others, for much longer than 32 times what there is room for.
    var cache = KeyCache(limit: 100)
    for round in 0..<50 {
      for key in 0..<100 { _ = cache.request(hash(key + round % 2), size: 1, cost: 1, by: .frequency) }
    }
    var late = 0
    for round in 0..<200 {
      for key in 1000..<1100 where cache.request(hash(key), size: 1, cost: 1, by: .frequency) {
        late += round >= 190 ? 1 : 0
      }
    }
    #expect(late > 900)
  }

  @Test("is by the rule that misses less, found out from the requests")
  func selecting() {
    var selector = RuleSelector(limit: 100)
    for key in Requests.upAndDown(rows: 300, passes: 20) { selector.request(hash(key), size: 1, cost: 1) }
    #expect(selector.rule == .recency, "frequency misses more in a list that is scrolled")
    for key in Requests.popular(keys: 4000, count: 30_000, seed: 4) { selector.request(hash(key), size: 1, cost: 1) }
    #expect(selector.rule == .frequency && selector.advantage > 0.03)
    for key in Requests.upAndDown(rows: 150, passes: 200) { selector.request(hash(key), size: 1, cost: 1) }
    #expect(selector.rule == .recency, "and back")
  }

  @Test("is found out by a sample of the keys when there are many")
  func sampling() {
    var selector = RuleSelector(limit: 20_000)
    for key in 0..<30_000 { selector.request(hash(key), size: 1, cost: 1) }
    #expect(selector.shadowCount > 1000 && selector.shadowCount < 6000)
  }

  @Test("are large ones rather than small ones, and cheap ones rather than dear ones, of the same age")
  func sizesAndCosts() {
    for rule in EvictionRule.allCases {
      var cache = KeyCache(limit: 400)
      for key in 0..<20 { _ = cache.request(hash(key), size: key % 2 == 0 ? 80 : 5, cost: 1, by: rule) }
      #expect((0..<20).filter { $0 % 2 == 1 && cache.slot(of: hash($0)) == nil }.isEmpty, "\(rule): no small one went")
      #expect(cache.byteCount <= 400 && cache.count < 16, "and large ones did")
      var costs = KeyCache(limit: 10)
      for key in 0..<20 { _ = costs.request(hash(key), size: 1, cost: key % 4 == 0 ? 1000 : 1, by: rule) }
      #expect((0..<20).filter { $0 % 4 == 0 && costs.slot(of: hash($0)) == nil }.isEmpty, "\(rule): no dear one went")
    }
  }

  @Test("is the row that is farthest from the screen, if others are not rarer than it is far")
  func rows() {
    var cache = KeyCache(limit: 100)
    for row in 0..<20 { cache.insert(hash(row), size: 1, row: Int32(row)) }
    cache.insert(hash(100), size: 1)
    #expect(cache.recencyVictim(VisibleRows(5...8)) == hash(19))
    #expect(cache.recencyVictim(VisibleRows(12...19)) == hash(0))
    for key in 0..<130 { cache.insert(hash(1000 + key), size: 1) }
    #expect(cache.recencyVictim(VisibleRows(5...8)) == hash(100), "not asked for as long as eleven rows take")
    cache.remove(hash(100))
    #expect(cache.recencyVictim(VisibleRows(5...8)) == hash(19))
    cache.setRows { key, _ in key == hash(3) ? 40 : -1 }
    #expect(cache.recencyVictim(VisibleRows(0...1)) == hash(3) && cache.recencyVictim() == hash(0), "in another list")
  }

  @Test("is not what is asked for often, even if that was a while ago")
  func oftenWithoutARow() {
    var cache = KeyCache(limit: 1000)
    for row in 0..<40 { cache.insert(hash(row), size: 1, row: Int32(row)) }
    cache.insert(hash(100), size: 1)
    cache.insert(hash(101), size: 1)
    for _ in 0..<600 {
      _ = cache.touch(hash(100))
      _ = cache.touch(hash(5))
    }
    _ = cache.touch(hash(101))
    // Which is the newer one now, and rare.
    for _ in 0..<400 { _ = cache.touch(hash(5)) }
    #expect(cache.recencyVictim(VisibleRows(5...8)) == hash(101))
    cache.remove(hash(101))
    #expect(cache.recencyVictim(VisibleRows(5...8)) == hash(39))
  }

  @Test("is known again when it comes back, however many rows came and went meanwhile")
  func rowsForgetNothing() {
    var cache = KeyCache(limit: 60)
    for row in 0..<50 { cache.insert(hash(row), size: 1, row: Int32(row)) }
    cache.insert(hash(100), size: 1)
    for _ in 0..<99 { _ = cache.touch(hash(100)) }
    cache.remove(hash(100), isEviction: true)
    cache.insert(hash(102), size: 1)
    cache.remove(hash(102), isEviction: true)
    for row in 0..<1000 {
      cache.insert(hash(1000 + row), size: 1, row: 50)
      cache.remove(hash(1000 + row), isEviction: true)
    }
    cache.insert(hash(100), size: 1)
    for _ in 0..<400 { _ = cache.touch(hash(5)) }
    #expect(cache.recencyVictim(VisibleRows(30...35)) == hash(0), "it was asked for 100 times in 1,600")
    cache.insert(hash(102), size: 1)
    #expect(cache.recencyVictim(VisibleRows(30...35)) == hash(102), "twice in 1,400, if just now")
    cache.remove(hash(102))
    cache.remove(hash(100))
    cache.insert(hash(101), size: 1)
    for _ in 0..<400 { _ = cache.touch(hash(5)) }
    #expect(cache.recencyVictim(VisibleRows(30...35)) == hash(101), "once in 400")
  }

  @Test("is behind rather than ahead, of rows that are as far")
  func ahead() {
    var cache = KeyCache(limit: 100), screen = VisibleRows(9...10)
    for row in 0..<20 { cache.insert(hash(row), size: 1, row: Int32(row)) }
    screen.move(to: 7...8)
    screen.move(to: 8...9)
    #expect(cache.recencyVictim(screen) == hash(0), "eight above, and ten below, where it goes: as seven")
    screen.move(to: 8...9)
    #expect(cache.recencyVictim(screen) == hash(0), "while it rests, too")
    screen.move(to: 11...12)
    screen.move(to: 10...11)
    #expect(cache.recencyVictim(screen) == hash(19), "ten above, where it goes: as seven, and eight below")
    screen = VisibleRows(8...9)
    #expect(cache.recencyVictim(screen) == hash(19), "of a list that has not moved yet")
  }
}
