import Foundation

/// Attributed text: runs of characters, and how their lines are broken and aligned.
///
///     Text("Gesso ", font: .system(15, weight: .bold)) + Text("0.1", font: .system(12), color: .gray)
///
/// A value; drawn with ``DrawingContext/draw(_:in:alignment:)``, measured with ``size(fitting:)``.
public struct Text: Hashable, Sendable {
  /// A stretch of text with one look.
  public struct Run: Hashable, Sendable {
    /// The characters.
    public var string: String
    /// Their font.
    public var font: Font
    /// Their colour.
    public var color: Color
    /// Whether they are underlined.
    public var isUnderlined: Bool
    /// Whether they are struck through.
    public var isStruckThrough: Bool

    /// A run.
    public init(
      _ string: String, font: Font, color: Color = .black, isUnderlined: Bool = false, isStruckThrough: Bool = false
    ) {
      self.string = string
      self.font = font
      self.color = color
      self.isUnderlined = isUnderlined
      self.isStruckThrough = isStruckThrough
    }
  }

  /// What happens to lines that are too long; UIKit's modes.
  public enum LineBreakMode: UInt32, Sendable {
    /// Goes on in the next line, at a word if one fits.
    case byWordWrapping
    /// Goes on in the next line, anywhere.
    case byCharWrapping
    /// Is cut off.
    case byClipping
    /// Begins with an ellipsis.
    case byTruncatingHead
    /// Has an ellipsis in the middle.
    case byTruncatingMiddle
    /// Ends with an ellipsis, in the last line that fits.
    case byTruncatingTail
  }

  /// The runs, from first to last.
  public var runs: [Run]
  /// How lines break; ``LineBreakMode/byWordWrapping`` by default.
  public var lineBreakMode: LineBreakMode = .byWordWrapping
  /// Lines at most; 0 is as many as there are.
  public var numberOfLines = 0
  /// Extra points between lines.
  public var lineSpacing: CGFloat = 0
  /// Whether lines are stretched to the full width.
  public var isJustified = false

  /// Text of runs.
  public init(runs: [Run]) { self.runs = runs }

  /// Text of one look.
  public init(_ string: String, font: Font = .system(17), color: Color = .black) {
    runs = [Run(string, font: font, color: color)]
  }

  /// The same text with these rules for its lines.
  public func lines(_ number: Int, breaking mode: LineBreakMode = .byTruncatingTail) -> Text {
    var text = self
    text.numberOfLines = number
    text.lineBreakMode = mode
    return text
  }

  /// One text after the other, with the rules of the first.
  public static func + (first: Text, second: Text) -> Text {
    var text = first
    text.runs += second.runs
    return text
  }

  /// Where text stands in a rectangle.
  public struct Alignment: Hashable, Sendable {
    /// Along the line. Leading is left, or right in scripts that are written from there.
    public enum Horizontal: Hashable, Sendable {
      /// Where the script begins.
      case leading
      /// Left.
      case left
      /// In the middle.
      case center
      /// Right.
      case right
    }
    /// Across the lines.
    public enum Vertical: Hashable, Sendable {
      /// At the top.
      case top
      /// In the middle.
      case center
      /// At the bottom.
      case bottom
    }
    /// Along the line.
    public var horizontal: Horizontal
    /// Across the lines.
    public var vertical: Vertical
    /// An alignment of both.
    public init(_ horizontal: Horizontal, _ vertical: Vertical) {
      self.horizontal = horizontal
      self.vertical = vertical
    }
    /// Leading, at the top: where UIKit draws.
    public static let topLeading = Alignment(.leading, .top)
    /// Centred lines at the top.
    public static let top = Alignment(.center, .top)
    /// Right, at the top.
    public static let topRight = Alignment(.right, .top)
    /// Leading, in the middle of the height.
    public static let leading = Alignment(.leading, .center)
    /// In the middle of both.
    public static let center = Alignment(.center, .center)
    /// Right, in the middle of the height.
    public static let right = Alignment(.right, .center)
    /// Leading, at the bottom.
    public static let bottomLeading = Alignment(.leading, .bottom)
    /// Centred lines at the bottom.
    public static let bottom = Alignment(.center, .bottom)
  }
}
