import Foundation
import Gesso
import GessoScenes

/// `frames.json`: every frame of every run, and what they amount to.
struct ProfileDocument: Encodable {
  private struct Options: Encodable {
    let scenes: [String]
    let modes: [String]
    let hz: Int
    let seconds: Double
    let viewport: String
    let raster: Raster
    let seed: UInt64
    let repeats: Int
  }

  private struct Run: Encodable {
    let scene: String
    let mode: String
    let turn: Int
    let hz: Int
    let frames: [FrameSample]
    let metrics: Metrics
    let counters: [String: Double]

    enum CodingKeys: String, CodingKey {
      case scene, mode, turn = "repeat", hz, frames, metrics, counters
    }
  }

  /// The frame metrics, and the display stage's.
  private struct Metrics: Encodable {
    let report: FrameReport

    private enum Keys: String, CodingKey {
      case p50 = "display_cpu_p50_ms"
      case p95 = "display_cpu_p95_ms"
      case p99 = "display_cpu_p99_ms"
      case max = "display_cpu_max_ms"
    }

    func encode(to encoder: any Encoder) throws {
      try report.metrics.encode(to: encoder)
      var values = encoder.container(keyedBy: Keys.self)
      for (key, percentile) in [(Keys.p50, 50.0), (.p95, 95), (.p99, 99), (.max, 100)] {
        try values.encode(report.stageTime(.display, percentile: percentile), forKey: key)
      }
    }
  }

  private let machine: Machine
  private let versions: [String: String]
  private let options: Options
  private let runs: [Run]

  init(options: ProfileOptions, runs: [ProfileRun]) {
    machine = Machine()
    versions = ["gesso": gessoVersion, "cairo": cairoVersion, "swift": swiftVersion]
    self.options = Options(
      scenes: options.scenes, modes: options.modes.map(\.rawValue), hz: options.hertz, seconds: options.seconds,
      viewport: options.viewportText, raster: options.raster, seed: options.seed, repeats: options.repeats)
    self.runs = runs.map {
      Run(
        scene: $0.run.scene, mode: $0.run.mode.rawValue, turn: $0.turn, hz: options.hertz,
        frames: $0.run.report.frames, metrics: Metrics(report: $0.run.report), counters: $0.run.counters)
    }
  }

  func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(self)
  }
}
