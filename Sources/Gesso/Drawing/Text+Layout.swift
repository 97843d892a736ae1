internal import CGesso
internal import CGessoText
import Foundation

/// What laid-out text takes up.
public struct TextMetrics: Hashable, Sendable {
  /// Points, not rounded.
  public let size: CGSize
  /// From the top to the first line's baseline, in points.
  public let firstBaseline: CGFloat
  /// Lines that are shown.
  public let lineCount: Int
  /// Whether an ellipsis stands for some of it, or lines were left out.
  public let isTruncated: Bool
}

extension Text {
  /// Lays the text out and measures it.
  ///
  /// - Parameter bounds: points to break lines and truncate at; `.greatestFiniteMagnitude` or 0 where there is no
  ///   bound. The height counts only for text that is truncated.
  /// - Throws: `RasterError.invalidArgument` for NaN, negative bounds, or a font size that is not above 0 (or over
  ///   10,000); `noFonts`; `failed` for more than 1 MiB of text.
  ///
  /// Thread-safety: any thread.
  public func metrics(fitting bounds: CGSize = .zero) throws(RasterError) -> TextMetrics {
    var options = options(.topLeading)
    options.width = Double(bounds.width)
    options.height = Double(bounds.height)
    var metrics = gesso_text_metrics()
    metrics.struct_size = MemoryLayout<gesso_text_metrics>.size
    let status = withRuns { gesso_text_measure($0.baseAddress, $0.count, &options, &metrics) }
    guard status == GESSO_OK else { throw RasterError(status) }
    return TextMetrics(
      size: CGSize(width: metrics.width, height: metrics.height), firstBaseline: CGFloat(metrics.first_baseline),
      lineCount: Int(metrics.line_count), isTruncated: metrics.is_truncated)
  }

  /// The size that the text takes up, in points. As ``metrics(fitting:)``.
  public func size(fitting bounds: CGSize = .zero) throws(RasterError) -> CGSize {
    try metrics(fitting: bounds).size
  }

  fileprivate func options(_ alignment: Alignment) -> gesso_text_options {
    var options = gesso_text_options()
    options.struct_size = MemoryLayout<gesso_text_options>.size
    options.maximum_lines = UInt32(clamping: numberOfLines)
    options.line_spacing = Double(lineSpacing)
    options.line_break = gesso_line_break(lineBreakMode.rawValue)
    options.alignment =
      switch alignment.horizontal {
      case _ where isJustified: GESSO_TEXT_JUSTIFIED
      case .leading: GESSO_TEXT_NATURAL
      case .left: GESSO_TEXT_LEFT
      case .center: GESSO_TEXT_CENTER
      case .right: GESSO_TEXT_RIGHT
      }
    options.vertical =
      switch alignment.vertical {
      case .top: 0
      case .center: 0.5
      case .bottom: 1
      }
    return options
  }

  /// Lends the runs as C has them. All characters lie in one buffer; NUL, which ends text in C, is left out.
  fileprivate func withRuns<Result>(_ body: (UnsafeBufferPointer<gesso_text_run>) -> Result) -> Result {
    var bytes: [UInt8] = []
    var places: [(start: Int, length: Int, family: Int)] = []
    for run in runs {
      let start = bytes.count
      bytes += run.string.utf8.lazy.filter { $0 != 0 }
      let length = bytes.count - start
      places.append((start, length, bytes.count))
      bytes += (run.font.family ?? "").utf8.lazy.filter { $0 != 0 }
      bytes.append(0)
    }
    return bytes.withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { characters in
        let values = zip(runs, places).map { run, place in
          var value = gesso_text_run()
          value.utf8 = characters.baseAddress.map { $0 + place.start }
          value.length = place.length
          value.family = run.font.family == nil ? nil : characters.baseAddress.map { $0 + place.family }
          value.size = Double(run.font.size)
          value.weight = Int32(run.font.weight.value)
          value.italic = run.font.isItalic
          value.underline = run.isUnderlined
          value.strikethrough = run.isStruckThrough
          value.red = run.color.red
          value.green = run.color.green
          value.blue = run.color.blue
          value.alpha = run.color.alpha
          return value
        }
        return values.withUnsafeBufferPointer(body)
      }
    }
  }
}

extension DrawingContext {
  /// Draws text into a rectangle of points. Alpha, blend mode and shadow apply; the colours are the text's own.
  ///
  /// Text that is not truncated is clipped to the rectangle's height.
  public func draw(_ text: Text, in rect: CGRect, alignment: Text.Alignment = .topLeading) {
    var options = text.options(alignment)
    text.withRuns {
      gesso_text_draw(
        handle, $0.baseAddress, $0.count, &options, Double(rect.minX), Double(rect.minY), Double(rect.width),
        Double(rect.height))
    }
  }
}
