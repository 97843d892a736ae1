import Foundation
import Testing

@testable import Gesso

/// A picture whose corners differ, so that each turn of it looks another way: red, green / blue, white.
private func corners(width: Int = 40, height: Int = 20, background: Color = .white) throws -> Bitmap {
  try Bitmap(size: CGSize(width: width, height: height), scale: 1, background: background) { context, rect in
    for (index, color) in [Color.red, .green, .blue].enumerated() {
      context.setFillColor(color)
      context.fill(
        CGRect(
          x: index % 2 * width / 2, y: index / 2 * height / 2, width: width / 2, height: height / 2))
    }
  }
}

/// Puts an EXIF block with an orientation behind the first marker of a JPEG.
private func withOrientation(_ orientation: UInt8, _ jpeg: Data) -> Data {
  let tiff: [UInt8] = [
    0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0,
  ]
  let exif = Array("Exif".utf8) + [0, 0] + tiff
  let length = exif.count + 2
  return jpeg.prefix(2) + Data([0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + exif) + jpeg.dropFirst(2)
}

/// The colour in the middle of a quarter, as one of the four names.
private func corner(_ bitmap: Bitmap, right: Bool, bottom: Bool) -> String {
  let word = pixel(bitmap, bitmap.width * (right ? 3 : 1) / 4, bitmap.height * (bottom ? 3 : 1) / 4)
  switch (word >> 16 & 255 > 128, word >> 8 & 255 > 128, word & 255 > 128) {
  case (true, false, false): return "red"
  case (false, true, false): return "green"
  case (false, false, true): return "blue"
  case (true, true, true): return "white"
  default: return "\(String(word, radix: 16))"
  }
}

private func layout(_ bitmap: Bitmap) -> [String] {
  [(false, false), (true, false), (false, true), (true, true)].map { corner(bitmap, right: $0.0, bottom: $0.1) }
}

/// A progressive JPEG of 16 × 16 pixels, and where its height and width stand.
private let progressive = Data(
  base64Encoded:
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19i"
    + "Z2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2Nj"
    + "Y2NjY2NjY2P/wgARCAAQABADASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAgAD/8QAFAEBAAAAAAAAAAAAAAAAAAAABP/a"
    + "AAwDAQACEAMQAAABxMiu/8QAFhABAQEAAAAAAAAAAAAAAAAAMQAQ/9oACAEBAAEFAnW//8QAFhEAAwAAAAAAAAAAAAAAAAAAADJx"
    + "/9oACAEDAQE/AVh//8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAgBAgEBPwF//8QAFBABAAAAAAAAAAAAAAAAAAAAIP/aAAgBAQAG"
    + "PwIf/8QAFxAAAwEAAAAAAAAAAAAAAAAAAKGxEP/aAAgBAQABPyFrrU//2gAMAwEAAgADAAAAEGf/xAAZEQABBQAAAAAAAAAAAAAA"
    + "AAAxUXGx4fD/2gAIAQMBAT8QwlQw/8QAFREBAQAAAAAAAAAAAAAAAAAAADH/2gAIAQIBAT8Qj//EABcQAQEBAQAAAAAAAAAAAAAA"
    + "ALHwMRD/2gAIAQEAAT8QmavJmr//2Q==")!
private let progressiveSize = 158 + 5

@Suite("An image file")
struct ImageFileTests {
  @Test("comes back exactly from the lossless formats", arguments: [ImageFormat.png, .webp()])
  func lossless(_ format: ImageFormat) throws {
    let picture = try Bitmap(size: CGSize(width: 61, height: 33), scale: 1) { context, rect in
      context.setFillColor(Color(red: 0.9, green: 0.3, blue: 0.1, alpha: 0.7))
      context.fillEllipse(in: rect)
    }
    #expect(try Bitmap(image: picture.encoded(as: format)).hasSamePixels(as: picture))
    let opaque = try corners()
    let copy = try Bitmap(image: opaque.encoded(as: format))
    #expect(copy.isOpaque && copy.hasSamePixels(as: opaque))
  }

  @Test(
    "comes back nearly from the lossy formats", arguments: [ImageFormat.jpeg(), .jpeg(quality: 1), .webp(quality: 0.8)])
  func lossy(_ format: ImageFormat) throws {
    let copy = try Bitmap(image: corners().encoded(as: format))
    #expect(copy.width == 40 && copy.height == 20 && copy.isOpaque)
    #expect(layout(copy) == ["red", "green", "blue", "white"])
  }

  @Test("of better quality is larger")
  func quality() throws {
    let picture = try Bitmap(size: CGSize(width: 200, height: 200), scale: 1, background: .white) { context, rect in
      context.draw(
        Text(String(repeating: "Quality is size. ", count: 40), font: .system(13)), in: rect)
    }
    let sizes = try [0, 0.3, 0.8, 1].map { try picture.encoded(as: .jpeg(quality: $0)).count }
    #expect(sizes == sizes.sorted() && Set(sizes).count == 4)
  }

  @Test(
    "of a quality that cannot be is an error",
    arguments: [ImageFormat.jpeg(quality: 1.1), .jpeg(quality: .nan), .webp(quality: -0.1)])
  func wrongQuality(_ format: ImageFormat) throws {
    #expect(throws: ImageFileError.self) { try corners().encoded(as: format) }
  }

  @Test("with transparency is put on white as JPEG")
  func flattened() throws {
    let copy = try Bitmap(image: solid(.clear, width: 16, height: 16).encoded(as: .jpeg()))
    #expect(pixel(copy, 8, 8) == 0xFFFF_FFFF)
  }

  @Test(
    "is turned upright by its orientation",
    arguments: [
      (1, ["red", "green", "blue", "white"]), (2, ["green", "red", "white", "blue"]),
      (3, ["white", "blue", "green", "red"]), (4, ["blue", "white", "red", "green"]),
      (5, ["red", "blue", "green", "white"]), (6, ["blue", "red", "white", "green"]),
      (7, ["white", "green", "blue", "red"]), (8, ["green", "white", "red", "blue"]),
    ] as [(UInt8, [String])])
  func orientation(_ value: UInt8, _ expected: [String]) throws {
    let jpeg = withOrientation(value, try corners().encoded(as: .jpeg(quality: 0.95)))
    let upright = try Bitmap(image: jpeg)
    #expect(layout(upright) == expected)
    #expect(upright.width == (value >= 5 ? 20 : 40))
    let asStored = try Bitmap(image: jpeg, options: ImageOptions(appliesOrientation: false))
    #expect(layout(asStored) == ["red", "green", "blue", "white"])
    let small = try Bitmap(image: jpeg, options: ImageOptions(fitting: CGSize(width: 10, height: 10)))
    #expect(layout(small) == expected)
    #expect(small.width == (value >= 5 ? 5 : 10) && small.height == (value >= 5 ? 10 : 5))
  }

  @Test(
    "is fitted into a target, in its proportions, and never made larger",
    arguments: [ImageFormat.png, .jpeg(), .webp(), .webp(quality: 0.9)])
  func fitting(_ format: ImageFormat) throws {
    let data = try corners(width: 400, height: 200).encoded(as: format)
    let small = try Bitmap(image: data, options: ImageOptions(fitting: CGSize(width: 90, height: 90), scale: 2))
    #expect(small.width == 90 && small.height == 45 && small.scale == 2)
    #expect(layout(small) == ["red", "green", "blue", "white"])
    let narrow = try Bitmap(image: data, options: ImageOptions(fitting: CGSize(width: 1000, height: 7)))
    #expect(narrow.width == 14 && narrow.height == 7)
    let large = try Bitmap(image: data, options: ImageOptions(fitting: CGSize(width: 4000, height: 4000)))
    #expect(large.width == 400 && large.height == 200)
  }

  @Test("over the limit of bytes is refused before it is decoded", arguments: [ImageFormat.png, .jpeg(), .webp()])
  func limit(_ format: ImageFormat) throws {
    let data = try corners(width: 100, height: 100).encoded(as: format)
    #expect(throws: ImageFileError.overLimit(source: "\(data.count) bytes")) {
      try Bitmap(image: data, options: ImageOptions(maximumByteCount: 39_999))
    }
    #expect(try Bitmap(image: data, options: ImageOptions(maximumByteCount: 40_000)).width == 100)
  }

  @Test(
    "that is cut off is an error, wherever it is cut",
    arguments: [ImageFormat.png, .jpeg(), .webp(), .webp(quality: 0.7)])
  func truncated(_ format: ImageFormat) throws {
    let data = try corners().encoded(as: format)
    // The last bytes are end marks without content.
    for count in 0..<(data.count - 4) {
      #expect(throws: ImageFileError.self, "cut after \(count) of \(data.count)") {
        try Bitmap(image: data.prefix(count))
      }
    }
  }

  @Test(
    "with changed bytes is decoded or refused, and never crashes",
    arguments: [ImageFormat.png, .jpeg(), .webp(), .webp(quality: 0.7)])
  func mutated(_ format: ImageFormat) throws {
    let data = try corners(width: 24, height: 24).encoded(as: format)
    var random = SeededGenerator(state: 7)
    for _ in 0..<3000 {
      var damaged = data
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      _ = try? Bitmap(image: damaged, options: ImageOptions(maximumByteCount: 1 << 20))
    }
  }

  @Test("that claims to be huge does not get the memory for it, however small the target")
  func claims() throws {
    #expect(try Bitmap(image: progressive).width == 16)
    var huge = progressive
    for (offset, byte) in [0xFF, 0xDC, 0xFF, 0xDC].enumerated() { huge[progressiveSize + offset] = UInt8(byte) }
    let options = ImageOptions(fitting: CGSize(width: 100, height: 100), maximumByteCount: 64 << 20)
    #expect(throws: ImageFileError.overLimit(source: "\(huge.count) bytes")) {
      try Bitmap(image: huge, options: options)
    }
  }

  @Test("that is cut off in its header is cut off, not damaged")
  func truncatedHeader() throws {
    let data = try corners().encoded(as: .jpeg())
    for count in [40, 200, data.count / 2] {
      #expect(throws: ImageFileError.truncated(source: "\(count) bytes")) { try Bitmap(image: data.prefix(count)) }
    }
  }

  @Test("of another kind, or none, is an error that names it")
  func unknown() async throws {
    #expect(throws: ImageFileError.notAnImage(source: "5 bytes")) { try Bitmap(image: Data("hello".utf8)) }
    #expect(throws: ImageFileError.notAnImage(source: "0 bytes")) { try Bitmap(image: Data()) }
    let missing = URL(fileURLWithPath: "/nowhere/picture.png")
    #expect(throws: ImageFileError.cannotRead(path: "/nowhere/picture.png", reason: "No such file or directory")) {
      try Bitmap(contentsOf: missing)
    }
    await #expect(throws: ImageFileError.cannotRead(path: "/tmp", reason: "Is a directory")) {
      try await Bitmap.load(contentsOf: URL(fileURLWithPath: "/tmp"))
    }
  }

  @Test("is loaded on another thread")
  func loading() async throws {
    try await withTemporaryDirectory { directory in
      let file = directory.appendingPathComponent("corners.png")
      try corners().encoded(as: .png).write(to: file)
      let picture = try await Bitmap.load(contentsOf: file, options: ImageOptions(scale: 2))
      #expect(layout(picture) == ["red", "green", "blue", "white"] && picture.size.width == 20)
    }
  }

  @Test("with a target or scale that cannot be is an error")
  func wrongOptions() throws {
    let data = try corners().encoded(as: .png)
    for options in [
      ImageOptions(fitting: .zero), ImageOptions(fitting: CGSize(width: CGFloat.nan, height: 5)),
      ImageOptions(scale: 0), ImageOptions(scale: .nan),
    ] {
      #expect(throws: ImageFileError.self) { try Bitmap(image: data, options: options) }
    }
  }
}
