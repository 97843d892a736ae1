import Foundation

/// What the benches of drawer and cache measure in Swift: scripts/bench calls it.
let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "trace" where arguments.count >= 3:
  guard let capacity = Int(arguments[2]), capacity > 0 else { fail("\(arguments[2]) is no capacity") }
  try TraceBench(file: arguments[1], capacity: capacity, isHinted: arguments.contains("--hinted")).run()
case "drawer":
  try DrawerBench(isQuick: arguments.contains("--quick")).run(only: arguments.contains("--only") ? arguments.last! : "")
case "disk" where arguments.count >= 2: try DiskBench(Array(arguments.dropFirst(2))).run(arguments[1])
default: fail("usage: gesso-bench trace FILE CAPACITY [--hinted] | drawer [--quick] | disk OPERATION DIR COUNT SEED")
}

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("gesso-bench: \(message)\n".utf8))
  exit(1)
}
