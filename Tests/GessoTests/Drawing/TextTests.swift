import Foundation
import Testing

@testable import Gesso

@Suite("Text")
struct TextTests {
  private let words = "The quick brown fox jumps over the lazy dog, and over it again"

  private func ink(_ bitmap: Bitmap) -> CGRect {
    var box = (left: Int.max, top: Int.max, right: -1, bottom: -1)
    for y in 0..<bitmap.height {
      for x in 0..<bitmap.width where pixel(bitmap, x, y) >> 24 > 40 {
        box = (min(box.left, x), min(box.top, y), max(box.right, x + 1), max(box.bottom, y + 1))
      }
    }
    guard box.right >= 0 else { return .zero }
    return CGRect(x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top)
  }

  private func drawn(
    _ text: Text, in rect: CGRect, size: CGSize = CGSize(width: 200, height: 100), scale: CGFloat = 1,
    alignment: Text.Alignment = .topLeading
  ) throws -> Bitmap {
    try Bitmap(size: size, scale: scale) { context, _ in context.draw(text, in: rect, alignment: alignment) }
  }

  @Test("grows with the font, the weight and the characters")
  func measuring() throws {
    let small = try Text(words, font: .system(10)).size()
    let large = try Text(words, font: .system(20)).size()
    #expect(abs(large.width / small.width - 2) < 0.01 && abs(large.height / small.height - 2) < 0.01)
    #expect(try Text(words, font: .system(10, weight: .bold)).size().width > small.width)
    #expect(try Text("", font: .system(10)).size().width == 0)
    #expect(try Text("", font: .system(10)).size().height > 0, "an empty line is as high as a line")
  }

  @Test("wraps within a width, at words if it can")
  func wrapping() throws {
    let text = Text(words, font: .system(12))
    let whole = try text.metrics()
    let wrapped = try text.metrics(fitting: CGSize(width: 120, height: 0))
    #expect(whole.lineCount == 1 && wrapped.lineCount > 2 && wrapped.size.width <= 120)
    #expect(abs(wrapped.size.height - whole.size.height * CGFloat(wrapped.lineCount)) < 1)
    #expect(wrapped.firstBaseline > 0 && wrapped.firstBaseline < whole.size.height)
    #expect(try Text("a\nb\nc", font: .system(12)).metrics().lineCount == 3)
  }

  @Test("ends with an ellipsis in its last line, paragraphs or not", arguments: [1, 2, 3])
  func truncating(_ lines: Int) throws {
    for string in [words + words, "one\ntwo\nthree\nfour\nfive", "one\r\ntwo\r\nthree\r\nfour"] {
      let metrics = try Text(string, font: .system(12)).lines(lines).metrics(fitting: CGSize(width: 100, height: 0))
      #expect(metrics.lineCount == lines && metrics.isTruncated && metrics.size.width <= 100, "\(string)")
    }
    let short = try Text("fits", font: .system(12)).lines(lines).metrics(fitting: CGSize(width: 100, height: 0))
    #expect(short.lineCount == 1 && !short.isTruncated)
    let ended = try Text("ended\n", font: .system(12)).lines(lines).metrics(fitting: CGSize(width: 100, height: 0))
    #expect(!ended.isTruncated && ended.lineCount == 1)
  }

  @Test("that is only clipped stays on its lines")
  func clipping() throws {
    let text = Text(words, font: .system(12)).lines(1, breaking: .byClipping)
    #expect(try text.metrics(fitting: CGSize(width: 50, height: 0)).lineCount == 1)
    let box = ink(try drawn(text, in: CGRect(x: 10, y: 10, width: 50, height: 20)))
    #expect(box.minX >= 10 && box.maxX <= 60 && box.width > 40)
  }

  @Test("stays inside of its rectangle's height")
  func bounds() throws {
    let box = ink(try drawn(Text(words + words, font: .system(12)), in: CGRect(x: 20, y: 30, width: 60, height: 33)))
    #expect(box.minX >= 19 && box.maxX <= 81 && box.minY >= 30 && box.maxY <= 63 && box.height > 20)
  }

