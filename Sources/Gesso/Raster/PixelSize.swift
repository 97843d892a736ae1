import Foundation

/// A size in whole pixels, checked: what a bitmap of a size in points has at a scale.
struct PixelSize: Hashable, Sendable {
  let width: UInt32
  let height: UInt32

  /// The most that Cairo can draw.
  static let limit = 32766.0

  /// Rounds up, as UIKit does; a billionth of a pixel, which is what products of decimals are off by, does not count.
  init(points: CGSize, scale: CGFloat) throws(RasterError) {
    let values = [Double(points.width), Double(points.height), Double(scale)]
    guard values.allSatisfy({ $0.isFinite && $0 > 0 }) else {
      throw .invalidSize(width: values[0], height: values[1], scale: values[2])
    }
    let width = (values[0] * values[2] - 1e-9).rounded(.up)
    let height = (values[1] * values[2] - 1e-9).rounded(.up)
    guard width <= Self.limit, height <= Self.limit else { throw .tooLarge(width: width, height: height) }
    self.width = UInt32(max(1, width))
    self.height = UInt32(max(1, height))
  }
}
