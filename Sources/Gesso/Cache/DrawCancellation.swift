import Synchronization

/// Whether a draw that has begun is still wanted, and whether its block has been told that it is not.
struct DrawCancellation: ~Copyable, Sendable {
  private enum State: UInt8 {
    case wanted, unwanted, seen
  }
  private let state = Atomic(State.wanted.rawValue)

  /// Nobody waits for the draw any more.
  func giveUp() {
    _ = state.compareExchange(
      expected: State.wanted.rawValue, desired: State.unwanted.rawValue, ordering: .acquiringAndReleasing)
  }

  /// Somebody waits for it again: possible unless the block has been told.
  func wantAgain() -> Bool {
    let (exchanged, before) = state.compareExchange(
      expected: State.unwanted.rawValue, desired: State.wanted.rawValue, ordering: .acquiringAndReleasing)
    return exchanged || before == State.wanted.rawValue
  }

  /// What the block is told. From then on, what it draws is no picture.
  func check() -> Bool {
    let (exchanged, before) = state.compareExchange(
      expected: State.unwanted.rawValue, desired: State.seen.rawValue, ordering: .acquiringAndReleasing)
    return exchanged || before == State.seen.rawValue
  }

  var wasSeen: Bool { state.load(ordering: .acquiring) == State.seen.rawValue }
}
