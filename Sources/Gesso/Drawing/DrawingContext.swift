internal import CGesso
import Foundation

/// Where drawing happens: CoreGraphics' words and UIKit's orientation, so that `drawRect:` code ports line by line.
///
/// The origin is at the top left, y points down, lengths are in points. A context is lent to a draw block and cannot be
/// kept: the compiler refuses. Drawing calls do not throw: the first error stays in the context, later calls do
/// nothing, and whoever lent the context reports the error when the block returns.
///
/// Thread-safety: used by the thread that it was lent to.
public struct DrawingContext: ~Copyable {
  let handle: OpaquePointer

  init(_ handle: OpaquePointer) { self.handle = handle }

  /// Pixels per point.
  public var scale: CGFloat { CGFloat(gesso_context_scale(handle)) }

  /// The error of an earlier call, if there was one.
  public var error: RasterError? {
    let status = gesso_context_status(handle)
    return status == GESSO_OK ? nil : RasterError(status)
  }

  /// Whether nobody waits any more for what is being drawn for a ``CachedDrawer``. A long draw asks now and then, and
  /// returns or throws: once it was told so, what it draws is not kept.
  public var isCancelled: Bool { DrawStack.isCancelled }

  /// Lends Cairo's context (a `cairo_t *`), for what is missing here. Saves and restores have to be balanced.
  /// Does nothing and returns `nil` once the context has an error.
  public func withCairo<Result, Failure: Error>(
    _ body: (OpaquePointer) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let cairo = gesso_context_cairo(handle) else { return nil }
    return try body(cairo)
  }

  // MARK: State

  /// Saves the transform, the clip and all settings.
  public func saveGState() { gesso_context_save(handle) }
  /// Takes back what changed since the last save.
  public func restoreGState() { gesso_context_restore(handle) }

  /// Moves the origin.
  public func translateBy(x: CGFloat, y: CGFloat) { gesso_context_translate(handle, Double(x), Double(y)) }
  /// Stretches the axes; neither may be 0.
  public func scaleBy(x: CGFloat, y: CGFloat) { gesso_context_scale_by(handle, Double(x), Double(y)) }
  /// Turns the axes; a positive angle turns clockwise on the screen.
  public func rotate(by radians: CGFloat) { gesso_context_rotate(handle, Double(radians)) }
  /// Applies a transform before the present one.
  public func concatenate(_ t: CGAffineTransform) {
    gesso_context_concatenate(handle, gesso_transform(a: t.a, b: t.b, c: t.c, d: t.d, tx: t.tx, ty: t.ty))
  }
  /// The present transform, from points to pixels.
  public var ctm: CGAffineTransform {
    let t = gesso_context_transform(handle)
    return CGAffineTransform(a: t.a, b: t.b, c: t.c, d: t.d, tx: t.tx, ty: t.ty)
  }

  /// The colour of fills; black at first.
  public func setFillColor(_ color: Color) {
    gesso_context_set_fill_color(handle, color.red, color.green, color.blue, color.alpha)
  }
  /// The colour of strokes; black at first.
  public func setStrokeColor(_ color: Color) {
    gesso_context_set_stroke_color(handle, color.red, color.green, color.blue, color.alpha)
  }
  /// Points; 1 at first, 0 strokes nothing.
  public func setLineWidth(_ width: CGFloat) { gesso_context_set_line_width(handle, Double(width)) }
  /// How lines end.
  public func setLineCap(_ cap: LineCap) { gesso_context_set_line_cap(handle, cap.value) }
  /// How lines meet.
  public func setLineJoin(_ join: LineJoin) { gesso_context_set_line_join(handle, join.value) }
  /// How far a mitred corner may reach, in line widths; 10 at first.
  public func setMiterLimit(_ limit: CGFloat) { gesso_context_set_miter_limit(handle, Double(limit)) }
  /// Dashes: lengths drawn and left out by turns; an empty array ends dashing. At most 64.
  public func setLineDash(phase: CGFloat, lengths: [CGFloat]) {
    gesso_context_set_line_dash(handle, Double(phase), lengths.map { Double($0) }, lengths.count)
  }
  /// The opacity of all that is drawn; 1 at first.
  public func setAlpha(_ alpha: CGFloat) { gesso_context_set_alpha(handle, Double(alpha)) }
  /// How what is drawn mixes with what is there.
  public func setBlendMode(_ mode: BlendMode) { gesso_context_set_blend_mode(handle, gesso_blend_mode(mode.rawValue)) }
  /// How bitmaps are resampled; ``InterpolationQuality/medium`` at first.
  public func setInterpolationQuality(_ quality: InterpolationQuality) {
    gesso_context_set_interpolation(handle, gesso_interpolation(quality.rawValue))
  }
  /// Whether edges are smooth; true at first.
  public func setShouldAntialias(_ antialias: Bool) { gesso_context_set_antialias(handle, antialias) }

