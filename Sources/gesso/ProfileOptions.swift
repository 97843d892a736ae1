import Foundation
import GessoScenes

/// What draws.
enum Raster: String, Encodable {
  /// Cairo alone: the cost that a program has which draws by a general library, and what the modes differ in.
  case cairo
  /// Gesso's kernels, and Cairo for what has none.
  case gesso
}

/// What `gesso profile` is to do.
struct ProfileOptions {
  static let help = """
    usage: gesso profile [OPTIONS]

    Scrolls lists by a scripted fling, down and up, and shows each frame in a framebuffer, by five ways of drawing:
      redraw        everything on screen is drawn in each frame
      traditional   each cell is drawn on the main thread when a row comes on screen
      cached        bitmaps are drawn in the background, and kept
      warm          the same scroll again
      restart       the first scroll of a program that is started again: nothing in memory, all on the disk

    Prints a table, and writes frames.json, trace.json (for ui.perfetto.dev) and pictures.

    options:
      --scene NAME,…      \(Scenes.names.joined(separator: ", ")); all by default
      --mode NAME,…       \(ScrollMode.allCases.map(\.rawValue).joined(separator: ", ")); all by default
      --hz 60|120         frames in a second; 120 by default
      --seconds S         of scrolling, for each scene and mode; 2.5 by default
      --viewport WxH@S    points, and pixels per point; 390x844@2 by default
      --packages FILE     the list that the scene packages shows; \(PackageList.systemPath) by default
      --raster NAME       what draws, in every mode: gesso (by default), which has kernels of its own, or
                          cairo
      --seed N            of the fling; 1 by default
      --out DIR           where files are written; profile by default
      --quick             a second of each, once
      --help              this
    """

  var scenes: [String]
  var modes: [ScrollMode]
  var hertz: Int
  var seconds: Double
  var viewport: Viewport
  var viewportText: String
  var packageList: String
  var raster: Raster
  var seed: UInt64
  var output: String
  var repeats: Int

  init(_ arguments: [String]) throws(UsageError) {
    let options = try Options(
      arguments, values: ["scene", "mode", "hz", "seconds", "viewport", "packages", "raster", "seed", "out"],
      flags: ["quick"], help: Self.help)
    let isQuick = options.has("quick")
    scenes = try options.names("scene", of: Scenes.names)
    let names = try options.names("mode", of: ScrollMode.allCases.map(\.rawValue))
    // Always in this order, whatever the order that they are named in.
    modes = ScrollMode.allCases.filter { names.contains($0.rawValue) }
    hertz = try options.value("hz", default: 120, expected: "60 or 120") {
      Int($0).flatMap { [60, 120].contains($0) ? $0 : nil }
    }
    seconds = try options.value("seconds", default: isQuick ? 1 : 2.5, expected: "a number from 0.1 to 3600") {
      Double($0).flatMap { (0.1...3600).contains($0) ? $0 : nil }
    }
    viewportText = options.string("viewport") ?? "390x844@2"
    viewport = try options.value(
      "viewport", default: Viewport(width: 390, height: 844, scale: 2),
      expected: "WIDTHxHEIGHT@SCALE, as 390x844@2, at most 16,000 pixels on a side", parse: Self.viewport)
    packageList = options.string("packages") ?? PackageList.systemPath
    raster = try options.value("raster", default: .gesso, expected: "cairo or gesso") { Raster(rawValue: $0) }
    seed = try options.value("seed", default: 1, expected: "a whole number, 0 or more") { UInt64($0) }
    output = options.string("out") ?? "profile"
    if output.isEmpty { throw UsageError("--out needs a directory", help: Self.help) }
    repeats = isQuick ? 1 : 2
  }

  private static func viewport(_ text: String) -> Viewport? {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    let sides = parts[0].split(separator: "x", omittingEmptySubsequences: false).map { Double($0) }
    let scale = parts.count == 1 ? 1 : parts.count == 2 ? Double(parts[1]) : nil
    guard sides.count == 2, let width = sides[0], let height = sides[1], let scale else { return nil }
    guard (0.1...16).contains(scale), width >= 30, height >= 30, width * scale <= 16000, height * scale <= 16000 else {
      return nil
    }
    return Viewport(width: width, height: height, scale: scale)
  }
}
