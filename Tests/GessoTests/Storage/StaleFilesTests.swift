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
      let stale = try make(".gesso-1-a.tmp", in: directory, age: 100)
      let folder = try make(".gesso-folder", in: directory, isDirectory: true, age: 100)
      let young = try make(".gesso-1-b.tmp", in: directory, age: 5)
      let other = try make("gesso-1-c.tmp", in: directory, age: 100)
      let owned = try make(".gesso-1-d.tmp", in: directory, age: 100)
      let owner = open(owned, O_RDONLY)
      StaleFiles.claim(owner)
      let target = try make("target", in: directory, age: 100)
      let link = directory.appendingPathComponent(".gesso-link").path
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
      StaleFiles.sweep(directory.path, prefix: ".gesso-")
      #expect(!exists(stale) && !exists(folder))
      #expect(exists(young) && exists(other) && exists(owned) && exists(target) && exists(link))
      close(owner)
      StaleFiles.sweep(directory.path, prefix: ".gesso-")
      #expect(!exists(owned), "its owner is gone")
      StaleFiles.sweep(directory.path + "/none", prefix: "")
    }
  }

  @Test("is looked for when something is written to a directory for the first time")
  func firstWrite() async throws {
    try await withTemporaryDirectory { directory in
      let cache = directory.appendingPathComponent("cache")
      try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
      let stale = try make(".gesso-99999-x.tmp", in: cache, age: 100)
      let writer = DiskWriter(directories: StorageDirectories(in: directory), completions: ImmediateCompletionQueue())
      let saved = try await writer.write(Data([1, 2]), to: .cache)
      #expect(!exists(stale) && exists(saved.url.path))
    }
  }
}
