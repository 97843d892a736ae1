import Foundation

/// A typeface, size and style.
public struct Font: Hashable, Sendable {
  /// How heavy the strokes are, as in CSS: 400 is regular, 700 bold.
  public struct Weight: Hashable, Sendable {
    /// 100…1000.
    public let value: Int
    /// A weight; values outside of 100…1000 are moved to the next one inside.
    public init(_ value: Int) { self.value = min(1000, max(100, value)) }
    /// 300.
    public static let light = Weight(300)
    /// 400.
    public static let regular = Weight(400)
    /// 500.
    public static let medium = Weight(500)
    /// 600.
    public static let semibold = Weight(600)
    /// 700.
    public static let bold = Weight(700)
  }

  /// A family, or several separated by commas, as Fontconfig knows them; `nil` is the system's sans serif.
  public var family: String?
  /// Points: the height of an em.
  public var size: CGFloat
  /// How heavy.
  public var weight: Weight
  /// Whether it slants.
  public var isItalic: Bool

  /// A font of a family.
  public init(_ family: String?, size: CGFloat, weight: Weight = .regular, italic: Bool = false) {
    self.family = family
    self.size = size
    self.weight = weight
    self.isItalic = italic
  }

  /// The system's sans serif.
  public static func system(_ size: CGFloat, weight: Weight = .regular) -> Font {
    Font(nil, size: size, weight: weight)
  }

  /// The system's font with letters of one width.
  public static func monospacedSystem(_ size: CGFloat, weight: Weight = .regular) -> Font {
    Font("monospace", size: size, weight: weight)
  }

  /// The same font, slanted.
  public func italic() -> Font {
    var font = self
    font.isItalic = true
    return font
  }
}
