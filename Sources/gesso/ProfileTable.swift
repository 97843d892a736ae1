import Foundation
import Gesso
import GessoScenes

/// The table of a profile: a line for each scene and mode, medians over the repeats.
struct ProfileTable {
  let runs: [ProfileRun]
  let raster: Raster

  private struct Column: Sendable {
    let title: String
    let decimals: Int
    let value: @Sendable (SceneRun) -> Double
  }

  private static let columns: [Column] = [
    Column(title: "frames", decimals: 0) { Double($0.report.metrics.frames) },
    Column(title: "missed", decimals: 0) { Double($0.report.metrics.missed) },
    Column(title: "hitch ms/s", decimals: 1) { $0.report.metrics.hitchTimeRatio },
    Column(title: "wall p50", decimals: 2) { $0.report.metrics.wall.p50 },
    Column(title: "p95", decimals: 2) { $0.report.metrics.wall.p95 },
    Column(title: "p99", decimals: 2) { $0.report.metrics.wall.p99 },
    Column(title: "max", decimals: 2) { $0.report.metrics.wall.max },
    Column(title: "cpu p50", decimals: 2) { $0.report.metrics.cpu.p50 },
    Column(title: "p95", decimals: 2) { $0.report.metrics.cpu.p95 },
    Column(title: "p99", decimals: 2) { $0.report.metrics.cpu.p99 },
    Column(title: "max", decimals: 2) { $0.report.metrics.cpu.max },
    Column(title: "display p99", decimals: 3) { $0.report.stageTime(.display, percentile: 99) },
    Column(title: "draws", decimals: 0) { $0.counters["draws"] ?? 0 },
    Column(title: "hits", decimals: 0) { $0.counters["memory_hits"] ?? 0 },
    Column(title: "of disk", decimals: 0) { $0.counters["disk_hits"] ?? 0 },
    Column(title: "hit %", decimals: 1) { $0.counters["hit_percent"] ?? 0 },
    Column(title: "queue p95 us", decimals: 0) { $0.counters["queue_p95_us"] ?? 0 },
    Column(title: "blank %", decimals: 2) { $0.counters["blank_area_percent"] ?? 0 },
    Column(title: "cells made", decimals: 0) { $0.counters["cells_made"] ?? 0 },
  ]

  var text: String {
    var lines = [["scene", "mode"] + Self.columns.map(\.title)]
    var notes: [String] = []
    for scene in unique(runs.map(\.run.scene)) {
      var display: [ScrollMode: Double] = [:]
      for mode in ScrollMode.allCases {
        let group = runs.filter { $0.run.scene == scene && $0.run.mode == mode }.map(\.run)
        guard !group.isEmpty else { continue }
        lines.append(
          [scene, mode.rawValue]
            + Self.columns.map { column in
              String(format: "%.\(column.decimals)f", median(group.map(column.value)))
            })
        display[mode] = median(group.map { $0.report.stageTime(.display, percentile: 99) })
        if let ratio = group.map(\.report.metrics.hitchTimeRatio).max(), [.cached, .warm, .restart].contains(mode) {
          notes.append("\(scene), \(mode.rawValue): \(Self.rating(ratio)) (hitches of \(rounded(ratio)) ms/s at worst)")
        }
      }
      if let traditional = display[.traditional], let cached = display[.cached], cached > 0 {
        notes.append(
          "\(scene): the display stage of cached takes 1/\(rounded(traditional / cached)) of traditional's processor time (p99)"
        )
      }
    }
    return "Times in ms, on the main thread; drawn by \(raster.rawValue).\n" + align(lines) + "\n"
      + notes.joined(separator: "\n")
  }

  /// Both of Apple's scales: that of XCTest, and that of the Organizer.
  private static func rating(_ ratio: Double) -> String {
    let strict = ratio <= 5 ? "good" : ratio <= 10 ? "warning" : "critical"
    let wide = ratio <= 10 ? "good" : ratio <= 25 ? "warning" : ratio <= 50 ? "critical" : "immediate"
    return strict == wide ? strict : "\(strict) by XCTest's scale, \(wide) by the Organizer's"
  }

  private func rounded(_ value: Double) -> String { String(format: "%.1f", value) }

  private func median(_ values: [Double]) -> Double { Percentile.nearestRank(values, 50) ?? 0 }

  private func unique(_ names: [String]) -> [String] {
    names.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// Names to the left, numbers to the right.
  private func align(_ lines: [[String]]) -> String {
    let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    return lines.map { line in
      line.enumerated().map { column, text in
        let room = String(repeating: " ", count: widths[column] - text.count)
        return column < 2 ? text + room : room + text
      }.joined(separator: "  ")
    }.joined(separator: "\n")
  }
}