  @Test("measures as it draws")
  func inkFits() throws {
    let text = Text("Hlg", font: .system(40))
    let size = try text.size()
    let box = ink(try drawn(text, in: CGRect(origin: CGPoint(x: 5, y: 5), size: size)))
    #expect(box.minX >= 4 && box.maxX <= 6 + size.width && box.minY >= 5 && box.maxY <= 5 + size.height)
    #expect(box.width > size.width * 0.8)
  }

  @Test("stands where its alignment says")
  func alignment() throws {
    let text = Text("x", font: .system(20))
    let rect = CGRect(x: 0, y: 0, width: 200, height: 100)
    func center(_ alignment: Text.Alignment) throws -> CGPoint {
      let box = ink(try drawn(text, in: rect, alignment: alignment))
      return CGPoint(x: box.midX, y: box.midY)
    }
    #expect(try center(.topLeading).x < 20 && center(.topLeading).y < 40)
    #expect(try abs(center(.center).x - 100) <= 1.5)
    #expect(try center(.topRight).x > 180 && center(.bottom).y > 70)
    #expect(try abs(center(.top).x - 100) <= 1.5 && center(.top).y < 40)
    let clipped = Text("x", font: .system(20)).lines(1, breaking: .byClipping)
    let box = ink(try drawn(clipped, in: rect, alignment: .right))
    #expect(box.maxX > 180)
  }

  @Test("has a colour for each run, and the context's alpha on top")
  func colors() throws {
    let text = Text("██", font: .system(20), color: .red) + Text("██", font: .system(20), color: .blue)
    let bitmap = try Bitmap(size: CGSize(width: 100, height: 30), scale: 1) { context, rect in
      context.setAlpha(0.5)
      context.draw(text, in: rect)
    }
    let box = ink(bitmap)
    let y = Int(box.midY)
    #expect(pixel(bitmap, Int(box.minX) + 3, y) == 0x8080_0000)
    #expect(pixel(bitmap, Int(box.maxX) - 4, y) == 0x8000_0080)
  }

  @Test("casts the context's shadow")
  func shadow() throws {
    let bitmap = try Bitmap(size: CGSize(width: 60, height: 80), scale: 1) { context, rect in
      context.setShadow(offset: CGSize(width: 0, height: 40), blur: 0, color: .green)
      context.draw(Text("█", font: .system(20), color: .red), in: rect)
    }
    let box = ink(bitmap)
    #expect(box.height > 55)
    #expect(pixel(bitmap, Int(box.midX), Int(box.maxY) - 4) == 0xFF00_FF00)
  }

  @Test("is as wide at every scale")
  func scales() throws {
    let boxes = try [1, 2, 4].map { scale in
      ink(
        try drawn(
          Text(words, font: .system(9)), in: CGRect(x: 0, y: 0, width: 400, height: 20),
          size: CGSize(width: 400, height: 20), scale: CGFloat(scale))
      ).width / CGFloat(scale)
    }
    #expect(abs(boxes[0] - boxes[2]) < 2.5 && abs(boxes[1] - boxes[2]) < 1.5)
  }

  @Test("takes any characters: other scripts, emoji, NUL, and none")
  func characters() throws {
    for string in ["שלום עולם", "こんにちは", "👩‍👩‍👧‍👦🎨", "a\u{0}b", "", "\u{202E}x", "e\u{301}", "\n\n"] {
      let text = Text(string, font: .system(14)).lines(2)
      let size = try text.size(fitting: CGSize(width: 100, height: 0))
      #expect(size.height > 0)
      _ = try drawn(text, in: CGRect(x: 0, y: 0, width: 100, height: 50))
    }
    #expect(try Text("a\u{0}b").size() == Text("ab").size())
    #expect(try Text(runs: []).size().width == 0)
  }

