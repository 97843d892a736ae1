import Foundation
import Synchronization

/// The screen that is drawn for.
public enum Screen {
  private static let bits = Atomic<UInt64>(initialScale.bitPattern)

  private static var initialScale: Double {
    guard let text = ProcessInfo.processInfo.environment["GESSO_SCALE"], let scale = Double(text),
      scale.isFinite, scale > 0
    else { return 1 }
    return scale
  }

  /// Pixels per point of what is drawn without a scale of its own.
  ///
  /// 1 unless the program sets it, or the environment variable `GESSO_SCALE` did before it started. Values that are
  /// not finite or not above 0 are ignored, so that a screen which is not there yet never makes blurry pictures.
  /// May be read and set on any thread.
  public static var scale: CGFloat {
    get { CGFloat(Double(bitPattern: bits.load(ordering: .relaxed))) }
    set {
      guard newValue.isFinite, newValue > 0 else { return }
      bits.store(Double(newValue).bitPattern, ordering: .relaxed)
    }
  }
}
