import Foundation
import Testing

@testable import Gesso
@testable import GessoScenes

@Suite("A row layout")
struct RowLayoutTests {
  @Test("finds the rows of a window as a look at every row does")
  func window() {
    var random = SplitMix(seed: 5)
    let heights = (0..<60).map { _ in (random.nextUnit() * 4).rounded() * 25 }
    let layout = RowLayout(heights: heights)
    for top in stride(from: -50.0, through: layout.contentHeight + 50, by: 12.5) {
      for height in [1.0, 30, 400] {
        let found = layout.rows(from: top, to: top + height)
        let expected = (0..<60).filter {
          layout.top(of: $0) < top + height && layout.top(of: $0) + layout.height(of: $0) > top
        }
        // Rows without height show nothing; they may be in the range, but only between others.
        #expect(found.filter { layout.height(of: $0) > 0 } == expected.filter { layout.height(of: $0) > 0 })
        #expect(found.count <= layout.mostRows(inWindow: height))
      }
    }
    #expect(layout.count == 60 && layout.contentHeight == heights.reduce(0, +))
    #expect(RowLayout(heights: []).rows(from: 0, to: 100).isEmpty)
  }
}

@Suite("A fling script")
struct FlingScriptTests {
  @Test("slows down by 0.998 a millisecond, and comes back up")
  func decay() {
    let script = FlingScript(seconds: 2.4, contentHeight: 1e6, viewportHeight: 800, seed: 3)
    let speeds = stride(from: 0.0, to: 0.5, by: 0.001).map { script.offset(at: $0 + 0.001) - script.offset(at: $0) }
    for (before, after) in zip(speeds, speeds.dropFirst()) { #expect(abs(after / before - 0.998) < 1e-6) }
    #expect(speeds[0] > 1.9 && speeds[0] < 6)
    let deepest = stride(from: 0.0, through: 2.4, by: 0.01).map(script.offset).max()!
    #expect(script.offset(at: 1.2) > 0.99 * deepest && script.offset(at: 2.4) < deepest / 2)
    #expect(script.offset(at: 99) == script.offset(at: 2.4) && script.offset(at: -1) == 0)
  }

  @Test("stays within the list, and is the same for the same seed")
  func bounds() {
    let short = FlingScript(seconds: 3, contentHeight: 1000, viewportHeight: 800, seed: 1)
    for time in stride(from: 0.0, through: 3, by: 0.01) { #expect((0...200).contains(short.offset(at: time))) }
    let tiny = FlingScript(seconds: 3, contentHeight: 100, viewportHeight: 800, seed: 1)
    #expect(tiny.offset(at: 1) == 0)
    func offsets(_ seed: UInt64) -> [Double] {
      let script = FlingScript(seconds: 2, contentHeight: 1e5, viewportHeight: 800, seed: seed)
      return stride(from: 0.0, through: 2, by: 0.1).map(script.offset)
    }
    #expect(offsets(1) == offsets(1) && offsets(1) != offsets(2))
  }
}

@Suite("A package list")
struct PackageListTests {
  @Test("lists what is installed, with its fields")
  func parsing() {
    let packages = PackageList.parse(
      """
      Package: first
      Status: install ok installed
      Section: contrib/net
      Architecture: amd64
      Version: 1:2.3-4
      Conffiles:
       /etc/first abc
      Description: does this: and that
       A long story.
       .
       Package: not-this

      Package: removed
      Status: deinstall ok config-files
      Version: 1

      Status: install ok installed
      Version: no name

      garbage without a colon
      Package: last
      Status: hold ok installed
      """)
    #expect(packages.map(\.name) == ["first", "last"])
    #expect(packages[0].version == "1:2.3-4" && packages[0].section == "net" && packages[0].architecture == "amd64")
    #expect(packages[0].description == "does this: and that" && packages[1].description.isEmpty)
    #expect(PackageList.parse("").isEmpty && PackageList.parse("\n\n\n:\n: \n").isEmpty)
  }

  @Test("is an error without packages, or without a file")
  func errors() throws {
    #expect(throws: SceneError.noPackages(path: "/dev/null")) { try PackageList(contentsOf: "/dev/null") }
    #expect(throws: SceneError.cannotRead("/nowhere: cannot open: No such file or directory")) {
      try PackageList(contentsOf: "/nowhere")
    }
    #expect(throws: SceneError.unknown(name: "squares")) {
      try Scenes.make("squares", width: 100, scale: 1, packageList: "")
    }
  }
}

@MainActor
@Suite("A scene", .serialized)
struct SceneTests {
  private static func packages() throws -> PackagesScene {
    let text = (0..<60).map { index in
      let description = String(repeating: "words that fill ", count: index % 7 + 1)
      return "Package: package-\(index)\nStatus: install ok installed\nVersion: \(index)\nSection: s\(index % 5)\n"
        + "Description: \(index % 9 == 0 ? "" : description)\n"
    }.joined(separator: "\n")
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("gesso-packages-\(UUID().uuidString)")
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    return PackagesScene(try PackageList(contentsOf: file.path), width: 300, scale: 1)
  }

  private static func scenes() throws -> [any Scene] {
    [try CirclesScene(width: 300, scale: 1), try packages()]
  }

  private let viewport = Viewport(width: 300, height: 420, scale: 1)

