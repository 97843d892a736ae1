import Foundation

/// Finds the rule that fits the requests, by caches of keys alone, shadows, one for each rule: the one that misses less.
///
/// Shadows see a sample of the keys, and have so much less room, once there are thousands of them.
struct RuleSelector {
  /// The rule that a cache should go by.
  private(set) var rule = EvictionRule.recency
  private var recency: KeyCache
  private var frequency: KeyCache
  /// One of so many keys is in the sample.
  private var sampling = 1
  private let limit: Int

  /// Misses of recency less those of frequency, and requests that one of them only missed. Both fade: by half in as many
  /// requests as ten times what there is room for.
  private var difference = 0.0
  private var differing = 0.0
  private var requests = 0.0

  /// Keys that a shadow has.
  var shadowCount: Int { recency.count }

  /// Misses that frequency saves, of all requests lately.
  var advantage: Double { difference / max(1, requests) }

  init(limit: Int) {
    self.limit = limit
    recency = KeyCache(limit: limit)
    frequency = KeyCache(limit: limit)
  }

  /// A request for a key, whether the cache has it or not. A miss weighs as much as it costs.
  mutating func request(_ hash: UInt64, size: Int, cost: Float) {
    guard isInSample(hash) else { return }
    let hitsByRecency = recency.request(hash, size: size, cost: cost, by: .recency)
    let hitsByFrequency = frequency.request(hash, size: size, cost: cost, by: .frequency)
    let fading = exp2(-1 / max(1000, 10 * recency.capacity))
    difference *= fading
    differing *= fading
    requests = requests * fading + Double(cost)
    if hitsByRecency != hitsByFrequency {
      difference += Double(cost) * (hitsByFrequency ? 1 : -1)
      differing += Double(cost) * Double(cost)
    }
    // What chance does not explain; a lower bar would go to and fro with lists that are scrolled up and down.
    let needed = 3 * differing.squareRoot() + 1
    if difference > needed { rule = .frequency }
    if -difference > needed { rule = .recency }
    if recency.count > 4000 { sampleFewer() }
  }

  /// A key that is gone for good.
  mutating func remove(_ hash: UInt64) {
    recency.remove(hash)
    frequency.remove(hash)
  }

  private func isInSample(_ hash: UInt64) -> Bool { (hash >> 20) & UInt64(sampling - 1) == 0 }

  private mutating func sampleFewer() {
    guard sampling < 16 else { return }
    sampling *= 4
    for cache in [\Self.recency, \Self.frequency] {
      self[keyPath: cache].limit = limit / sampling
      for hash in self[keyPath: cache].hashes(outside: nil) where !isInSample(hash) {
        self[keyPath: cache].remove(hash)
      }
    }
  }
}
