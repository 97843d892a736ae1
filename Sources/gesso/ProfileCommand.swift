import Foundation
import Gesso
import GessoScenes

/// `gesso profile`.
@MainActor
struct ProfileCommand {
  private let options: ProfileOptions
  private let writer: DiskWriter
  private let trace = Trace()
  private var runs: [ProfileRun] = []
  private var written: [SavedFile] = []

  static func run(_ arguments: [String]) async throws {
    if arguments.contains("--help") || arguments.contains("-h") { return print(ProfileOptions.help) }
    var command = ProfileCommand(try ProfileOptions(arguments))
    try await command.run()
  }

  private init(_ options: ProfileOptions) {
    self.options = options
    let output = URL(fileURLWithPath: options.output, isDirectory: true)
    writer = DiskWriter(directories: StorageDirectories(cache: output, temporary: output, documents: output))
  }

  private mutating func run() async throws {
    // Read by the core when it draws for the first time.
    setenv("GESSO_RASTER", options.raster.rawValue, 1)
    let viewport = options.viewport
    let scenes = try options.scenes.map {
      try Scenes.make(
        $0, width: CGFloat(viewport.width), scale: CGFloat(viewport.scale), packageList: options.packageList)
    }
    var pictures = PictureCheck()
    let total = options.repeats * scenes.count * options.modes.count
    var done = 0
    for turn in 1...options.repeats {
      for scene in scenes {
        let script = FlingScript(
          seconds: options.seconds, contentHeight: scene.rows.contentHeight, viewportHeight: viewport.height,
          seed: options.seed)
        for mode in options.modes {
          done += 1
          Console.progress("\(done) of \(total): \(scene.name), \(mode.rawValue)")
          let runner = try SceneRunner(scene: scene, mode: mode, viewport: viewport, script: script, trace: trace)
          runs.append(ProfileRun(turn: turn, run: try runner.run(hertz: Double(options.hertz))))
          if turn == 1 { try await save(&pictures, of: runner, scene: scene.name, mode: mode) }
        }
      }
    }
    Console.progress("")
    print(ProfileTable(runs: runs, raster: options.raster).text)
    print(pictures.summary)
    try await write(ProfileDocument(options: options, runs: runs).json(), named: "frames.json")
    try await write(trace.json(), named: "trace.json")
    await writer.barrier(.documents)
    print("\(written.count) files in \(options.output): frames.json, trace.json (for ui.perfetto.dev) and pictures")
    if let mismatch = pictures.mismatches.first { throw ProfileFailure(mismatch) }
  }

  /// Pictures of the beginning, of the deepest place, and of a quarter of the way.
  private mutating func save(
    _ pictures: inout PictureCheck, of runner: SceneRunner, scene: String, mode: ScrollMode
  ) async throws {
    for (index, part) in [0, 0.25, 0.5].enumerated() {
      let picture = try runner.picture(at: options.seconds * part)
      pictures.add(picture, scene: scene, mode: mode, index: index)
      written.append(
        try await writer.write(picture, as: .png, to: .documents, named: "\(scene)-\(mode.rawValue)-\(index).png"))
    }
  }

  private mutating func write(_ data: Data, named name: String) async throws {
    written.append(try await writer.write(data, to: .documents, named: name))
  }
}

/// A profile that came to an end, and found something wrong.
struct ProfileFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// One scroll of a scene.
struct ProfileRun {
  /// Which of the repeats, from 1.
  let turn: Int
  let run: SceneRun
}

/// Compares the pictures of all modes at the same place.
struct PictureCheck {
  private var first: [String: (mode: ScrollMode, picture: Bitmap)] = [:]
  private var compared = 0
  private(set) var mismatches: [String] = []

  mutating func add(_ picture: Bitmap, scene: String, mode: ScrollMode, index: Int) {
    guard let other = first["\(scene)-\(index)"] else {
      first["\(scene)-\(index)"] = (mode, picture)
      return
    }
    compared += 1
    if !picture.hasSamePixels(as: other.picture) {
      mismatches.append(
        "the picture \(scene)-\(mode.rawValue)-\(index) differs from \(scene)-\(other.mode.rawValue)-\(index)")
    }
  }

  var summary: String {
    compared == 0
      ? "pictures of one mode only: nothing to compare"
      : mismatches.isEmpty
        ? "pictures: \(compared) compared between modes, all equal byte for byte"
        : mismatches.joined(separator: "\n")
  }
}