  private func runner(_ scene: any Scene, _ mode: ScrollMode, seconds: Double = 0.3) throws -> SceneRunner {
    try SceneRunner(
      scene: scene, mode: mode, viewport: viewport,
      script: FlingScript(
        seconds: seconds, contentHeight: scene.rows.contentHeight, viewportHeight: viewport.height, seed: 2))
  }

  @Test("shows the same pictures in every mode, byte for byte")
  func samePictures() throws {
    for scene in try Self.scenes() {
      let runners = try ScrollMode.allCases.map { try runner(scene, $0) }
      for time in [0, 0.07, 0.15, 0.23] {
        let pictures = try runners.map { try $0.picture(at: time) }
        for picture in pictures.dropFirst() {
          #expect(picture.hasSamePixels(as: pictures[0]), "\(scene.name) at \(time)")
        }
      }
      let first = try runners[0].picture(at: 0)
      #expect(try !runners[0].picture(at: 0.15).hasSamePixels(as: first), "it scrolls")
    }
  }

  @Test("shows the same pictures in every mode at scales that are not whole", arguments: [1.25, 1.5, 2.625])
  func fractionalScales(_ scale: Double) throws {
    let viewport = Viewport(width: 303, height: 410, scale: scale)
    let list = "Package: a\nStatus: install ok installed\nDescription: some words\n\n"
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("gesso-packages-\(UUID().uuidString)")
    try Data(String(repeating: list, count: 20).utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    for name in Scenes.names {
      let scene = try Scenes.make(name, width: 303, scale: CGFloat(scale), packageList: file.path)
      let script = FlingScript(
        seconds: 0.3, contentHeight: scene.rows.contentHeight, viewportHeight: viewport.height, seed: 2)
      let pictures = try ScrollMode.allCases.map {
        try SceneRunner(scene: scene, mode: $0, viewport: viewport, script: script).picture(at: 0.1)
      }
      for picture in pictures.dropFirst() { #expect(picture.hasSamePixels(as: pictures[0]), "\(name)") }
    }
  }

  @Test("draws each view once when cached, none when warm or started again, and makes no cell while it scrolls")
  func counts() throws {
    for scene in try Self.scenes() {
      let cached = try runner(scene, .cached)
      let counters = try cached.run(hertz: 120).counters
      _ = try cached.picture(at: 0.15)
      var views = Set<BitmapKey>()
      for row in 0..<scene.rows.count { views.formUnion(scene.views(inRow: row).map(\.request.cacheKey)) }
      let draws = try #require(counters["draws"])
      let created = try #require(counters["bitmaps_created"])
      // The icon has copies that are made smaller, which are remembered.
      #expect(draws > 0 && draws <= Double(views.count) && created >= draws && created <= draws + 4)
      #expect(counters["cells_made"] == 0 && counters["failures"] == 0)

      let warm = try runner(scene, .warm).run(hertz: 120).counters
      #expect(warm["draws"] == 0 && warm["bitmaps_created"] == 0 && warm["blank_area_percent"] == 0)
      #expect(warm["cells_made"] == 0 && warm["memory_hits"]! > 0)

      let restart = try runner(scene, .restart).run(hertz: 120).counters
      #expect(restart["draws"] == 0 && restart["failures"] == 0 && restart["cells_made"] == 0)
      #expect(restart["disk_hits"]! > 0)

      let traditional = try runner(scene, .traditional).run(hertz: 120).counters
      #expect(traditional["draws"]! > 0 && traditional["bitmaps_created"]! >= traditional["draws"]!)
    }
  }

  @Test("of packages has rows of whole points, higher for longer descriptions")
  func rowHeights() throws {
    let rows = try Self.packages().rows
    let heights = Set((0..<rows.count).map(rows.height))
    #expect(heights.count >= 2 && heights.allSatisfy { $0 == $0.rounded() })
  }

  @Test("of circles has the classic sample's views")
  func classic() throws {
    let scene = try CirclesScene(width: 320, scale: 1)
    #expect(scene.rows.count == 200 && scene.rows.contentHeight == 20_000)
    let views = scene.views(inRow: 100)
    #expect(views.map(\.frame.width) == [107, 107, 107] && views.map(\.frame.minX) == [0, 106, 213])
    #expect(CirclesScene.color(row: 0, column: 0) == .black)
    let color = CirclesScene.color(row: 19, column: 1)
    #expect(abs(color.red - 0.2) < 1e-12 && abs(color.green - 0.15) < 1e-12)
    #expect(CirclesScene.color(row: 199, column: 2).red == 1, "clamped")
    let cell = try views[1].request.makeBitmap()
    #expect(cell.width == 107 && cell.height == 100 && pixel(cell, 0, 0) == 0xFFAA_AAAA)
    // The ring at the top of the circle is white; the shadow at its bottom edge is not.
    #expect(pixel(cell, 53, 3) & 255 > 240)
    #expect(pixel(cell, 53, 98) & 255 < 130)
  }

  private func pixel(_ bitmap: Bitmap, _ x: Int, _ y: Int) -> UInt32 {
    bitmap.withPixels { $0.load(fromByteOffset: y * bitmap.bytesPerRow + 4 * x, as: UInt32.self) }
  }
}
