import Foundation
import Testing

@testable import Gesso

private func draw(
  _ width: CGFloat, _ height: CGFloat, background: Color = .clear, _ body: (borrowing DrawingContext, CGRect) -> Void
) throws -> Bitmap {
  try Bitmap(size: CGSize(width: width, height: height), scale: 1, background: background, draw: body)
}

@Suite("A drawing context")
struct DrawingContextTests {
  @Test("has its origin at the top left, y down")
  func origin() throws {
    let bitmap = try draw(4, 4) { context, _ in
      context.setFillColor(.red)
      context.fill(CGRect(x: 0, y: 0, width: 1, height: 1))
    }
    #expect(pixel(bitmap, 0, 0) == 0xFFFF_0000 && pixel(bitmap, 0, 3) == 0)
  }

  @Test("applies transforms in CoreGraphics' order: the newest first")
  func transforms() throws {
    let bitmap = try draw(20, 20) { context, _ in
      context.translateBy(x: 10, y: 0)
      context.scaleBy(x: 2, y: 2)
      context.rotate(by: .pi / 2)
      #expect(context.scale == 1)
      context.fill(CGRect(x: 1, y: 1, width: 2, height: 1))
    }
    // (1…3, 1…2) turned a quarter clockwise is (−2…−1, 1…3); doubled and moved: x 6…8, y 2…6.
    #expect(pixel(bitmap, 6, 2) == 0xFF00_0000 && pixel(bitmap, 7, 5) == 0xFF00_0000)
    #expect(pixel(bitmap, 5, 2) == 0 && pixel(bitmap, 8, 2) == 0 && pixel(bitmap, 6, 6) == 0)
  }

  @Test("concatenates transforms as a matrix product")
  func concatenating() throws {
    let turn = CGAffineTransform(a: 1, b: 0.5, c: -0.25, d: 2, tx: 3, ty: 4)
    _ = try draw(4, 4) { context, _ in
      context.translateBy(x: 5, y: 6)
      let before = context.ctm
      context.concatenate(turn)
      let expected = turn.concatenating(before)
      let found = context.ctm
      for (a, b) in [(found.a, expected.a), (found.b, expected.b), (found.c, expected.c), (found.tx, expected.tx)] {
        #expect(abs(a - b) < 1e-12)
      }
    }
  }

  @Test("clips to paths and rectangles, and to both together")
  func clipping() throws {
    let bitmap = try draw(20, 20) { context, rect in
      context.addEllipse(in: rect)
      context.clip()
      context.clip(to: CGRect(x: 0, y: 0, width: 10, height: 20))
      #expect(context.boundingBoxOfClipPath == CGRect(x: 0, y: 0, width: 10, height: 20))
      context.fill(rect)
    }
    #expect(pixel(bitmap, 9, 10) == 0xFF00_0000 && pixel(bitmap, 10, 10) == 0 && pixel(bitmap, 0, 0) == 0)
  }

  @Test("draws a path value as if its parts had been added")
  func paths() throws {
    var path = Path(rect: CGRect(x: 1, y: 1, width: 5, height: 4))
    path.addEllipse(in: CGRect(x: 8, y: 2, width: 9, height: 7))
    path.addRoundedRect(in: CGRect(x: 2, y: 10, width: 10, height: 8), cornerWidth: 2, cornerHeight: 3)
    path.move(to: CGPoint(x: 14, y: 12))
    path.addLine(to: CGPoint(x: 19, y: 13))
    path.addQuadCurve(to: CGPoint(x: 18, y: 19), control: CGPoint(x: 20, y: 16))
    path.addCurve(to: CGPoint(x: 14, y: 18), control1: CGPoint(x: 16, y: 19), control2: CGPoint(x: 15, y: 17))
    path.addArc(center: CGPoint(x: 14, y: 15), radius: 2, startAngle: 0, endAngle: 2, clockwise: false)
    path.closeSubpath()
    let byValue = try draw(20, 20) { context, _ in
      context.addPath(path)
      context.fillPath(using: .evenOdd)
    }
    let byParts = try draw(20, 20) { context, _ in
      context.addRect(CGRect(x: 1, y: 1, width: 5, height: 4))
      context.addEllipse(in: CGRect(x: 8, y: 2, width: 9, height: 7))
      context.addRoundedRect(in: CGRect(x: 2, y: 10, width: 10, height: 8), cornerWidth: 2, cornerHeight: 3)
      context.move(to: CGPoint(x: 14, y: 12))
      context.addLine(to: CGPoint(x: 19, y: 13))
      context.addQuadCurve(to: CGPoint(x: 18, y: 19), control: CGPoint(x: 20, y: 16))
      context.addCurve(to: CGPoint(x: 14, y: 18), control1: CGPoint(x: 16, y: 19), control2: CGPoint(x: 15, y: 17))
      context.addArc(center: CGPoint(x: 14, y: 15), radius: 2, startAngle: 0, endAngle: 2, clockwise: false)
      context.closePath()
      context.fillPath(using: .evenOdd)
    }
    #expect(byValue.hasSamePixels(as: byParts))
    #expect(pixel(byValue, 3, 3) == 0xFF00_0000 && pixel(byValue, 15, 14) == 0xFF00_0000)
  }

