import Foundation
import Testing

@testable import Gesso

@Suite("A bitmap")
struct BitmapTests {
  @Test("has the size in points, rounded up to whole pixels")
  func size() throws {
    let bitmap = try Bitmap(size: CGSize(width: 10.2, height: 5), scale: 2) { _, rect in
      #expect(rect == CGRect(x: 0, y: 0, width: 10.2, height: 5))
    }
    #expect(bitmap.width == 21 && bitmap.height == 10)
    #expect(bitmap.size == CGSize(width: 10.5, height: 5))
    // 0.1 · 30 is a little over 3 in binary, which is no reason for a fourth pixel.
    #expect(try Bitmap(size: CGSize(width: 0.1 * 3, height: 1), scale: 10) { _, _ in }.width == 3)
  }

  @Test(
    "of a size that cannot be is an error that says so",
    arguments: [
      CGSize(width: 0, height: 1), CGSize(width: -3, height: 1), CGSize(width: CGFloat.nan, height: 1),
      CGSize(width: 1, height: CGFloat.infinity),
    ])
  func wrongSize(_ size: CGSize) {
    #expect {
      try Bitmap(size: size, scale: 1) { _, _ in }
    } throws: { error in
      guard case DrawError.raster(.invalidSize) = error else { return false }
      return "\(error)".contains("\(Double(size.width)) × \(Double(size.height))")
    }
  }

  @Test("of a scale that cannot be, or too many pixels, is an error", arguments: [0, -1, CGFloat.nan, 1e6])
  func wrongScale(_ scale: CGFloat) {
    #expect(throws: DrawError.self) { try Bitmap(size: CGSize(width: 100, height: 1), scale: scale) { _, _ in } }
  }

  @Test("is opaque exactly if its background is")
  func opacity() throws {
    #expect(try solid(.white).isOpaque && solid(.white).format == .xrgb32)
    #expect(try !solid(.clear).isOpaque && !solid(Color(white: 1, alpha: 0.99)).isOpaque)
    #expect(pixel(try solid(Color(red: 1, green: 0, blue: 0, alpha: 0.5)), 0, 0) == 0x8080_0000)
  }

  @Test("passes on what the draw block throws")
  func throwing() {
    struct Mishap: Error {}
    #expect {
      try Bitmap(size: CGSize(width: 1, height: 1)) { _, _ in throw Mishap() }
    } throws: {
      if case DrawError.drawBlock(let error) = $0 { error is Mishap } else { false }
    }
  }

  @Test("reports a drawing call that failed")
  func failedCall() {
    #expect {
      try Bitmap(size: CGSize(width: 1, height: 1)) { context, _ in
        context.restoreGState()
        #expect(context.error == .unbalanced)
      }
    } throws: {
      if case DrawError.raster(.unbalanced) = $0 { true } else { false }
    }
  }

  @Test("is cropped without a copy, and only inside")
  func cropping() throws {
    let bitmap = try Bitmap(size: CGSize(width: 8, height: 8), scale: 1) { context, _ in
      context.setFillColor(.red)
      context.fill(CGRect(x: 4, y: 4, width: 4, height: 4))
    }
    let before = bitmap.withPixels { $0.baseAddress! }
    let crop = try bitmap.cropped(to: CGRect(x: 3, y: 4, width: 5, height: 2))
    #expect(crop.withPixels { $0.baseAddress! } == before + 4 * bitmap.bytesPerRow + 12)
    #expect(crop.width == 5 && crop.height == 2 && crop.bytesPerRow == bitmap.bytesPerRow)
    #expect(pixel(crop, 0, 0) == 0 && pixel(crop, 1, 0) == 0xFFFF_0000)
    for outside in [
      CGRect(x: -1, y: 0, width: 2, height: 2), CGRect(x: 0, y: 0, width: 9, height: 1),
      CGRect(x: 2, y: 2, width: 0, height: 2), CGRect(x: 8, y: 0, width: 1, height: 1),
    ] {
      #expect(throws: RasterError.self) { try bitmap.cropped(to: outside) }
    }
    #expect(throws: RasterError.invalidArgument) { try bitmap.cropped(to: CGRect(x: 0, y: 0, width: 1e300, height: 1)) }
  }

  @Test("keeps its pixels while a crop of it lives")
  func cropOutlives() throws {
    var bitmap: Bitmap? = try solid(.blue)
    let crop = try bitmap!.cropped(to: CGRect(x: 1, y: 1, width: 2, height: 2))
    bitmap = nil
    #expect(pixel(crop, 1, 1) == 0xFF00_00FF)
  }

  @Test("comes back from a blob with its scale and format; damage is an error")
  func blobs() throws {
    let bitmap = try solid(Color(red: 0, green: 1, blue: 0, alpha: 0.5), width: 30, height: 20, scale: 2)
    var blob = try bitmap.encoded(as: .blob)
    let copy = try Bitmap(decoding: blob)
    #expect(copy.hasSamePixels(as: bitmap))
    #expect(throws: BlobError.truncated(byteCount: 30)) { try Bitmap(decoding: blob.prefix(30)) }
    #expect(throws: BlobError.notABlob) { try Bitmap(decoding: Data("no".utf8)) }
    #expect(throws: BlobError.notABlob) { try Bitmap(decoding: Data()) }
    #expect(throws: BlobError.overLimit) { try Bitmap(decoding: blob, maximumByteCount: 30 * 20 * 4 - 1) }
    #expect(throws: BlobError.overLimit) { try Bitmap(decoding: blob, maximumSize: CGSize(width: 30, height: 19)) }
    #expect(throws: BlobError.overLimit) { try Bitmap(decoding: blob, maximumSize: CGSize(width: 29, height: 20)) }
    #expect(try Bitmap(decoding: blob, maximumSize: CGSize(width: 30, height: 20)).width == 30)
    blob[blob.count - 1] ^= 1
    let fault = BlobError.corrupt("checksum of a band", offset: 32)
    #expect(throws: fault) { try Bitmap(decoding: blob) }
    #expect(throws: fault) { try BlobInfo.verify(blob) }
    #expect("\(fault)" == "the blob is damaged: wrong checksum of a band at byte 32")
    #expect(try BlobInfo(blob).bands.count == 1, "which looks at no band")
    blob[4] = 3
    let newer = BlobError.unsupported("version", offset: 4)
    #expect(throws: newer) { try Bitmap(decoding: blob) }
    #expect(throws: newer) { try BlobInfo(blob) }
  }

  @Test("is told apart from one with another pixel, size, scale or format")
  func comparing() throws {
    let white = try solid(.white)
    #expect(white.hasSamePixels(as: try solid(.white)))
    #expect(!white.hasSamePixels(as: try solid(Color(white: 0.99))))
    #expect(!white.hasSamePixels(as: try solid(.white, width: 5)))
    #expect(!white.hasSamePixels(as: try solid(.white, scale: 2)))
    #expect(!white.hasSamePixels(as: try solid(Color(white: 1, alpha: 0.9999))))
  }
}

