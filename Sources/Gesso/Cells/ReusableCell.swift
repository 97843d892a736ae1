/// A cell that shows one row, and later another one.
@MainActor
public protocol ReusableCell: AnyObject {
  /// Makes a cell that shows nothing yet.
  init()
  /// Forgets the row that was shown. Called each time before the cell is handed out again.
  func prepareForReuse()
}

extension ReusableCell {
  /// Forgets nothing.
  public func prepareForReuse() {}
}