  @Test("draws bitmaps upright, stretched into a rectangle, and masks in the fill colour")
  func bitmaps() throws {
    let source = try draw(2, 2) { context, _ in
      context.setFillColor(.red)
      context.fill(CGRect(x: 0, y: 0, width: 2, height: 1))
      context.setFillColor(.blue)
      context.fill(CGRect(x: 0, y: 1, width: 2, height: 1))
    }
    let bitmap = try draw(8, 8) { context, rect in
      context.setInterpolationQuality(.none)
      context.draw(source, in: CGRect(x: 2, y: 2, width: 4, height: 4))
    }
    #expect(pixel(bitmap, 2, 2) == 0xFFFF_0000 && pixel(bitmap, 5, 3) == 0xFFFF_0000)
    #expect(pixel(bitmap, 2, 4) == 0xFF00_00FF && pixel(bitmap, 1, 1) == 0)
  }

  @Test("fades bitmaps by its alpha")
  func fading() throws {
    let white = try solid(.white)
    let bitmap = try draw(8, 8) { context, _ in
      context.setAlpha(0.5)
      context.draw(white, at: CGPoint(x: 1, y: 1))
      context.draw(white, in: CGRect(x: 4.5, y: 4, width: 3, height: 3))
    }
    #expect(pixel(bitmap, 2, 2) == 0x8080_8080 && pixel(bitmap, 6, 5) == 0x8080_8080)
  }

  @Test("lends Cairo's context, until it fails")
  func cairo() throws {
    _ = try draw(2, 2) { context, _ in #expect(context.withCairo { _ in 7 } == 7) }
    #expect(throws: DrawError.self) {
      try draw(2, 2) { context, _ in
        context.setAlpha(.nan)
        #expect(context.withCairo { _ in 7 } == nil)
      }
    }
  }

  @Test("draws radial gradients between two circles")
  func radial() throws {
    let gradient = Gradient(colors: [.white, .black])
    let bitmap = try draw(41, 41) { context, rect in
      let center = CGPoint(x: 20.5, y: 20.5)
      context.drawRadialGradient(gradient, startCenter: center, startRadius: 0, endCenter: center, endRadius: 20)
    }
    for x in 21..<40 {
      let found = Double(pixel(bitmap, x, 20) & 255)
      let expected = 255 * (1 - Double(x - 20) / 20)
      #expect(abs(found - expected) < 3)
    }
    #expect(pixel(bitmap, 0, 0) == 0, "nothing is drawn after the end")
  }

  @Test("rounds each corner by its own radius")
  func corners() throws {
    let path = Path(roundedRect: CGRect(x: 0, y: 0, width: 20, height: 20), cornerRadii: CornerRadii(topRight: 10))
    let bitmap = try Bitmap(size: CGSize(width: 20, height: 20), scale: 1) { context, _ in
      context.addPath(path)
      context.fillPath()
    }
    #expect(pixel(bitmap, 0, 0) == 0xFF00_0000 && pixel(bitmap, 19, 0) == 0 && pixel(bitmap, 19, 19) == 0xFF00_0000)
    #expect(pixel(bitmap, 0, 19) == 0xFF00_0000)
  }

  @Test("stretches the centre of a bitmap, and keeps its corners")
  func nineParts() throws {
    let frame = try Bitmap(size: CGSize(width: 9, height: 9), scale: 1, background: .red) { context, _ in
      context.setFillColor(.blue)
      context.fill(CGRect(x: 3, y: 3, width: 3, height: 3))
    }
    let third = CGRect(x: 1.0 / 3, y: 1.0 / 3, width: 1.0 / 3, height: 1.0 / 3)
    let bitmap = try Bitmap(size: CGSize(width: 40, height: 30), scale: 1) { context, rect in
      context.draw(frame, in: rect, contentsCenter: third)
    }
    #expect(pixel(bitmap, 2, 2) == 0xFFFF_0000 && pixel(bitmap, 37, 27) == 0xFFFF_0000)
    #expect(pixel(bitmap, 3, 3) == 0xFF00_00FF && pixel(bitmap, 36, 26) == 0xFF00_00FF)
    #expect(throws: (any Error).self, "a centre outside of the bitmap") {
      try Bitmap(size: CGSize(width: 4, height: 4), scale: 1) { context, rect in
        context.draw(frame, in: rect, contentsCenter: CGRect(x: 0.5, y: 0, width: 0.6, height: 1))
      }
    }
  }
}

@Suite("An affine transform")
struct AffineTransformTests {
  @Test("is undone by its inverse, and composed in order")
  func inverse() {
    let transform = CGAffineTransform(rotationAngle: 0.7).scaledBy(x: 2, y: 3).translatedBy(x: 5, y: -4)
    let point = CGPoint(x: 1.5, y: 2.5)
    let back = point.applying(transform).applying(transform.inverted())
    #expect(abs(back.x - point.x) < 1e-12 && abs(back.y - point.y) < 1e-12)
    let moved = CGPoint(x: 1, y: 1).applying(CGAffineTransform(scaleX: 2, y: 2).translatedBy(x: 3, y: 0))
    #expect(moved == CGPoint(x: 8, y: 2), "the translation comes first")
    #expect(CGAffineTransform(scaleX: 0, y: 1).inverted() == CGAffineTransform(scaleX: 0, y: 1))
    #expect(CGAffineTransform.identity.isIdentity)
  }
}

@Suite("A colour")
struct ColorTests {
  @Test("is read from hexadecimal, and knows whether it is opaque")
  func components() {
    #expect(Color(hex: 0xFF8000) == Color(red: 1, green: 128.0 / 255, blue: 0))
    #expect(Color.white.isOpaque && !Color.white.withAlpha(0.5).isOpaque && !Color.clear.isOpaque)
    #expect(Color.lightGray.red == 2.0 / 3)
  }
}
