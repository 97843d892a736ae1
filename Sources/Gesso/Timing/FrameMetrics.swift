import Foundation

/// Percentiles.
public enum Percentile {
  /// The smallest value that at least so many percent of the values do not exceed; `nil` if there are none.
  public static func nearestRank(_ values: [Double], _ percent: Double) -> Double? {
    guard !values.isEmpty else { return nil }
    let rank = Int((percent / 100 * Double(values.count)).rounded(.up))
    return values.sorted()[max(0, rank - 1)]
  }
}

/// How smoothly frames were shown. Times in milliseconds; idle frames are left out of everything.
///
/// A frame that is finished after its deadline is shown at a later vsync; a *hitch* is how much later, in whole
/// vsyncs, so that the jitter of timers does not count.
public struct FrameMetrics: Hashable, Sendable {
  /// Percentiles of one quantity.
  public struct Distribution: Hashable, Sendable {
    /// Half of the frames take no longer.
    public var p50 = 0.0
    /// 90 % take no longer.
    public var p90 = 0.0
    /// 95 % take no longer.
    public var p95 = 0.0
    /// 99 % take no longer.
    public var p99 = 0.0
    /// The longest.
    public var max = 0.0

    init() {}

    init(_ values: [Double]) {
      p50 = Percentile.nearestRank(values, 50) ?? 0
      p90 = Percentile.nearestRank(values, 90) ?? 0
      p95 = Percentile.nearestRank(values, 95) ?? 0
      p99 = Percentile.nearestRank(values, 99) ?? 0
      max = values.max() ?? 0
    }
  }

  /// Frames that were shown.
  public var frames = 0
  /// Vsyncs that were missed, over all frames.
  public var missed = 0
  /// Frames that were late.
  public var hitches = 0
  /// How late, all together.
  public var hitchTime = 0.0
  /// Milliseconds of hitch in a second of animation: up to 5 is good, up to 10 a warning, above critical.
  public var hitchTimeRatio = 0.0
  /// Missed vsyncs in percent of all.
  public var droppedPercent = 0.0
  /// The most vsyncs that were missed in a row.
  public var longestDropRun = 0
  /// The most hitch time within one second.
  public var worstSecond = 0.0
  /// Frames that took over two periods.
  public var jankFrames = 0
  /// Time from begin to finish.
  public var wall = Distribution()
  /// Processor time of the main thread.
  public var cpu = Distribution()
  /// Time over the deadline; below 0: time to spare.
  public var overrun = Distribution()
  /// The average rate over the worst hundredth of the frames; `nil` for under 1,000 frames.
  public var onePercentLow: Double?

  /// The metrics of frames.
  public init(hertz: Double, frames all: [FrameSample]) {
    let shown = all.filter { !$0.idle }
    guard !shown.isEmpty else { return }
    let period = 1000 / hertz
    // A finish on the deadline is on time, whatever the last bit of a double says.
    let late = shown.map { max(0, Int((($0.finish - $0.deadline) / period - 1e-9).rounded(.up))) }
    frames = shown.count
    missed = late.reduce(0, +)
    hitches = late.count { $0 > 0 }
    hitchTime = Double(missed) * period
    hitchTimeRatio = hitchTime / (Double(frames + missed) * period / 1000)
    droppedPercent = 100 * Double(missed) / Double(frames + missed)
    longestDropRun = Self.longestRun(late)
    worstSecond = Self.worstSecond(shown, late, period: period)
    let walls = shown.map { $0.finish - $0.begin }
    jankFrames = walls.count { $0 > 2 * period }
    wall = Distribution(walls)
    cpu = Distribution(shown.map(\.cpu))
    overrun = Distribution(shown.map { $0.finish - $0.deadline })
    if frames >= 1000 {
      let worst = walls.sorted(by: >).prefix(frames / 100)
      onePercentLow = 1000 / max(period, worst.reduce(0, +) / Double(worst.count))
    }
  }

  private static func longestRun(_ late: [Int]) -> Int {
    var longest = 0
    var run = 0
    for missed in late {
      run = missed > 0 ? run + missed : 0
      longest = max(longest, run)
    }
    return longest
  }

  private static func worstSecond(_ frames: [FrameSample], _ late: [Int], period: Double) -> Double {
    var worst = 0.0
    var start = 0
    var total = 0
    for end in frames.indices {
      total += late[end]
      while frames[end].deadline - frames[start].deadline >= 1000 {
        total -= late[start]
        start += 1
      }
      worst = max(worst, Double(total) * period)
    }
    return worst
  }
}

extension FrameMetrics: Encodable {
  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Encodes under the names that profiles use: `hitch_ms_per_s`, `main_cpu_p99_ms` and so on.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(frames, forKey: Key("frames"))
    guard frames > 0 else { return }
    try values.encode(missed, forKey: Key("missed"))
    try values.encode(hitches, forKey: Key("hitches"))
    try values.encode(hitchTime, forKey: Key("hitch_ms"))
    try values.encode(hitchTimeRatio, forKey: Key("hitch_ms_per_s"))
    try values.encode(droppedPercent, forKey: Key("dropped_percent"))
    try values.encode(longestDropRun, forKey: Key("longest_drop_run"))
    try values.encode(worstSecond, forKey: Key("worst_second_hitch_ms"))
    try values.encode(jankFrames, forKey: Key("jank_frames"))
    for (name, distribution) in [("main_wall", wall), ("main_cpu", cpu), ("overrun", overrun)] {
      try values.encode(distribution.p50, forKey: Key("\(name)_p50_ms"))
      try values.encode(distribution.p90, forKey: Key("\(name)_p90_ms"))
      try values.encode(distribution.p95, forKey: Key("\(name)_p95_ms"))
      try values.encode(distribution.p99, forKey: Key("\(name)_p99_ms"))
      try values.encode(distribution.max, forKey: Key("\(name)_max_ms"))
    }
    try values.encodeIfPresent(onePercentLow, forKey: Key("low_1_percent_fps"))
  }
}
