import Foundation

/// What the calling thread is drawing right now, the innermost last.
///
/// By thread and not by task: a task that a draw block begins is not part of the draw.
enum DrawStack {
  private struct Entry {
    let drawer: ObjectIdentifier
    let key: BitmapKey
  }

  private static let name = "gesso.drawing"

  private static var entries: [Entry] {
    get { Thread.current.threadDictionary[name] as? [Entry] ?? [] }
    set { Thread.current.threadDictionary[name] = newValue }
  }

  /// Whether the thread draws nothing.
  static var isEmpty: Bool { entries.isEmpty }

  /// Whether the thread draws this key for this drawer.
  static func contains(_ key: BitmapKey, of drawer: CachedDrawer) -> Bool {
    entries.contains { $0.drawer == ObjectIdentifier(drawer) && $0.key == key }
  }

  /// Does something as the draw of a key.
  static func with<Result>(_ key: BitmapKey, of drawer: CachedDrawer, _ body: () -> Result) -> Result {
    let before = entries
    entries = before + [Entry(drawer: ObjectIdentifier(drawer), key: key)]
    defer { entries = before }
    return body()
  }
}
