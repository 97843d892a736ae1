internal import CGesso
import Foundation

/// What names a bitmap in a cache: the user's key, and all else that changes pixels.
///
/// It carries its hash, so that a request which is made once is looked up again and again without hashing. Equality
/// compares the full key: two keys of one hash are a miss, never a wrong picture.
public struct BitmapKey: Hashable, Sendable {
  /// The user's key.
  public let identity: String
  /// Columns of pixels.
  public let pixelWidth: Int
  /// Rows of pixels.
  public let pixelHeight: Int
  /// Pixels per point.
  public let scale: Double
  /// What the bitmap was filled with; opaque or not is part of it.
  public let background: Color

  private let hash: KeyHash
  /// The numbers above and the size in points, which the draw block sees: compared by their bits, as NaN is not equal to
  /// itself, and a key that cannot be found again would be kept for ever.
  private let numbers: [UInt64]

  /// Grows with every change of how requests become pixels.
  private static let version: UInt64 = 1

  init(identity: String, size: CGSize, pixels: PixelSize?, scale: Double, background: Color) {
    self.identity = identity
    self.pixelWidth = Int(pixels?.width ?? 0)
    self.pixelHeight = Int(pixels?.height ?? 0)
    self.scale = scale
    self.background = background
    numbers = [
      Self.version, Double(size.width).bitPattern, Double(size.height).bitPattern, UInt64(pixelWidth),
      UInt64(pixelHeight), scale.bitPattern, background.red.bitPattern,
      background.green.bitPattern, background.blue.bitPattern, background.alpha.bitPattern,
    ]
    let seed = numbers.withUnsafeBytes { gesso_hash_bytes($0.baseAddress, $0.count) }
    var text = identity
    let own = text.withUTF8 { gesso_hash_bytes($0.baseAddress, $0.count) }
    // Both hashes are uniform, and neither alone decides equality.
    hash = KeyHash(
      low: own.low ^ (seed.low &* 0x9E37_79B9_7F4A_7C15), high: own.high ^ (seed.high &* 0xC2B2_AE3D_27D4_EB4F))
  }

  /// Equal in all that changes pixels.
  public static func == (a: BitmapKey, b: BitmapKey) -> Bool {
    a.hash == b.hash && a.numbers == b.numbers && a.identity == b.identity
  }

  /// Feeds the hash that was computed when the key was made.
  public func hash(into hasher: inout Hasher) { hasher.combine(hash.low) }
}

/// 128 bits.
struct KeyHash: Hashable, Sendable {
  let low: UInt64
  let high: UInt64
}
