internal import CGesso
import Foundation

/// What names a bitmap in a cache: the user's key, and all else that changes pixels.
///
/// It carries its hash, so that a request which is made once is looked up again and again without hashing. Equality
/// compares the full key: two keys of one hash are a miss, never a wrong picture.
public struct BitmapKey: Hashable, Sendable {
  /// What a key is, behind one reference: keys are copied with every request, job and cached bitmap.
  fileprivate final class Parts: Sendable {
    let identity: String
    let pixelWidth: Int
    let pixelHeight: Int
    let scale: Double
    let background: Color
    let hash: KeyHash
    /// The numbers above and the size in points, which the draw block sees: compared by their bits, as NaN is not equal
    /// to itself, and a key that cannot be found again would be kept for ever.
    fileprivate let numbers: KeyNumbers

    init(identity: String, size: CGSize, pixels: PixelSize?, scale: Double, background: Color) {
      self.identity = identity
      pixelWidth = Int(pixels?.width ?? 0)
      pixelHeight = Int(pixels?.height ?? 0)
      self.scale = scale
      self.background = background
      numbers = KeyNumbers(
        version: BitmapKey.version, width: Double(size.width).bitPattern, height: Double(size.height).bitPattern,
        pixelWidth: UInt64(pixelWidth), pixelHeight: UInt64(pixelHeight), scale: scale.bitPattern,
        red: background.red.bitPattern, green: background.green.bitPattern, blue: background.blue.bitPattern,
        alpha: background.alpha.bitPattern)
      let seed = withUnsafeBytes(of: numbers) { gesso_hash_bytes($0.baseAddress, $0.count) }
      var text = identity
      let own = text.withUTF8 { gesso_hash_bytes($0.baseAddress, $0.count) }
      // Both hashes are uniform, and neither alone decides equality.
      hash = KeyHash(
        low: own.low ^ (seed.low &* 0x9E37_79B9_7F4A_7C15), high: own.high ^ (seed.high &* 0xC2B2_AE3D_27D4_EB4F))
    }
  }

  private let parts: Parts

  /// Grows with every change of how requests become pixels.
  private static let version: UInt64 = 1

  init(identity: String, size: CGSize, pixels: PixelSize?, scale: Double, background: Color) {
    parts = Parts(identity: identity, size: size, pixels: pixels, scale: scale, background: background)
  }

  /// The user's key.
  public var identity: String { parts.identity }
  /// Columns of pixels.
  public var pixelWidth: Int { parts.pixelWidth }
  /// Rows of pixels.
  public var pixelHeight: Int { parts.pixelHeight }
  /// Pixels per point.
  public var scale: Double { parts.scale }
  /// What the bitmap was filled with; opaque or not is part of it.
  public var background: Color { parts.background }

  /// Equal in all that changes pixels.
  public static func == (a: BitmapKey, b: BitmapKey) -> Bool {
    a.parts === b.parts
      || (a.parts.hash == b.parts.hash && a.parts.numbers == b.parts.numbers && a.parts.identity == b.parts.identity)
  }

  /// Whether a bitmap is of this key's size and scale.
  func fits(_ bitmap: Bitmap) -> Bool {
    bitmap.width == pixelWidth && bitmap.height == pixelHeight && Double(bitmap.scale) == scale
      && bitmap.isOpaque == background.isOpaque
  }

  /// The hash by which tables look it up.
  var hashValue64: UInt64 { parts.hash.low }

  /// Feeds the hash that was computed when the key was made.
  public func hash(into hasher: inout Hasher) { hasher.combine(parts.hash.low) }
}

/// What of a key is a number, by its bits.
private struct KeyNumbers: Equatable {
  let version: UInt64
  let width: UInt64
  let height: UInt64
  let pixelWidth: UInt64
  let pixelHeight: UInt64
  let scale: UInt64
  let red: UInt64
  let green: UInt64
  let blue: UInt64
  let alpha: UInt64
}

/// 128 bits.
struct KeyHash: Hashable, Sendable {
  let low: UInt64
  let high: UInt64
}
