import Foundation
import Testing

@testable import Gesso

@Suite("Text's glyphs")
struct TextRasterTests {
  private static let letters = Array("agQ8&fWß§")
  private let words = "Sphinx of black quartz, judge my vow"

  private func drawn(
    _ text: Text, byCairo: Bool, at origin: CGPoint = CGPoint(x: 8, y: 6), scale: CGFloat = 1
  ) throws -> Bitmap {
    try Bitmap(size: CGSize(width: 320, height: 60), scale: scale) { context, _ in
      // What is drawn in a layer is Cairo's.
      if byCairo { context.beginTransparencyLayer() }
      context.draw(text, in: CGRect(x: origin.x, y: origin.y, width: 300, height: 50))
      if byCairo { context.endTransparencyLayer() }
    }
  }

  private func alphas(_ bitmap: Bitmap) -> [Double] {
    (0..<bitmap.height).flatMap { y in (0..<bitmap.width).map { Double(pixel(bitmap, $0, y) >> 24) } }
  }

  @Test("are Cairo's, to the last bit, where Cairo would put them", arguments: letters, [1, 2.5])
  func singleLetters(_ letter: Character, scale: CGFloat) throws {
    for font in [Font.system(17), .system(40), .system(13, weight: .bold)] {
      let text = Text(String(letter), font: font, color: .red)
      let theirs = try drawn(text, byCairo: true, scale: scale)
      #expect(
        try drawn(text, byCairo: false, scale: scale).hasSamePixels(as: theirs), "\(letter) in \(font) at \(scale)")
    }
  }

  @Test("stand within half a pixel of Cairo's, which are at whole ones")
  func lines() throws {
    for size in [11.0, 14, 23] {
      let text = Text(words, font: .system(size))
      let (ours, cairos) = (alphas(try drawn(text, byCairo: false)), alphas(try drawn(text, byCairo: true)))
      let (mine, theirs) = (ours.reduce(0, +), cairos.reduce(0, +))
      #expect(abs(mine / theirs - 1) < 0.02)
      func centre(_ alphas: [Double], _ sum: Double) -> Double {
        alphas.enumerated().reduce(0) { $0 + Double($1.offset % 320) * $1.element } / sum
      }
      #expect(abs(centre(ours, mine) - centre(cairos, theirs)) < 0.5)
    }
  }

  @Test("move by quarters of a pixel")
  func phases() throws {
    let text = Text("illicit", font: .system(14))
    let pictures = try (0..<8).map { try drawn(text, byCairo: false, at: CGPoint(x: 7 + Double($0) / 8, y: 5)) }
    let distinct = (0..<8).filter { index in !pictures[..<index].contains { $0.hasSamePixels(as: pictures[index]) } }
    #expect(distinct.count == 5, "four phases, and the first of the next pixel")
  }

  @Test("are the same on all threads, which begin at once")
  func threads() async throws {
    let texts = (0..<12).map { Text(words, font: .system(11 + Double($0) / 2)) }
    let pictures = try await withThrowingTaskGroup(of: [Bitmap].self) { group in
      for _ in 0..<6 {
        group.addTask { try texts.map { try self.drawn($0, byCairo: false) } }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    for picture in pictures.dropFirst() {
      #expect(zip(picture, pictures[0]).allSatisfy { $0.hasSamePixels(as: $1) })
    }
  }

  @Test("make the same line, whether it is all there is or one of several")
  func oneLine() throws {
    for size in [9.0, 12.5, 31] {
      let line = try Text(words, font: .system(size)).metrics()
      let paragraphs = try Text(words + "\n" + words, font: .system(size)).metrics()
      #expect(line.size.width == paragraphs.size.width && line.firstBaseline == paragraphs.firstBaseline)
      #expect(abs(line.size.height * 2 - paragraphs.size.height) < 0.01)
    }
    let alone = try drawn(Text(words, font: .system(12)), byCairo: false)
    let first = try drawn(Text(words + "\n ", font: .system(12)), byCairo: false)
    #expect(alone.hasSamePixels(as: first))
  }

  @Test("of other scripts, tabs and underlines are drawn as well")
  func others() throws {
    var underlined = Text("under", font: .system(16))
    underlined.runs[0].isUnderlined = true
    let texts = [
      underlined, Text("שלום עולם", font: .system(16)), Text("a\tb", font: .system(16)),
      Text("مرحبا", font: .system(16)),
      Text("😀", font: .system(16)), Text("\u{10FFFF}", font: .system(16)),
    ]
    for text in texts { #expect(alphas(try drawn(text, byCairo: false)).reduce(0, +) > 2000, "\(text)") }
  }

  @Test("stay within a clip, and mix with what is below by their alpha")
  func clipped() throws {
    let text = Text("████████", font: .system(30), color: .blue)
    let bitmap = try Bitmap(size: CGSize(width: 120, height: 60), scale: 1, background: .white) { context, rect in
      context.addEllipse(in: CGRect(x: 20, y: 10, width: 40, height: 40))
      context.clip()
      context.setAlpha(0.5)
      context.draw(text, in: rect)
    }
    #expect(pixel(bitmap, 40, 30) == 0xFF80_80FF || pixel(bitmap, 40, 30) == 0xFF7F_7FFF)
    for (x, y) in [(21, 11), (70, 30), (10, 30), (59, 11)] { #expect(pixel(bitmap, x, y) == 0xFFFF_FFFF) }
  }

  @Test("stand where they do in a layer, to the pixel, at every height")
  func baselines() throws {
    let text = Text("H", font: .system(14))
    func top(_ bitmap: Bitmap) -> Int? { (0..<60).first { y in (0..<30).contains { pixel(bitmap, $0, y) >> 24 > 60 } } }
    for step in 0..<64 {
      let origin = CGPoint(x: 8, y: 6 + Double(step) / 64)
      #expect(
        try top(drawn(text, byCairo: false, at: origin)) == top(drawn(text, byCairo: true, at: origin)), "\(step)")
    }
  }

  @Test("do not come back from far out")
  func farOut() throws {
    for x in [1e5, 1_048_576, 16_777_216, -16_777_216, 4e9] {
      let bitmap = try drawn(Text(words, font: .system(14)), byCairo: false, at: CGPoint(x: x, y: 5))
      #expect(alphas(bitmap).allSatisfy { $0 == 0 }, "\(x)")
    }
  }

  @Test("are not cut for characters without a width")
  func zeroWidth() throws {
    let text = Text(String(repeating: "\u{200B}", count: 100) + "Hello", font: .system(12)).lines(1)
    let plain = try Text("Hello", font: .system(12)).size()
    #expect(try abs(text.metrics(fitting: CGSize(width: 50, height: 0)).size.width - plain.width) < 0.1)
    let marks = String(repeating: "i" + String(repeating: "\u{301}", count: 12), count: 8) + "END"
    let whole = try Text(marks, font: .system(12)).size().width
    let cut = try Text(marks, font: .system(12)).lines(1).metrics(fitting: CGSize(width: whole + 5, height: 0))
    #expect(abs(cut.size.width - whole) < 0.1 && !cut.isTruncated)
  }
}
