import Foundation

/// What a ``CellRegistry`` cannot do.
public enum CellError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Nothing is registered under this identifier; what is.
  case notRegistered(identifier: String, registered: [String])
  /// The cell is of another type than was asked for.
  case wrongType(identifier: String, expected: String, found: String)
  /// The cell was not handed out under this identifier, or was given back before.
  case notHandedOut(identifier: String)

  /// A sentence for a person.
  public var description: String {
    switch self {
    case .notRegistered(let identifier, let registered):
      "no cell is registered for \"\(identifier)\"; registered are: "
        + (registered.isEmpty ? "none" : registered.sorted().joined(separator: ", "))
    case .wrongType(let identifier, let expected, let found):
      "cells of \"\(identifier)\" are \(found), not \(expected)"
    case .notHandedOut(let identifier): "the cell is not one that was handed out for \"\(identifier)\""
    }
  }
}

/// Pools of cells by reuse identifier, some made ahead, so that scrolling never instantiates one.
///
///     cells.register(BadgeCell.self, forReuseIdentifier: "badge", cacheSize: 10)
///     let cell = try cells.dequeue("badge", as: BadgeCell.self)
///     …
///     try cells.enqueue(cell, forReuseIdentifier: "badge")
@MainActor
public final class CellRegistry {
  /// How many cells came from where, so far.
  public struct Statistics: Hashable, Sendable {
    /// Made ahead, when they were registered.
    public var premade = 0
    /// Handed out again after another row.
    public var fromReuse = 0
    /// Handed out for the first time, made ahead.
    public var fromPremade = 0
    /// Made while something waited for them.
    public var made = 0
  }

  private struct Pool {
    let make: @MainActor () -> any ReusableCell
    var reusable: [any ReusableCell] = []
    var premade: [any ReusableCell] = []
    var handedOut: Set<ObjectIdentifier> = []
  }

  private var pools: [String: Pool] = [:]
  private let warn: @MainActor (String) -> Void

  /// Counts of all identifiers together.
  public private(set) var statistics = Statistics()

  /// A registry.
  /// - Parameter warn: told when a cell had to be made while scrolling; writes a line to standard error by default.
  public init(warn: @escaping @MainActor (String) -> Void = CellRegistry.printWarning) { self.warn = warn }

  /// Writes a line to standard error.
  public static func printWarning(_ message: String) {
    FileHandle.standardError.write(Data("Gesso: \(message)\n".utf8))
  }

  /// Registers a class of cells, and makes some ahead. What was registered for the identifier before is forgotten.
  /// - Parameter cacheSize: cells to make now; as many as can be on screen at once, so that none is made later.
  public func register<Cell: ReusableCell>(
    _ type: Cell.Type, forReuseIdentifier identifier: String, cacheSize: Int = 0
  ) {
    register(reuseIdentifier: identifier, cacheSize: cacheSize) { type.init() }
  }

  /// Registers cells that a closure makes, and makes some ahead.
  public func register(
    reuseIdentifier identifier: String, cacheSize: Int = 0, make: @escaping @MainActor () -> any ReusableCell
  ) {
    var pool = Pool(make: make)
    for _ in 0..<max(0, cacheSize) { pool.premade.append(make()) }
    statistics.premade += max(0, cacheSize)
    pools[identifier] = pool
  }

  /// A cell to show a row with: one that was given back, else one that was made ahead, else a new one, with a warning.
  public func dequeue(_ identifier: String) throws(CellError) -> any ReusableCell {
    guard let make = pools[identifier]?.make else {
      throw .notRegistered(identifier: identifier, registered: Array(pools.keys))
    }
    // The pool is up to date before anybody else's code is called, which may use the registry.
    if let reused = pools[identifier]!.reusable.popLast() {
      pools[identifier]!.handedOut.insert(ObjectIdentifier(reused))
      statistics.fromReuse += 1
      reused.prepareForReuse()
      return reused
    }
    if let premade = pools[identifier]!.premade.popLast() {
      pools[identifier]!.handedOut.insert(ObjectIdentifier(premade))
      statistics.fromPremade += 1
      return premade
    }
    statistics.made += 1
    warn(
      "a cell of \"\(identifier)\" was made while one was waited for (\(pools[identifier]!.handedOut.count) are in use); "
        + "a larger cacheSize would have had it ready")
    let cell = make()
    pools[identifier]?.handedOut.insert(ObjectIdentifier(cell))
    return cell
  }

  /// A cell of a type.
  public func dequeue<Cell: ReusableCell>(_ identifier: String, as type: Cell.Type) throws(CellError) -> Cell {
    let cell = try dequeue(identifier)
    guard let typed = cell as? Cell else {
      try enqueue(cell, forReuseIdentifier: identifier)
      throw .wrongType(identifier: identifier, expected: "\(type)", found: "\(Swift.type(of: cell))")
    }
    return typed
  }

  /// Gives a cell back when its row is no longer on screen.
  public func enqueue(_ cell: any ReusableCell, forReuseIdentifier identifier: String) throws(CellError) {
    guard pools[identifier]?.handedOut.remove(ObjectIdentifier(cell)) != nil else {
      throw .notHandedOut(identifier: identifier)
    }
    pools[identifier]!.reusable.append(cell)
  }
}
