import Foundation
import Testing

/// What a run of the tool printed, and how it ended.
struct Run {
  let status: Int32
  let output: String
  let errors: String
}

/// Runs the tool that was built with these tests, as a shell does.
func gesso(_ arguments: String..., environment: [String: String] = [:]) throws -> Run {
  try gesso(arguments, environment: environment)
}

/// - Parameter input: what it reads; what these tests read themselves, if `nil`.
func gesso(_ arguments: [String], environment: [String: String] = [:], input: FileHandle? = nil) throws -> Run {
  let tests = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
  let process = Process()
  process.executableURL = tests.deletingLastPathComponent().appendingPathComponent("gesso")
  process.arguments = arguments
  process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("gesso-run-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  // Files and not pipes: a pipe that nobody reads stops the writer when it is full.
  let files = try ["out", "err"].map { name in
    let file = folder.appendingPathComponent(name)
    try Data().write(to: file)
    return (file, try FileHandle(forWritingTo: file))
  }
  if let input { process.standardInput = input }
  process.standardOutput = files[0].1
  process.standardError = files[1].1
  try process.run()
  process.waitUntilExit()
  func text(_ index: Int) throws -> String { String(decoding: try Data(contentsOf: files[index].0), as: UTF8.self) }
  #expect(process.terminationReason == .exit)
  return Run(status: process.terminationStatus, output: try text(0), errors: try text(1))
}

func withDirectory(_ body: (String) throws -> Void) throws {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("gesso-tests-\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: url) }
  try body(url.path)
}
