/// What has been invalidated lately, so that who began before can ask whether what he has is out of date.
struct InvalidationLog {
  private static let remembered = 256

  /// How many there have been.
  private(set) var count = 0
  private var recent: [KeySelection] = []

  mutating func append(_ selection: KeySelection) {
    count += 1
    recent.append(selection)
    if recent.count > 2 * Self.remembered { recent.removeFirst(Self.remembered) }
  }

  /// Whether a user's key has been invalidated since there were so many. What is too long ago is taken for it.
  func contains(_ key: String, since begin: Int) -> Bool {
    if begin >= count { return false }
    let first = recent.count - (count - begin)
    return first < 0 || recent[first...].contains { $0.contains(key) }
  }
}
