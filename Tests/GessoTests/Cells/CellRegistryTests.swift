import Testing

@testable import Gesso

@MainActor
private final class TestCell: ReusableCell {
  static var made = 0
  var events: [String] = []
  init() { TestCell.made += 1 }
  func prepareForReuse() { events.append("prepared") }
}

@MainActor
private final class OtherCell: ReusableCell {
  let style: String
  init() { style = "default" }
  init(style: String) { self.style = style }
}

@MainActor
@Suite("A cell registry", .serialized)
struct CellRegistryTests {
  @Test("makes cells ahead, and hands them out without making one")
  func premade() throws {
    var warnings: [String] = []
    let registry = CellRegistry { warnings.append($0) }
    let before = TestCell.made
    registry.register(TestCell.self, forReuseIdentifier: "row", cacheSize: 3)
    #expect(TestCell.made == before + 3)
    for _ in 0..<3 { _ = try registry.dequeue("row", as: TestCell.self) }
    #expect(TestCell.made == before + 3 && warnings.isEmpty)
    #expect(registry.statistics == .init(premade: 3, fromReuse: 0, fromPremade: 3, made: 0))
  }

  @Test("looks among the returned cells first, then among those made ahead, then makes one with a warning")
  func order() throws {
    var warnings: [String] = []
    let registry = CellRegistry { warnings.append($0) }
    registry.register(TestCell.self, forReuseIdentifier: "row", cacheSize: 2)
    let first = try registry.dequeue("row", as: TestCell.self)
    try registry.enqueue(first, forReuseIdentifier: "row")
    let again = try registry.dequeue("row", as: TestCell.self)
    #expect(again === first)
    let second = try registry.dequeue("row", as: TestCell.self)
    #expect(second !== first && warnings.isEmpty)
    _ = try registry.dequeue("row", as: TestCell.self)
    #expect(warnings.count == 1 && warnings[0].contains("\"row\""))
    #expect(registry.statistics == .init(premade: 2, fromReuse: 1, fromPremade: 2, made: 1))
  }

  @Test("prepares a cell each time before it is handed out again, and never before the first")
  func prepares() throws {
    let registry = CellRegistry { _ in }
    registry.register(TestCell.self, forReuseIdentifier: "row", cacheSize: 1)
    let cell = try registry.dequeue("row", as: TestCell.self)
    #expect(cell.events.isEmpty)
    for count in 1...3 {
      try registry.enqueue(cell, forReuseIdentifier: "row")
      _ = try registry.dequeue("row", as: TestCell.self)
      #expect(cell.events.count == count)
    }
  }

  @Test("makes cells by a factory")
  func factory() throws {
    let registry = CellRegistry { _ in }
    registry.register(reuseIdentifier: "card", cacheSize: 1) { OtherCell(style: "compact") }
    #expect(try registry.dequeue("card", as: OtherCell.self).style == "compact")
    #expect(try registry.dequeue("card", as: OtherCell.self).style == "compact")
  }

  @Test("says what is registered when an identifier is not")
  func unknown() {
    let registry = CellRegistry { _ in }
    registry.register(TestCell.self, forReuseIdentifier: "row")
    #expect(throws: CellError.notRegistered(identifier: "rwo", registered: ["row"])) { try registry.dequeue("rwo") }
  }

  @Test("keeps a cell that is of another type than was asked for")
  func wrongType() throws {
    let registry = CellRegistry { _ in }
    registry.register(TestCell.self, forReuseIdentifier: "row", cacheSize: 1)
    #expect(throws: CellError.wrongType(identifier: "row", expected: "OtherCell", found: "TestCell")) {
      try registry.dequeue("row", as: OtherCell.self)
    }
    _ = try registry.dequeue("row", as: TestCell.self)
    #expect(registry.statistics.made == 0)
  }

  @Test("loses no cell when a cell's own code uses the registry")
  func reentrant() throws {
    final class Parent: ReusableCell {
      var child: TestCell?
      var giveBack: (TestCell) -> Void = { _ in }
      func prepareForReuse() {
        if let child { giveBack(child) }
        child = nil
      }
    }
    let registry = CellRegistry { _ in }
    registry.register(reuseIdentifier: "row", cacheSize: 0) { Parent() }
    registry.register(TestCell.self, forReuseIdentifier: "child", cacheSize: 1)
    let parent = try registry.dequeue("row", as: Parent.self)
    parent.child = try registry.dequeue("child", as: TestCell.self)
    parent.giveBack = { try? registry.enqueue($0, forReuseIdentifier: "child") }
    let child = parent.child
    try registry.enqueue(parent, forReuseIdentifier: "row")
    #expect(try registry.dequeue("row", as: Parent.self) === parent)
    #expect(try registry.dequeue("child", as: TestCell.self) === child)
  }

  @Test("takes back only what it handed out, and once")
  func returning() throws {
    let registry = CellRegistry { _ in }
    registry.register(TestCell.self, forReuseIdentifier: "row", cacheSize: 1)
    let cell = try registry.dequeue("row", as: TestCell.self)
    try registry.enqueue(cell, forReuseIdentifier: "row")
    #expect(throws: CellError.notHandedOut(identifier: "row")) {
      try registry.enqueue(cell, forReuseIdentifier: "row")
    }
    #expect(throws: CellError.notHandedOut(identifier: "row")) {
      try registry.enqueue(TestCell(), forReuseIdentifier: "row")
    }
  }
}