  /// All that is drawn from now on casts a shadow.
  /// - Parameters:
  ///   - offset: in points, not changed by the transform; a positive height points down.
  ///   - blur: in points: twice the standard deviation of the Gaussian. 0 is a hard shadow; 1,000 pixels at most.
  ///   - color: alpha 0 ends shadows.
  public func setShadow(offset: CGSize, blur: CGFloat, color: Color = Color(white: 0, alpha: 1.0 / 3)) {
    gesso_context_set_shadow(
      handle, Double(offset.width), Double(offset.height), Double(blur), color.red, color.green, color.blue,
      color.alpha)
  }

  // MARK: Layers

  /// What is drawn until the layer ends is put together first, and then drawn as one thing, with the alpha, blend
  /// mode and shadow of now.
  public func beginTransparencyLayer() { gesso_context_begin_transparency_layer(handle) }
  /// Draws the layer, and restores the state of its beginning.
  public func endTransparencyLayer() { gesso_context_end_transparency_layer(handle) }

  // MARK: Gradients

  /// Fills the clip with a gradient along the line from start to end.
  public func drawLinearGradient(
    _ gradient: Gradient, start: CGPoint, end: CGPoint, options: Gradient.DrawingOptions = []
  ) {
    let stops = gradient.stops.map(\.value)
    gesso_context_draw_linear_gradient(
      handle, stops, stops.count, Double(start.x), Double(start.y), Double(end.x), Double(end.y), options.rawValue)
  }

  /// Fills the clip with a gradient from one circle to another.
  public func drawRadialGradient(
    _ gradient: Gradient, startCenter: CGPoint, startRadius: CGFloat, endCenter: CGPoint, endRadius: CGFloat,
    options: Gradient.DrawingOptions = []
  ) {
    let stops = gradient.stops.map(\.value)
    gesso_context_draw_radial_gradient(
      handle, stops, stops.count, Double(startCenter.x), Double(startCenter.y), Double(startRadius),
      Double(endCenter.x), Double(endCenter.y), Double(endRadius), options.rawValue)
  }

  // MARK: Bitmaps

  /// Draws a bitmap stretched over a rectangle, upright. An A8 bitmap is a mask for the fill colour.
  public func draw(_ bitmap: Bitmap, in rect: CGRect) {
    gesso_context_draw_bitmap(
      handle, bitmap.handle, Double(rect.minX), Double(rect.minY), Double(rect.width), Double(rect.height))
  }

  /// Draws a bitmap in nine parts, as a layer's `contentsCenter` does: the corners keep their size, the sides stretch one
  /// way, and the centre both.
  /// - Parameters:
  ///   - rect: in points; if it is upright, it is rounded to whole pixels.
  ///   - contentsCenter: in parts of the bitmap's width and height, 0…1.
  public func draw(_ bitmap: Bitmap, in rect: CGRect, contentsCenter: CGRect) {
    gesso_context_draw_bitmap_in_parts(
      handle, bitmap.handle, Double(rect.minX), Double(rect.minY), Double(rect.width), Double(rect.height),
      Double(contentsCenter.minX), Double(contentsCenter.minY), Double(contentsCenter.width),
      Double(contentsCenter.height))
  }

  /// Draws a bitmap in its own size.
  public func draw(_ bitmap: Bitmap, at point: CGPoint) { draw(bitmap, in: CGRect(origin: point, size: bitmap.size)) }
}

extension Gradient.Stop {
  fileprivate var value: gesso_gradient_stop {
    gesso_gradient_stop(
      location: location, red: color.red, green: color.green, blue: color.blue, alpha: color.alpha)
  }
}
