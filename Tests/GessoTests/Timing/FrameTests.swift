import Foundation
import Testing

@testable import Gesso

@Suite("Frame metrics")
struct FrameMetricsTests {
  struct Fixture: Decodable {
    struct Frame: Decodable {
      let begin: Double
      let finish: Double
      let deadline: Double
      let cpu: Double
      let idle: Bool
    }
    let hz: Double
    let frames: [Frame]
    let metrics: [String: Double]
  }

  /// Frames of several kinds, and what the reference model, a program of its own, makes of them.
  @Test("are what the reference model computes", arguments: ["smooth", "late", "mixed", "idle", "single", "exact"])
  func reference(_ name: String) throws {
    let url = try #require(Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Frames"))
    let fixture = try JSONDecoder().decode(Fixture.self, from: Data(contentsOf: url))
    let metrics = FrameMetrics(
      hertz: fixture.hz,
      frames: fixture.frames.map {
        FrameSample(begin: $0.begin, finish: $0.finish, deadline: $0.deadline, cpu: $0.cpu, idle: $0.idle, stages: [:])
      })
    let found = try JSONDecoder().decode([String: Double].self, from: JSONEncoder().encode(metrics))
    #expect(Set(found.keys) == Set(fixture.metrics.keys))
    for (key, expected) in fixture.metrics {
      #expect(abs((found[key] ?? .nan) - expected) < 1e-9, "\(key)")
    }
  }

  @Test("take percentiles by nearest rank")
  func percentiles() {
    let values = (1...10).map(Double.init).shuffled()
    #expect(Percentile.nearestRank(values, 50) == 5 && Percentile.nearestRank(values, 51) == 6)
    #expect(Percentile.nearestRank(values, 99) == 10 && Percentile.nearestRank(values, 0) == 1)
    #expect(Percentile.nearestRank([], 50) == nil)
  }
}

@Suite("A frame recorder")
struct FrameRecorderTests {
  @Test("records each frame's stages in order, and leaves idle ones out")
  func recording() throws {
    let recorder = FrameRecorder(hertz: 60)
    recorder.frame { frame in
      frame.stage(.layout) {}
      let value = frame.stage(.display) { 7 }
      #expect(value == 7)
      frame.stage(.display) {}
    }
    recorder.frame { $0.markIdle() }
    let report = recorder.report()
    #expect(report.frames.count == 2 && report.metrics.frames == 1)
    #expect(Set(report.frames[0].stages.keys) == ["layout", "display"] && report.frames[1].idle)
    for frame in report.frames { #expect(frame.begin <= frame.finish && frame.cpu >= 0) }
    #expect(report.frames[0].finish <= report.frames[1].begin)
    #expect(abs(report.frames[0].deadline - report.frames[0].begin - 1000.0 / 60) < 1e-3)
  }

  @Test("records a frame's processor time, not its sleep")
  func processorTime() {
    let recorder = FrameRecorder(hertz: 60)
    recorder.frame { _ in usleep(30_000) }
    let sample = recorder.report().frames[0]
    #expect(sample.finish - sample.begin >= 30 && sample.cpu < (sample.finish - sample.begin) / 2)
    #expect(recorder.report().metrics.missed >= 1)
  }

  @Test("passes on what a frame throws")
  func throwing() {
    struct Mishap: Error {}
    #expect(throws: Mishap.self) { try FrameRecorder(hertz: 60).frame { _ in throw Mishap() } }
  }
}

@Suite("A frame clock")
struct FrameClockTests {
  @Test("ticks at absolute vsyncs, and goes on at a later one after a late frame")
  func ticks() {
    var clock = FrameClock(hertz: 200)
    let first = clock.waitForNextFrame()
    let second = clock.waitForNextFrame()
    #expect(first.index == 0 && second.index >= 1)
    #expect(second.begin - first.begin == Int64(second.index) * 5_000_000)
    #expect(second.deadline == second.begin + 5_000_000 && MonotonicClock.now >= second.begin)
    usleep(23_000)
    let late = clock.waitForNextFrame()
    #expect(late.index >= second.index + 5 && (late.begin - first.begin) % 5_000_000 == 0)
  }
}

@Suite("A trace")
struct TraceTests {
  @Test("is JSON that Perfetto loads: slices, counters, thread names")
  func json() throws {
    let trace = Trace()
    trace.nameThread("painter \"one\"\n")
    let now = MonotonicClock.now
    trace.slice("draw \\ \u{1}", category: "draw", begin: now, end: now + 2_500)
    trace.counter("bytes", 12.5)
    let object = try #require(try JSONSerialization.jsonObject(with: trace.json()) as? [String: Any])
    #expect(object["displayTimeUnit"] as? String == "ms")
    let events = try #require(object["traceEvents"] as? [[String: Any]])
    #expect(events.map { $0["ph"] as? String } == ["M", "X", "C"])
    #expect((events[0]["args"] as? [String: Any])?["name"] as? String == "painter \"one\"\n")
    #expect(events[1]["name"] as? String == "draw \\ \u{1}" && events[1]["dur"] as? Double == 2.5)
    #expect((events[2]["args"] as? [String: Any])?["value"] as? Double == 12.5)
    #expect(events[1]["tid"] as? Int == events[0]["tid"] as? Int && events[1]["pid"] as? Int == Int(getpid()))
  }
}
