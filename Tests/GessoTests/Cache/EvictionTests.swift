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

  @Test("is the row that is farthest from the screen, if it is farther than others are old")
  func rows() {
    var cache = KeyCache(limit: 100)
    for row in 0..<20 { cache.insert(hash(row), size: 1, row: Int32(row)) }
    cache.insert(hash(100), size: 1)
    #expect(cache.recencyVictim(5...8) == hash(19))
    #expect(cache.recencyVictim(12...19) == hash(0))
    for key in 0..<88 { cache.insert(hash(1000 + key), size: 1) }
    #expect(cache.recencyVictim(5...8) == hash(100), "which is as old as eleven rows are far")
    cache.remove(hash(100))
    #expect(cache.recencyVictim(5...8) == hash(19))
    cache.setRows { key, _ in key == hash(3) ? 40 : -1 }
    #expect(cache.recencyVictim(0...1) == hash(3) && cache.recencyVictim(nil) == hash(0), "in another list")
  }
}
