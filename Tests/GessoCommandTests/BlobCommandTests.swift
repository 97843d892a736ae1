import Foundation
import Gesso
import Testing

@Suite("gesso blob")
struct BlobCommandTests {
  /// A picture with areas, letters of its own and translucent pixels.
  private func picture() throws -> Bitmap {
    try Bitmap(size: CGSize(width: 120, height: 90), scale: 1, background: Color(white: 1, alpha: 0.5)) {
      context, rect in
      context.setFillColor(.blue)
      context.fillEllipse(in: rect.insetBy(dx: 20, dy: 10))
      context.draw(Text("Blob", font: .system(30)), in: rect)
    }
  }

  @Test("packs a picture and gives it back, at both levels")
  func roundTrip() throws {
    try withDirectory { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let png = folder + "/in.png"
      let bitmap = try picture()
      try bitmap.encoded(as: .png).write(to: URL(fileURLWithPath: png))
      for level in ["fast", "small"] {
        let packed = try gesso("blob", "pack", png, folder + "/out.gbl", "--level", level, "--scale", "2")
        #expect(packed.status == 0 && packed.output.contains("1 of 1 files"), "\(packed.errors)")
        let unpacked = try gesso("blob", "unpack", folder + "/out.gbl", folder + "/back/back.png")
        #expect(unpacked.status == 0)
        let back = try Bitmap(contentsOf: URL(fileURLWithPath: folder + "/back/back.png"))
        let original = try Bitmap(contentsOf: URL(fileURLWithPath: png))
        #expect(back.hasSamePixels(as: original))
      }
    }
  }

  @Test("goes on after files that fail, names them, and ends with 1")
  func failures() throws {
    try withDirectory { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      var blob = try picture().encoded(level: .fast)
      try blob.write(to: URL(fileURLWithPath: folder + "/good.gbl"))
      blob[blob.count / 2] ^= 1
      try blob.write(to: URL(fileURLWithPath: folder + "/damaged.gbl"))
      try Data().write(to: URL(fileURLWithPath: folder + "/empty.gbl"))
      let files = ["damaged", "empty", "missing", "good"].map { "\(folder)/\($0).gbl" }
      let verified = try gesso(["blob", "verify"] + files)
      #expect(verified.status == 1 && verified.output == "\(files[3]): good\n")
      for name in files[..<3] { #expect(verified.errors.contains(name)) }
      let unpacked = try gesso(["blob", "unpack"] + files + ["--out", folder + "/pictures"])
      #expect(unpacked.status == 1 && unpacked.output.contains("1 of 4 files"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/pictures") == ["good.png"])
    }
  }

  @Test("overwrites no picture by a blob, no blob by a picture, and neither itself nor what is no file")
  func overwriting() throws {
    try withDirectory { folder in
      try FileManager.default.createDirectory(atPath: folder + "/folder", withIntermediateDirectories: true)
      let png = try picture().encoded(as: .png), blob = try picture().encoded(level: .fast)
      for name in ["a.png", "b.png", "c"] { try png.write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
      for name in ["a.gbl", "b.gbl"] { try blob.write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
      #expect(mkfifo(folder + "/pipe", 0o600) == 0)
      let refused = [
        ("pack", "a.png", "b.png"), ("unpack", "a.gbl", "b.gbl"), ("pack", "c", "c"), ("pack", "a.png", "folder"),
        ("pack", "a.png", "pipe"),
      ]
      for (action, from, to) in refused {
        let run = try gesso("blob", action, "\(folder)/\(from)", "\(folder)/\(to)")
        #expect(run.status != 0 && run.errors.contains("\(folder)/\(to)"), "\(run.errors)")
      }
      func isKept(_ name: String, _ bytes: Data) throws -> Bool {
        try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")) == bytes
      }
      for name in ["a.png", "b.png", "c"] { #expect(try isKept(name, png)) }
      for name in ["a.gbl", "b.gbl"] { #expect(try isKept(name, blob)) }
    }
  }

  @Test("tells what a blob is, as text and for programs")
  func info() throws {
    try withDirectory { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/a.gbl"
      let blob = try picture().encoded(level: .fast)
      try blob.write(to: URL(fileURLWithPath: path))
      let text = try gesso("blob", "info", path)
      #expect(text.status == 0 && text.output.contains("120 × 90 pixels") && text.output.contains("masks"))
      let json = try gesso("blob", "info", path, "--json")
      let documents = try #require(
        JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]])
      #expect(documents.count == 1 && documents[0]["bytes"] as? Int == blob.count)
      #expect((documents[0]["bands"] as? [[String: Any]])?.first?["rowCount"] as? Int == 90)
    }
  }

  @Test(
    "ends with 2 when it makes no sense",
    arguments: [
      ([], "needs one of pack"), (["melt"], "\"melt\""), (["pack"], "needs a file"), (["pack", "a.png"], "IN and OUT"),
      (["pack", "a.png", "b.gbl", "--level", "tiny"], "--level tiny"),
      (["pack", "a", "b", "--scale", "0"], "--scale 0"),
      (["pack", "x/a.png", "y/a.png", "--out", "z"], "two files would be"),
      (["info", "a", "--fast"], "no option --fast"),
      (["pack", "a", "--out", ""], "--out needs a directory"),
    ] as [([String], String)])
  func usage(_ arguments: [String], _ message: String) throws {
    let run = try gesso(["blob"] + arguments)
    #expect(run.status == 2 && run.output.isEmpty && run.errors.contains(message), "\(run.errors)")
  }
}
