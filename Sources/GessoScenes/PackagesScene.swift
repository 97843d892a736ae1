import Foundation
import Gesso

/// A real list: the installed packages, each a card with a shadow, an avatar and three kinds of text.
public struct PackagesScene: Scene {
  /// `packages`.
  public let name = "packages"
  /// What the cards lie on.
  public let background = Color(hex: 0xF2F2F7)
  /// Higher where a description needs two lines.
  public let rows: RowLayout
  private let views: [SceneView]

  private static let margin = 12.0
  private static let padding = 12.0
  private static let avatar = 44.0

  /// The scene of a list, in rows of a width in points.
  public init(_ list: PackageList, width: CGFloat, scale: CGFloat) {
    let background = background
    let cards = list.packages.map { Card(package: $0, rowWidth: Double(width)) }
    let grid = PixelGrid(scale: Double(scale))
    rows = RowLayout(heights: cards.map { grid.up($0.rowHeight) })
    views = cards.map { card in
      let frame = CGRect(x: 0, y: 0, width: grid.up(Double(width)), height: grid.up(card.rowHeight))
      let package = card.package
      return SceneView(
        frame: frame,
        request: DrawRequest(
          key: "package \(package.name) \(package.architecture) \(package.version)", size: frame.size, scale: scale,
          background: background
        ) { context, rect in card.draw(context, rect) })
    }
  }

  /// A row is one view.
  public func views(inRow row: Int) -> [SceneView] { [views[row]] }

  /// The colour of a section: the same for the same name, everywhere.
  static func color(ofSection section: String) -> Color {
    // FNV-1a, spread over the hues.
    let hash = section.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
    let hue = Double(hash % 360) / 60
    func component(_ shift: Double) -> Double {
      let position = (hue + shift).truncatingRemainder(dividingBy: 6)
      return 0.30 + 0.45 * min(1, max(0, abs(position - 3) - 1))
    }
    return Color(red: component(0), green: component(4), blue: component(2))
  }

  /// One package, laid out.
  struct Card: Sendable {
    let package: PackageList.Package
    let name: Text
    let version: Text
    let description: Text
    let textWidth: Double
    let nameHeight: Double
    let descriptionHeight: Double
    let rowHeight: Double

    init(package: PackageList.Package, rowWidth: Double) {
      self.package = package
      textWidth = max(1, rowWidth - 2 * margin - 3 * padding - avatar)
      name = Text(package.name, font: .system(16, weight: .bold), color: Color(white: 0.1)).lines(1)
      version = Text(package.version, font: .system(12), color: Color(white: 0.55)).lines(1)
      description = Text(package.description, font: .system(13), color: Color(white: 0.35)).lines(2)
      nameHeight = Self.height(of: name, width: textWidth)
      descriptionHeight = package.description.isEmpty ? 0 : Self.height(of: description, width: textWidth)
      let text = nameHeight + 16 + (descriptionHeight > 0 ? 4 + descriptionHeight : 0)
      rowHeight = (max(avatar, text) + 2 * padding + margin).rounded(.up)
    }

    /// A text that cannot be measured takes no room here, and is reported when it is drawn.
    private static func height(of text: Text, width: Double) -> Double {
      Double((try? text.size(fitting: CGSize(width: width, height: 0)).height) ?? 0).rounded(.up)
    }

    func draw(_ context: borrowing DrawingContext, _ rect: CGRect) {
      let card = rect.insetBy(dx: margin, dy: margin / 2)
      context.saveGState()
      context.setShadow(offset: CGSize(width: 0, height: 1), blur: 6, color: Color(white: 0, alpha: 0.22))
      context.setFillColor(.white)
      context.addRoundedRect(in: card, cornerWidth: 12, cornerHeight: 12)
      context.fillPath()
      context.restoreGState()

      let circle = CGRect(x: card.minX + padding, y: card.minY + padding, width: avatar, height: avatar)
      context.setFillColor(PackagesScene.color(ofSection: package.section))
      context.fillEllipse(in: circle)
      let initial = package.name.prefix(1).uppercased()
      context.draw(Text(initial, font: .system(20, weight: .bold), color: .white), in: circle, alignment: .center)

      let left = circle.maxX + padding
      var top = card.minY + padding
      context.draw(name, in: CGRect(x: left, y: top, width: textWidth, height: nameHeight))
      top += nameHeight
      context.draw(version, in: CGRect(x: left, y: top, width: textWidth, height: 16))
      guard descriptionHeight > 0 else { return }
      context.draw(description, in: CGRect(x: left, y: top + 20, width: textWidth, height: descriptionHeight))
    }
  }
}
