internal import CGesso
import Foundation

/// Building a path, and using it up. Points are transformed when they are added.
extension DrawingContext {
  /// Throws the path away and begins a new one.
  public func beginPath() { gesso_context_begin_path(handle) }
  /// Begins a new subpath at a point.
  public func move(to point: CGPoint) { gesso_context_move_to(handle, Double(point.x), Double(point.y)) }
  /// Adds a line from the current point.
  public func addLine(to point: CGPoint) { gesso_context_add_line(handle, Double(point.x), Double(point.y)) }
  /// Adds lines through points, the first of which begins a subpath.
  public func addLines(between points: [CGPoint]) {
    for (index, point) in points.enumerated() {
      if index == 0 { move(to: point) } else { addLine(to: point) }
    }
  }
  /// Adds a quadratic curve from the current point.
  public func addQuadCurve(to end: CGPoint, control: CGPoint) {
    gesso_context_add_quad_curve(handle, Double(control.x), Double(control.y), Double(end.x), Double(end.y))
  }
  /// Adds a cubic curve from the current point.
  public func addCurve(to end: CGPoint, control1: CGPoint, control2: CGPoint) {
    gesso_context_add_curve(
      handle, Double(control1.x), Double(control1.y), Double(control2.x), Double(control2.y), Double(end.x),
      Double(end.y))
  }
  /// Adds an arc, and before it a line to where it starts. Angles as in ``Path/addArc(center:radius:startAngle:endAngle:clockwise:)``.
  public func addArc(center: CGPoint, radius: CGFloat, startAngle: CGFloat, endAngle: CGFloat, clockwise: Bool) {
    gesso_context_add_arc(
      handle, Double(center.x), Double(center.y), Double(radius), Double(startAngle), Double(endAngle), clockwise)
  }
  /// Adds a rectangle.
  public func addRect(_ rect: CGRect) {
    gesso_context_add_rect(
      handle, Double(rect.minX), Double(rect.minY), Double(rect.width), Double(rect.height))
  }
  /// Adds the ellipse that fits into a rectangle.
  public func addEllipse(in rect: CGRect) {
    gesso_context_add_ellipse(
      handle, Double(rect.minX), Double(rect.minY), Double(rect.width), Double(rect.height))
  }
  /// Adds a rectangle with elliptical corners.
  public func addRoundedRect(in rect: CGRect, cornerWidth: CGFloat, cornerHeight: CGFloat) {
    gesso_context_add_rounded_rect(
      handle, Double(rect.minX), Double(rect.minY), Double(rect.width), Double(rect.height), Double(cornerWidth),
      Double(cornerHeight))
  }
  /// Adds a rectangle with a radius for each corner; where they do not fit, all shrink by the same part.
  public func addRoundedRect(in rect: CGRect, cornerRadii: CornerRadii) {
    gesso_context_add_rounded_rect_with_radii(
      handle, Double(rect.minX), Double(rect.minY), Double(rect.width), Double(rect.height),
      Double(cornerRadii.topLeft), Double(cornerRadii.topRight), Double(cornerRadii.bottomRight),
      Double(cornerRadii.bottomLeft))
  }
  /// Adds all of a path.
  public func addPath(_ path: Path) {
    for element in path.elements {
      switch element {
      case .move(let point): move(to: point)
      case .line(let point): addLine(to: point)
      case .quadCurve(let end, let control): addQuadCurve(to: end, control: control)
      case .curve(let end, let control1, let control2): addCurve(to: end, control1: control1, control2: control2)
      case .arc(let center, let radius, let start, let end, let clockwise):
        addArc(center: center, radius: radius, startAngle: start, endAngle: end, clockwise: clockwise)
      case .rect(let rect): addRect(rect)
      case .ellipse(let rect): addEllipse(in: rect)
      case .roundedRect(let rect, let width, let height):
        addRoundedRect(in: rect, cornerWidth: width, cornerHeight: height)
      case .roundedRectWithRadii(let rect, let radii): addRoundedRect(in: rect, cornerRadii: radii)
      case .close: closePath()
      }
    }
  }
  /// Closes the subpath with a line to its beginning.
  public func closePath() { gesso_context_close_path(handle) }

  /// Fills the path and begins a new one.
  public func fillPath(using rule: FillRule = .winding) { gesso_context_fill_path(handle, rule.value) }
  /// Strokes the path and begins a new one.
  public func strokePath() { gesso_context_stroke_path(handle) }
  /// From now on only what is inside of the path shows; begins a new path.
  public func clip(using rule: FillRule = .winding) { gesso_context_clip(handle, rule.value) }

  /// From now on only what is inside of the rectangle shows. The path stays.
  public func clip(to rect: CGRect) {
    gesso_context_clip_to_rect(
      handle, Double(rect.minX), Double(rect.minY), Double(rect.width), Double(rect.height))
  }
  /// Fills a rectangle. The path stays.
  public func fill(_ rect: CGRect) {
    gesso_context_fill_rect(
      handle, Double(rect.minX), Double(rect.minY), Double(rect.width), Double(rect.height))
  }
  /// Fills the ellipse that fits into a rectangle, and begins a new path.
  public func fillEllipse(in rect: CGRect) {
    beginPath()
    addEllipse(in: rect)
    fillPath()
  }
  /// Strokes a rectangle, and begins a new path.
  public func stroke(_ rect: CGRect) {
    beginPath()
    addRect(rect)
    strokePath()
  }
  /// Strokes the ellipse that fits into a rectangle, and begins a new path.
  public func strokeEllipse(in rect: CGRect) {
    beginPath()
    addEllipse(in: rect)
    strokePath()
  }
  /// Makes a rectangle transparent; in an opaque bitmap, black. The path stays.
  public func clear(_ rect: CGRect) {
    gesso_context_clear_rect(
      handle, Double(rect.minX), Double(rect.minY), Double(rect.width), Double(rect.height))
  }
  /// The smallest rectangle that holds the clip.
  public var boundingBoxOfClipPath: CGRect {
    var x = 0.0
    var y = 0.0
    var width = 0.0
    var height = 0.0
    gesso_context_clip_bounds(handle, &x, &y, &width, &height)
    return CGRect(x: x, y: y, width: width, height: height)
  }
}