  @Test("with a font or bounds that cannot be is an error")
  func wrong() {
    for size in [0, -1, CGFloat.nan, 1e9] {
      #expect(throws: RasterError.invalidArgument) { try Text("x", font: .system(size)).size() }
    }
    #expect(throws: RasterError.invalidArgument) { try Text("x").size(fitting: CGSize(width: CGFloat.nan, height: 1)) }
    #expect(throws: RasterError.self) { try Text(String(repeating: "x", count: 2 << 20)).size() }
    #expect(throws: DrawError.self) { try drawn(Text("x"), in: CGRect(x: CGFloat.nan, y: 0, width: 1, height: 1)) }
  }

  @Test("that is too large to be laid out or drawn is an error, and not a wrong size")
  func tooLarge() throws {
    for string in [String(repeating: "\n", count: 20_000), String(repeating: "W", count: 1000)] {
      #expect(throws: RasterError.self) { try Text(string, font: .system(10_000)).size() }
    }
    #expect(throws: DrawError.self) {
      try drawn(Text("x", font: .system(10_000)), in: CGRect(x: 0, y: 0, width: 10, height: 10), scale: 100)
    }
    let runs = Array(repeating: Text.Run("x", font: .system(10)), count: 5000)
    #expect(throws: RasterError.self) { try Text(runs: runs).size() }
    let long = try Text(String(repeating: "W", count: 10_000), font: .system(13)).metrics()
    #expect(long.size.width > 100_000 && long.lineCount == 1)
  }

  @Test("takes no longer for what lines that are truncated leave out")
  func longText() throws {
    let long = Text(String(repeating: "a", count: 70_000), font: .system(13)).lines(2)
    let metrics = try long.metrics(fitting: CGSize(width: 100, height: 0))
    #expect(metrics.lineCount == 2 && metrics.isTruncated)
    let paragraphs = Text("A\u{2029}B\u{2029}C", font: .system(13)).lines(1)
    #expect(try paragraphs.metrics(fitting: CGSize(width: 100, height: 0)).isTruncated)
    let box = ink(try drawn(paragraphs, in: CGRect(x: 0, y: 0, width: 100, height: 80)))
    #expect(box.height < 16)
  }

  @Test("looks the same when it is drawn again, and another way when anything about it changes")
  func again() throws {
    let rect = CGRect(x: 2, y: 2, width: 90, height: 40)
    let text = Text("Gesso grounds", font: .system(14), color: .red).lines(2)
    let first = try drawn(text, in: rect)
    var others: [Text] = []
    for change in 0..<9 {
      var other = text
      switch change {
      case 0: other.runs[0].string = "Gesso ground."
      case 1: other.runs[0].font.size = 14.5
      case 2: other.runs[0].font.weight = .bold
      case 3: other.runs[0].color = .blue
      case 4: other.runs[0].isUnderlined = true
      case 5: other.runs[0].isStruckThrough = true
      case 6: other.numberOfLines = 1
      case 7: other.runs[0].font.family = "monospace"
      default: other.lineSpacing = 7
      }
      others.append(other)
    }
    for _ in 0..<2 {
      #expect(try drawn(text, in: rect).hasSamePixels(as: first))
      for other in others { #expect(try !drawn(other, in: rect).hasSamePixels(as: first), "\(other)") }
      #expect(try !drawn(text, in: rect, scale: 2).hasSamePixels(as: first))
      #expect(try !drawn(text, in: CGRect(x: 2, y: 2, width: 45, height: 40)).hasSamePixels(as: first))
      #expect(try !drawn(text, in: rect, alignment: .right).hasSamePixels(as: first))
    }
    let metrics = try (text.metrics(), text.metrics())
    #expect(metrics.0 == metrics.1)
  }

  @Test("is drawn on many threads at once, the same each time")
  func threads() async throws {
    let text = Text(words, font: .system(13)).lines(2)
    let expected = try drawn(text, in: CGRect(x: 0, y: 0, width: 150, height: 40))
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<16 {
        group.addTask { try drawn(text, in: CGRect(x: 0, y: 0, width: 150, height: 40)).hasSamePixels(as: expected) }
      }
      for try await same in group { #expect(same) }
    }
  }
}
