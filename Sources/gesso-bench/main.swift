import Foundation

/// What the benches of drawer and cache measure in Swift: scripts/bench calls it.
let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "trace" where arguments.count >= 3:
  guard let capacity = Int(arguments[2]), capacity > 0 else { fail("\(arguments[2]) is no capacity") }
  try TraceBench(file: arguments[1], capacity: capacity, isHinted: arguments.contains("--hinted")).run()
case "drawer":
  try DrawerBench(isQuick: arguments.contains("--quick")).run(only: arguments.contains("--only") ? arguments.last! : "")
default: fail("usage: gesso-bench trace FILE CAPACITY [--hinted] | drawer [--quick]")
}

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("gesso-bench: \(message)\n".utf8))
  exit(1)
}