@Suite("A framebuffer")
struct FramebufferTests {
  @Test("composes bitmaps where they belong, clipped to itself")
  func composing() throws {
    let framebuffer = try Framebuffer(size: CGSize(width: 6, height: 6), scale: 1)
    framebuffer.fill(.white)
    framebuffer.composite(try solid(.red), x: 4, y: -2)
    framebuffer.composite(try solid(Color(white: 0, alpha: 0.5)), x: -3, y: 5)
    let picture = try framebuffer.snapshot()
    #expect(pixel(picture, 4, 1) == 0xFFFF_0000 && pixel(picture, 3, 1) == 0xFFFF_FFFF)
    #expect(pixel(picture, 4, 2) == 0xFFFF_FFFF && pixel(picture, 0, 5) == 0xFF7F_7F7F)
    framebuffer.fill(.black)
    #expect(pixel(picture, 0, 0) == 0xFFFF_FFFF, "a snapshot is a copy")
  }

  @Test("is drawn onto, and shows what was there")
  func drawing() throws {
    let framebuffer = try Framebuffer(size: CGSize(width: 4, height: 4), scale: 2)
    try framebuffer.draw { context in
      context.setFillColor(.green)
      context.fill(CGRect(x: 2, y: 2, width: 2, height: 2))
    }
    let picture = try framebuffer.snapshot()
    #expect(pixel(picture, 4, 4) == 0xFF00_FF00 && pixel(picture, 3, 3) == 0xFF00_0000)
    #expect(throws: RasterError.self) { try Framebuffer(size: CGSize(width: 0, height: 4)) }
  }
}

@Suite("The screen")
struct ScreenTests {
  @Test("keeps its scale when it is set to one that cannot be")
  func scale() {
    let before = Screen.scale
    for wrong in [0, -2, CGFloat.nan, CGFloat.infinity] {
      Screen.scale = wrong
      #expect(Screen.scale == before)
    }
  }
}
