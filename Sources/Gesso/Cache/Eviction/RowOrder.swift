/// The rows on screen, and where a list has moved last: down, 1, up, -1, or nowhere yet, 0.
struct VisibleRows {
  private(set) var rows: ClosedRange<Int32>
  private(set) var direction = 0

  init(_ rows: ClosedRange<Int32>) { self.rows = rows }

  /// Others are shown, of the same list.
  mutating func move(to rows: ClosedRange<Int32>) {
    if rows.lowerBound != self.rows.lowerBound { direction = rows.lowerBound > self.rows.lowerBound ? 1 : -1 }
    self.rows = rows
  }
}

/// Keys with rows, in the order of rows, so that the farthest from the screen is at one of the ends.
struct RowOrder {
  private var sorted: [(row: Int32, slot: Int32)]

  init(_ rows: some Sequence<(Int32, Int32)> = []) { sorted = rows.sorted { $0 < $1 }.map { (row: $0.0, slot: $0.1) } }

  /// The slots of the rows on screen.
  func slots(on screen: ClosedRange<Int32>) -> some Sequence<Int32> {
    sorted[place(of: screen.lowerBound, .min)..<place(of: screen.upperBound, .max)].lazy.map(\.slot)
  }

  mutating func insert(_ row: Int32, _ slot: Int32) { sorted.insert((row, slot), at: place(of: row, slot)) }

  mutating func remove(_ row: Int32, _ slot: Int32) {
    let at = place(of: row, slot)
    if at < sorted.count, sorted[at] == (row, slot) { sorted.remove(at: at) }
  }

  /// The row that is farthest from the screen, and how far in rows: those ahead are nearer than they are, as a list mostly
  /// goes on in the direction in which it moves. `nil`: all are on screen, or there is none.
  func farthest(from screen: VisibleRows) -> (slot: Int32, distance: Double)? {
    guard let first = sorted.first, let last = sorted.last else { return nil }
    var above = Double(screen.rows.lowerBound) - Double(first.row)
    var below = Double(last.row) - Double(screen.rows.upperBound)
    if screen.direction < 0 { above *= Self.ahead }
    if screen.direction > 0 { below *= Self.ahead }
    guard max(above, below) > 0 else { return nil }
    return above > below ? (first.slot, above) : (last.slot, below)
  }

  private static let ahead = 0.7

  private func place(of row: Int32, _ slot: Int32) -> Int {
    var (low, high) = (0, sorted.count)
    while low < high {
      let middle = (low + high) / 2
      if sorted[middle] < (row, slot) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
