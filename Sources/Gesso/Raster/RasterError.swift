internal import CGesso

/// What can go wrong when a bitmap is made or drawn into.
public enum RasterError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A width, height or scale that is zero, negative, NaN or infinite. Sizes are in points.
  case invalidSize(width: Double, height: Double, scale: Double)
  /// More pixels than a bitmap that is drawn into can have: 32,766 on each side.
  case tooLarge(width: Double, height: Double)
  /// The system had no memory for the pixels.
  case outOfMemory
  /// A drawing call was given a value that it cannot use, NaN or infinity among them.
  case invalidArgument
  /// Saves and restores, or begins and ends of transparency layers, do not pair up.
  case unbalanced
  /// The rectangle of a crop is empty or not wholly inside of the bitmap. All in pixels.
  case outsideBitmap(x: Int, y: Int, width: Int, height: Int)
  /// The system has no font at all.
  case noFonts
  /// Any other failure, in words.
  case failed(String)

  /// A sentence for a person.
  public var description: String {
    switch self {
    case .invalidSize(let width, let height, let scale):
      "a bitmap cannot be \(width) × \(height) points at scale \(scale): each has to be a finite number above 0"
    case .tooLarge(let width, let height):
      "\(width) × \(height) pixels are more than a bitmap can have (32,766 on each side)"
    case .outOfMemory: "out of memory"
    case .invalidArgument: "a drawing call was given NaN, infinity or another value that it cannot use"
    case .unbalanced: "a restore without its save, or a transparency layer that was not ended"
    case .outsideBitmap(let x, let y, let width, let height):
      "the rectangle of \(width) × \(height) pixels at (\(x), \(y)) is not inside the bitmap"
    case .noFonts: "the system has no font that Fontconfig knows of"
    case .failed(let reason): reason
    }
  }

  init(_ status: gesso_status) {
    switch status {
    case GESSO_OUT_OF_MEMORY: self = .outOfMemory
    case GESSO_INVALID_ARGUMENT: self = .invalidArgument
    case GESSO_INVALID_STATE: self = .unbalanced
    case GESSO_FONT_FAILED: self = .noFonts
    default: self = .failed(String(cString: gesso_status_string(status)))
    }
  }
}
