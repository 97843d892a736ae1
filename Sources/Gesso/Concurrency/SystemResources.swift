internal import CGessoSystem
import Foundation

/// What this process may use of the machine: the smaller of what there is and what its control groups allow.
enum SystemResources {
  /// Processors: by affinity mask and cgroup quota, at least 1.
  static let processors: Int = {
    var count = ProcessInfo.processInfo.activeProcessorCount
    let affinity = Int(gesso_affinity_count())
    if affinity > 0 { count = affinity }
    for file in controlFiles("cpu.max", legacy: "cpu/cpu.cfs_quota_us") {
      let numbers = file.split(whereSeparator: \.isWhitespace).map { Double($0) }
      guard let quota = numbers.first ?? nil, quota > 0 else { continue }
      let period = (numbers.count > 1 ? numbers[1] : nil) ?? 100_000
      count = min(count, Int((quota / period).rounded(.up)))
    }
    return max(1, count)
  }()

  /// Bytes of memory.
  static let memory: Int = {
    var bytes = Int(clamping: ProcessInfo.processInfo.physicalMemory)
    for file in controlFiles("memory.max", legacy: "memory/memory.limit_in_bytes") {
      if let limit = Int(file.trimmingCharacters(in: .whitespacesAndNewlines)), limit > 0 { bytes = min(bytes, limit) }
    }
    return bytes
  }()

  /// The contents of a control file in the process's group and in each group above it.
  private static func controlFiles(_ name: String, legacy: String) -> [String] {
    let root = "/sys/fs/cgroup"
    var path = "/"
    if let groups = try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8),
      let own = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::") })
    {
      path = String(own.dropFirst(3))
    }
    var files: [String] = []
    while true {
      if let text = try? String(contentsOfFile: root + path + "/" + name, encoding: .utf8) { files.append(text) }
      guard path.count > 1 else { break }
      path = (path as NSString).deletingLastPathComponent
    }
    if files.isEmpty, let text = try? String(contentsOfFile: root + "/" + legacy, encoding: .utf8) {
      files.append(text)
    }
    return files
  }
}
