import CCairo
import Foundation
import Gesso

/// What the figures of a profile were measured on.
struct Machine: Encodable {
  let processor: String
  let processors: Int
  let memoryBytes: UInt64
  let system: String

  enum CodingKeys: String, CodingKey {
    case processor, processors, memoryBytes = "memory_bytes", system
  }

  init() {
    let information = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let model = information.split(separator: "\n").first { $0.hasPrefix("model name") }
    processor = model?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
    processors = ProcessInfo.processInfo.activeProcessorCount
    memoryBytes = ProcessInfo.processInfo.physicalMemory
    var names = utsname()
    uname(&names)
    system = withUnsafeBytes(of: names.release) {
      "Linux \(String(cString: $0.bindMemory(to: CChar.self).baseAddress!))"
    }
  }
}

/// Cairo's version, as it runs.
var cairoVersion: String { String(cString: cairo_version_string()) }

/// The compiler's version, as far as a program can tell.
var swiftVersion: String {
  #if compiler(>=6.4)
    "6.4 or later"
  #elseif compiler(>=6.3)
    "6.3"
  #elseif compiler(>=6.2)
    "6.2"
  #else
    "6.1"
  #endif
}
