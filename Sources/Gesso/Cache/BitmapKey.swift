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

    init(identity: String, size: CGSize, pixels: PixelSize?, scale: Double, background: Color, hash: KeyHash?) {
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
      var text = identity
      self.hash =
        hash
        ?? withUnsafeBytes(of: numbers) { numbers in
          text.withUTF8 { KeyHash(numbers: numbers, identity: UnsafeRawBufferPointer($0)) }
        }
    }
  }

  private let parts: Parts

  /// Grows with every change of how requests become pixels.
  private static let version: UInt64 = 1

  /// - Parameter hash: another one than its own, as tests give two keys the same.
  init(
    identity: String, size: CGSize, pixels: PixelSize?, scale: Double, background: Color, hash: KeyHash? = nil
  ) {
    parts = Parts(
      identity: identity, size: size, pixels: pixels, scale: scale, background: background, hash: hash)
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

  /// 128 bits that name the key in stores, in which the key itself is compared as well.
  package var storeHash: KeyHash { parts.hash }

  /// Adds the whole key as stores keep it: the numbers, and then what the user called it.
  package func append(to bytes: inout [UInt8]) {
    withUnsafeBytes(of: parts.numbers) { bytes.append(contentsOf: $0) }
    var text = parts.identity
    text.withUTF8 { bytes.append(contentsOf: $0) }
  }

  /// The whole key as stores keep it.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(128)
    append(to: &bytes)
    return bytes
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
package struct KeyHash: Hashable, Sendable {
  package let low: UInt64
  package let high: UInt64
  /// Of what the user called the key alone, whatever its size and scale.
  package let identity: UInt64

  init(low: UInt64, high: UInt64, identity: UInt64) { (self.low, self.high, self.identity) = (low, high, identity) }

  fileprivate init(numbers: UnsafeRawBufferPointer, identity: UnsafeRawBufferPointer) {
    let seed = gesso_hash_bytes(numbers.baseAddress, numbers.count)
    let own = gesso_hash_bytes(identity.baseAddress, identity.count)
    // Both hashes are uniform, and neither alone decides equality.
    low = own.low ^ (seed.low &* 0x9E37_79B9_7F4A_7C15)
    high = own.high ^ (seed.high &* 0xC2B2_AE3D_27D4_EB4F)
    self.identity = own.low
  }
}

/// A key as stores keep it.
package struct StoredKey {
  private static let numbersLength = MemoryLayout<KeyNumbers>.size

  package let hash: KeyHash
  /// What the user called it, UTF-8.
  package let identity: UnsafeRawBufferPointer

  /// `nil`: too short for a key.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.numbersLength else { return nil }
    identity = UnsafeRawBufferPointer(rebasing: bytes[Self.numbersLength...])
    hash = KeyHash(numbers: UnsafeRawBufferPointer(rebasing: bytes[..<Self.numbersLength]), identity: identity)
  }
}

extension KeySelection {
  /// Whether a key that a store has kept is one of them.
  package func contains(_ key: StoredKey) -> Bool {
    switch self {
    case .key(let other): key.identity.elementsEqual(other.utf8)
    case .prefix(let prefix): key.identity.starts(with: prefix.utf8)
    case .all: true
    }
  }
}
