import Foundation
import Gesso

/// The classic sample: 200 rows of three circles, each clipped, filled, with an icon and a ring that casts a shadow.
public struct CirclesScene: Scene {
  /// `circles`.
  public let name = "circles"
  /// The views cover the rows.
  public let background = Color.lightGray
  /// 200 rows of 100 points.
  public let rows: RowLayout
  private let views: [[SceneView]]

  /// The scene in rows of a width in points.
  public init(width: CGFloat, scale: CGFloat) throws {
    let icon = try Bitmap(image: Data(PackageResources.palette_png))
    let grid = PixelGrid(scale: Double(scale))
    let height = grid.up(100)
    rows = RowLayout(heights: Array(repeating: height, count: 200))
    views = (0..<rows.count).map { row in
      (0..<3).map { column in
        let left = (Double(width) * Double(column) / 3).rounded(.down)
        let frame = CGRect(x: grid.down(left), y: 0, width: grid.up((Double(width) / 3).rounded(.up)), height: height)
        return SceneView(
          frame: frame,
          request: Self.request(color: Self.color(row: row, column: column), size: frame.size, scale: scale, icon: icon)
        )
      }
    }
  }

  /// A row's three views.
  public func views(inRow row: Int) -> [SceneView] { views[row] }

  /// The colour of a view: it brightens down the list and from left to right.
  static func color(row: Int, column: Int) -> Color {
    let base = Double(row + column) / 200
    let step = Double(column)
    return Color(
      red: min(1, base + step / 10), green: min(1, base + step / 20), blue: min(1, base + step / 30))
  }

  private static func request(color: Color, size: CGSize, scale: CGFloat, icon: Bitmap) -> DrawRequest {
    DrawRequest(
      key: "circle \(color.red) \(color.green) \(color.blue)", size: size, scale: scale, background: .lightGray
    ) { context, rect in
      drawCircle(context, rect, color: color, icon: icon)
    }
  }

  /// The classic cell, in the words of its `drawRect:`.
  static func drawCircle(_ context: borrowing DrawingContext, _ rect: CGRect, color: Color, icon: Bitmap) {
    let diameter = min(rect.width, rect.height) - 6
    let circle = CGRect(x: rect.midX - diameter / 2, y: rect.midY - diameter / 2, width: diameter, height: diameter)
    context.saveGState()
    context.addEllipse(in: circle)
    context.clip()
    context.setFillColor(color)
    context.fill(circle)
    let width = diameter * 0.9
    let height = width * icon.size.height / icon.size.width
    context.draw(icon, in: CGRect(x: rect.midX - width / 2, y: rect.midY - height / 2, width: width, height: height))
    context.restoreGState()

    context.setShadow(offset: CGSize(width: 0, height: 1), blur: 0, color: Color(white: 0, alpha: 0.6))
    context.setStrokeColor(.white)
    context.setLineWidth(2)
    context.strokeEllipse(in: circle)
  }
}
