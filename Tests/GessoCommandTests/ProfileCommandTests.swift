import Foundation
import Gesso
import Testing

@Suite("The command line")
struct CommandLineTests {
  @Test(
    "ends with 2 and says what is wrong when it makes no sense",
    arguments: [
      ([], "a command is needed"), (["paint"], "there is no command \"paint\""),
      (["profile", "--hz", "0"], "--hz 0: expected 60 or 120"), (["profile", "--hz", "fast"], "--hz fast"),
      (["profile", "--scene", "squares"], "--scene squares: there are circles, packages"),
      (["profile", "--mode", "cached,magic"], "--mode magic"), (["profile", "--scene", ","], "at least one of"),
      (["profile", "--seconds", "0"], "--seconds 0"), (["profile", "--seconds", "nan"], "--seconds nan"),
      (["profile", "--seconds", "1e9"], "--seconds 1e9"), (["profile", "--viewport", "0x844@2"], "--viewport 0x844@2"),
      (["profile", "--viewport", "390x844@0"], "--viewport"), (["profile", "--viewport", "390"], "--viewport 390"),
      (["profile", "--viewport", "1e9x1e9@2"], "--viewport"), (["profile", "--viewport", "nanx5@2"], "--viewport"),
      (["profile", "--raster", "skia"], "--raster skia"), (["profile", "--seed", "-1"], "--seed -1"),
      (["profile", "--out"], "--out needs a value"),
      (["profile", "--out", ""], "--out needs a directory"), (["profile", "--fast"], "there is no option --fast"),
      (["profile", "quick"], "\"quick\" is not an option"),
    ] as [([String], String)])
  func usage(_ arguments: [String], _ message: String) throws {
    let run: Run
    switch arguments.count {
    case 0: run = try gesso()
    case 1: run = try gesso(arguments[0])
    case 2: run = try gesso(arguments[0], arguments[1])
    default: run = try gesso(arguments[0], arguments[1], arguments[2])
    }
    #expect(run.status == 2 && run.output.isEmpty)
    #expect(run.errors.contains(message) && run.errors.contains("usage: gesso"), "\(run.errors)")
  }

  @Test("helps, and tells its version")
  func help() throws {
    for arguments in [["--help", ""], ["profile", "--help"]] {
      let run = try gesso(arguments[0], arguments[1])
      #expect(run.status == 0 && run.output.contains("usage: gesso") && run.errors.isEmpty)
    }
    #expect(try gesso("version", "").output == "gesso \(gessoVersion)\n")
  }
}

@Suite("gesso profile", .serialized)
struct ProfileCommandTests {
  @Test("writes frames, a trace and pictures, and compares the pictures")
  func profile() throws {
    try withDirectory { directory in
      let run = try gesso(
        "profile", "--scene", "circles", "--seconds", "0.4", "--viewport", "300x400@1", "--hz", "60", "--out", directory
      )
      #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
      #expect(run.output.contains("pictures: 12 compared between modes, all equal byte for byte"))
      let names = try FileManager.default.contentsOfDirectory(atPath: directory)
      #expect(names.count == 17 && !names.contains { $0.hasSuffix(".tmp") })
      let picture = try Bitmap(contentsOf: URL(fileURLWithPath: directory + "/circles-warm-2.png"))
      #expect(picture.width == 300 && picture.height == 400)

      let frames = try #require(
        try JSONSerialization.jsonObject(with: FileBytes.read(directory + "/frames.json")) as? [String: Any])
      let runs = try #require(frames["runs"] as? [[String: Any]])
      #expect(
        runs.map { $0["mode"] as? String } == [
          "redraw", "traditional", "cached", "warm", "restart", "redraw", "traditional", "cached", "warm", "restart",
        ])
      for run in runs {
        let metrics = try #require(run["metrics"] as? [String: Double])
        let samples = try #require(run["frames"] as? [[String: Any]])
        #expect(metrics["frames"] == Double(samples.filter { $0["idle"] as? Bool == false }.count))
        #expect(metrics["display_cpu_p99_ms"] != nil && run["hz"] as? Int == 60)
        let stages = try #require(samples[0]["stages"] as? [String: Double])
        #expect(stages["display"] != nil && stages["composite"] != nil)
      }
      let trace = try #require(
        try JSONSerialization.jsonObject(with: FileBytes.read(directory + "/trace.json")) as? [String: Any])
      let events = try #require(trace["traceEvents"] as? [[String: Any]])
      for category in ["frame", "stage", "draw"] { #expect(events.contains { $0["cat"] as? String == category }) }
    }
  }

  @Test("shows the list that it is given")
  func packages() throws {
    try withDirectory { directory in
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      let list = directory + "/status"
      try Data("Package: only\nStatus: install ok installed\nDescription: one\n".utf8).write(
        to: URL(fileURLWithPath: list))
      let run = try gesso(
        "profile", "--scene=packages", "--mode=cached", "--seconds=0.2", "--packages=\(list)", "--out=\(directory)",
        "--quick")
      #expect(run.status == 0, "\(run.errors)")
      #expect(run.output.contains("packages"))
    }
  }

  @Test("ends with 1 and names the file when a list is empty, missing or a directory")
  func badLists() throws {
    for (path, reason) in [
      ("/dev/null", "no installed package"), ("/nowhere/status", "No such file"), ("/tmp", "Is a directory"),
    ] {
      let run = try gesso("profile", "--scene", "packages", "--packages", path, "--quick")
      #expect(run.status == 1 && run.errors.contains(path) && run.errors.contains(reason), "\(run.errors)")
    }
  }

  @Test(
    "ends with 1 and says so when the system has no font",
    arguments: ["redraw", "traditional", "cached", "warm", "restart"])
  func noFonts(_ mode: String) throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("gesso-fonts-\(UUID().uuidString).conf")
    try Data("<?xml version=\"1.0\"?><fontconfig></fontconfig>".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    try withDirectory { directory in
      let run = try gesso(
        "profile", "--scene", "packages", "--mode", mode, "--seconds", "0.2", "--quick", "--out", directory,
        environment: ["FONTCONFIG_FILE": file.path])
      #expect(run.status == 1 && run.errors.contains("no font"), "\(run.errors)")
    }
  }

  @Test(
    "ends with 1 and leaves no part of a file when the disk is full",
    .enabled(if: geteuid() == 0, "mounting needs root"))
  func fullDisk() throws {
    try withDirectory { directory in
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      #expect(try shell("mount -t tmpfs -o size=100k tmpfs '\(directory)'") == 0)
      let run = try gesso(
        "profile", "--scene", "circles", "--mode", "cached", "--seconds", "0.2", "--quick", "--out", directory + "/out")
      #expect(run.status == 1 && run.errors.contains("No space left on device"), "\(run.errors)")
      let names = try FileManager.default.contentsOfDirectory(atPath: directory + "/out")
      #expect(names.filter { !$0.hasSuffix(".png") }.isEmpty)
      for name in names { _ = try Bitmap(contentsOf: URL(fileURLWithPath: directory + "/out/" + name)) }
      #expect(try shell("umount '\(directory)'") == 0)
    }
  }

  private func shell(_ command: String) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }

  @Test("ends with 1 and names the directory when it cannot write there")
  func unwritable() throws {
    let run = try gesso(
      "profile", "--scene", "circles", "--mode", "cached", "--seconds", "0.1", "--out", "/dev/null/here")
    #expect(
      run.status == 1 && run.errors.contains("/dev/null/here") && run.errors.contains("Not a directory"),
      "\(run.errors)")
  }
}
