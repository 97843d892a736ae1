import Foundation

/// What the work of a frame consists of.
public enum FrameStage: String, CaseIterable, Codable, Sendable {
  /// Events and offsets.
  case input
  /// Which rows are where.
  case layout
  /// Binding cells, drawing or looking up.
  case display
  /// Decoding.
  case prepare
  /// Handing over.
  case commit
  /// Putting bitmaps together.
  case composite
  /// Showing.
  case present
}

/// One frame, in milliseconds since the recorder began.
public struct FrameSample: Hashable, Codable, Sendable {
  /// When work began.
  public var begin: Double
  /// When it was shown.
  public var finish: Double
  /// The vsync by which it was due.
  public var deadline: Double
  /// Processor time of the thread.
  public var cpu: Double
  /// Whether there was nothing to show; such frames count for nothing.
  public var idle: Bool
  /// Processor time of the thread, by stage.
  public var stages: [String: Double]
}

/// Records when frames began, when they were due, when they were finished, and where their time went.
///
///     let recorder = FrameRecorder(hertz: 120)
///     recorder.frame { frame in
///       frame.stage(.layout) { … }
///       frame.stage(.display) { … }
///     }
///     print(recorder.report().metrics.hitchTimeRatio)
///
/// Thread-safety: used by one thread at a time, whose processor time it measures.
public final class FrameRecorder {
  /// A frame that is being recorded; lent to the frame's block.
  public struct Frame: ~Copyable {
    fileprivate let recorder: FrameRecorder

    /// Does a part of the frame's work, and records how long it took. A stage that is done twice adds up.
    public func stage<Result, Failure: Error>(
      _ stage: FrameStage, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
      let begin = MonotonicClock.now
      let cpu = MonotonicClock.threadTime
      defer { recorder.end(stage, begin: begin, cpu: cpu) }
      return try body()
    }

    /// Says that there was nothing to show.
    public func markIdle() { recorder.isIdle = true }
  }

  /// Frames in a second.
  public let hertz: Double
  private let trace: Trace?
  private let origin = MonotonicClock.now
  private var samples: [FrameSample] = []
  private var stages: [String: Double] = [:]
  private var isIdle = false

  /// A recorder.
  /// - Parameters:
  ///   - hertz: the rate that frames are due at, above 0.
  ///   - trace: where frames and stages are written down as well.
  public init(hertz: Double, trace: Trace? = nil) {
    precondition(hertz.isFinite && hertz > 0, "a rate of \(hertz) Hz")
    self.hertz = hertz
    self.trace = trace
    trace?.nameThread("main")
  }

  /// Records a frame.
  /// - Parameter tick: when it was to begin and is due. `nil`: it begins now, and is due one period later.
  public func frame<Failure: Error>(
    _ tick: FrameClock.Tick? = nil, _ body: (borrowing Frame) throws(Failure) -> Void
  ) throws(Failure) {
    stages = [:]
    isIdle = false
    let begin = MonotonicClock.now
    let cpu = MonotonicClock.threadTime
    let deadline = tick?.deadline ?? begin + Int64(1e9 / hertz)
    try body(Frame(recorder: self))
    let finish = MonotonicClock.now
    samples.append(
      FrameSample(
        begin: milliseconds(begin - origin), finish: milliseconds(finish - origin),
        deadline: milliseconds(deadline - origin), cpu: milliseconds(MonotonicClock.threadTime - cpu), idle: isIdle,
        stages: stages))
    if !isIdle { trace?.slice("frame", category: "frame", begin: begin, end: finish) }
  }

  private func end(_ stage: FrameStage, begin: Int64, cpu: Int64) {
    stages[stage.rawValue, default: 0] += milliseconds(MonotonicClock.threadTime - cpu)
    trace?.slice(stage.rawValue, category: "stage", begin: begin, end: MonotonicClock.now)
  }

  private func milliseconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e6 }

  /// All frames so far, and what they amount to.
  public func report() -> FrameReport { FrameReport(hertz: hertz, frames: samples) }
}

/// Frames, and what they amount to.
public struct FrameReport: Sendable {
  /// Frames in a second.
  public let hertz: Double
  /// The frames, in order.
  public let frames: [FrameSample]
  /// Their metrics.
  public let metrics: FrameMetrics

  /// A report.
  public init(hertz: Double, frames: [FrameSample]) {
    self.hertz = hertz
    self.frames = frames
    metrics = FrameMetrics(hertz: hertz, frames: frames)
  }

  /// A percentile (nearest rank) of a stage's processor time in milliseconds; idle frames do not count.
  public func stageTime(_ stage: FrameStage, percentile: Double) -> Double {
    Percentile.nearestRank(frames.filter { !$0.idle }.map { $0.stages[stage.rawValue] ?? 0 }, percentile) ?? 0
  }
}
