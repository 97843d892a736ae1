import Foundation

/// Options of a command line: `--name value` or `--name=value`, and flags that stand alone.
struct Options {
  private var values: [String: String] = [:]
  private var flags: Set<String> = []
  /// What stands by itself, such as names of files.
  private(set) var operands: [String] = []
  private let help: String

  init(
    _ arguments: [String], values known: [String], flags knownFlags: [String], takesOperands: Bool = false, help: String
  ) throws(UsageError) {
    self.help = help
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if takesOperands, argument == "--" {
        operands += rest
        break
      }
      if takesOperands, !argument.hasPrefix("--") {
        operands.append(argument)
        continue
      }
      guard argument.hasPrefix("--") else { throw UsageError("\"\(argument)\" is not an option", help: help) }
      let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      if knownFlags.contains(name), parts.count == 1 {
        flags.insert(name)
      } else if known.contains(name) {
        guard let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() else {
          throw UsageError("--\(name) needs a value", help: help)
        }
        values[name] = value
      } else {
        throw UsageError("there is no option --\(name)", help: help)
      }
    }
  }

  func has(_ flag: String) -> Bool { flags.contains(flag) }

  func string(_ name: String) -> String? { values[name] }

  /// A value that is parsed, or `standard` where there is none.
  /// - Parameter expected: what it should be, for the message.
  func value<Value>(
    _ name: String, default standard: Value, expected: String, parse: (String) -> Value?
  ) throws(UsageError) -> Value {
    guard let text = values[name] else { return standard }
    guard let value = parse(text) else {
      throw UsageError("--\(name) \(text): expected \(expected)", help: help)
    }
    return value
  }

  /// Names separated by commas, each of which has to be one of those that there are.
  func names(_ name: String, of known: [String]) throws(UsageError) -> [String] {
    guard let text = values[name] else { return known }
    let names = text.split(separator: ",").map(String.init)
    for unknown in names where !known.contains(unknown) {
      throw UsageError("--\(name) \(unknown): there are \(known.joined(separator: ", "))", help: help)
    }
    if names.isEmpty { throw UsageError("--\(name): at least one of \(known.joined(separator: ", "))", help: help) }
    return names
  }
}
