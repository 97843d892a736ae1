import Foundation
import Testing

@testable import Gesso

@Suite("What killed processes leave behind")
struct StaleFilesTests {
  /// A file or directory of such an age.
  private func make(_ name: String, in directory: URL, isDirectory: Bool = false, age: Double) throws -> String {
    let path = directory.appendingPathComponent(name).path
    if isDirectory {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try Data([1]).write(to: URL(fileURLWithPath: path + "/inner"))
    } else {
      try Data([1]).write(to: URL(fileURLWithPath: path))
    }
    let date = Date(timeIntervalSinceNow: -age)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    return path
  }

  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  @Test("is removed if nobody owns it and it is old, and nothing else is")
  func sweeping() async throws {
    try await withTemporaryDirectory { directory in
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      func name(_ prefix: String = ".gesso-") -> String { "\(prefix)1-\(UUID().uuidString)" }
      let stale = try make(name() + ".tmp", in: directory, age: 100)
      let folder = try make(name("gesso-temporary-"), in: directory, isDirectory: true, age: 100)
      let young = try make(name() + ".tmp", in: directory, age: 5)
      // Of others, who call theirs nearly so.
      let others = try [
        ".gesso-settings", ".gesso-1-c.tmp", name(), name("gesso-") + ".tmp", ".gesso-x-\(UUID().uuidString).tmp",
      ].map { try make($0, in: directory, age: 100) }
      let folders = try [name() + ".tmp", "gesso-temporary-mine"].map {
        try make($0, in: directory, isDirectory: true, age: 100)
      }
      let owned = try make(name() + ".tmp", in: directory, age: 100)
      let owner = open(owned, O_RDONLY)
      StaleFiles.claim(owner)
      let target = try make("target", in: directory, age: 100)
      let link = directory.appendingPathComponent(name() + ".tmp").path
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
      StaleFiles.sweep(directory.path, .file)
      #expect(!exists(stale) && exists(folder))
      StaleFiles.sweep(directory.path, .directory)
      #expect(!exists(folder))
      #expect(exists(young) && exists(owned) && exists(target) && exists(link))
      for other in others + folders { #expect(exists(other), "\(other)") }
      close(owner)
      StaleFiles.sweep(directory.path, .file)
      #expect(!exists(owned), "its owner is gone")
      StaleFiles.sweep(directory.path + "/none", .file)
    }
  }

  @Test("is looked for when something is written to a directory for the first time")
  func firstWrite() async throws {
    try await withTemporaryDirectory { directory in
      let cache = directory.appendingPathComponent("cache")
      try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
      let stale = try make(".gesso-99999-\(UUID().uuidString).tmp", in: cache, age: 100)
      let writer = DiskWriter(directories: StorageDirectories(in: directory), completions: ImmediateCompletionQueue())
      let saved = try await writer.write(Data([1, 2]), to: .cache)
      #expect(!exists(stale) && exists(saved.url.path))
    }
  }
}
