import Foundation
import Testing

@testable import Gesso
@testable import storage_worker

/// How often processes are killed: 500 times and more with `GESSO_KILLS=500`.
private let kills = ProcessInfo.processInfo.environment["GESSO_KILLS"].flatMap(Int.init) ?? 20

@Suite("A process that is killed", .serialized)
struct KilledProcessTests {
  /// Lets a worker work for a moment, and kills it.
  private func killOne(
    _ mode: String, _ directory: URL, _ history: inout WorkerHistory, _ random: inout SeededGenerator
  )
    async throws
  {
    let worker = try StorageWorker([mode, directory.path, "\(history.last + 1)"])
    // Once it is at work: at any of its steps.
    #expect(await eventually { worker.lines.count > 3 || !worker.isRunning })
    try await Task.sleep(for: .microseconds(Int.random(in: 0..<60_000, using: &random)))
    history.add(worker.kill())
  }

  @Test("has its documents, each of which is the last that was reported, or a later one")
  func documents() async throws {
    try await withTemporaryDirectory { directory in
      var history = WorkerHistory(), random = SeededGenerator(state: 1)
      let folder = StorageDirectories(in: directory).documents
      for kill in 0..<kills {
        try await killOne("documents", directory, &history, &random)
        for name in history.done.keys {
          let data = try Data(contentsOf: folder.appendingPathComponent(name))
          #expect(history.version(of: data, name) != nil, "\(name) after \(kill) kills")
        }
      }
      #expect(history.acknowledged > kills)
      // What was being written is swept, once it is old.
      let left = folder.files(".tmp")
      for file in left {
        try FileManager.default.setAttributes(
          [.modificationDate: Date(timeIntervalSinceNow: -100)], ofItemAtPath: file.path)
      }
      let writer = DiskWriter(directories: StorageDirectories(in: directory), completions: ImmediateCompletionQueue())
      try await writer.write(Data([1]), to: .documents)
      #expect(folder.files(".tmp").isEmpty)
    }
  }

  @Test("has a cache in which each blob is one that was put last, or is none; and what was removed stays so")
  func cache() async throws {
    try await withTemporaryDirectory { directory in
      var history = WorkerHistory(), random = SeededGenerator(state: 2)
      var found = 0
      for kill in 0..<kills {
        try await killOne("cache", directory, &history, &random)
        // Now and then with its index lost.
        if kill % 4 == 3 { try FileManager.default.removeItem(at: directory.appendingPathComponent("index")) }
        let cache = DiskCache.testing(directory, limits: nil)
        #expect(await eventually { (try? cache.statistics().isRebuilding) == false })
        for name in names(50, "blob").map({ $0.replacingOccurrences(of: ".", with: "") }) {
          guard let blob = try cache.blobNow(for: storeKey(name)) else { continue }
          found += 1
          #expect(
            history.version(of: blob, name) != nil, "\(name) after \(kill) kills")
        }
        let statistics = try cache.statistics()
        #expect(statistics.byteCount <= statistics.limits.byteCount + statistics.limits.segmentLength)
        #expect(try cache.verify().damaged.isEmpty)
      }
      #expect(found > 10 * kills, "most are there")
    }
  }

  @Test("leaves no segment behind, however often that happens")
  func freshSegments() async throws {
    try await withTemporaryDirectory { directory in
      for number in 0..<50 { _ = await (try StorageWorker(["leave", directory.path, "\(number)"])).end() }
      #expect(directory.files(".segment").count == 1, "it is gone on with")
      let cache = DiskCache.testing(directory, limits: nil)
      for number in 0..<50 {
        #expect(try cache.blobNow(for: storeKey("blob\(number)")) == contents("blob\(number)", 1))
      }
    }
  }
}

@Suite("Several processes with one disk cache", .serialized)
struct SharedCacheTests {
  @Test(
    "read each other's blobs, and nothing that is wrong, while all put, remove, prune and clear", arguments: [2, 4])
  func churn(_ count: Int) async throws {
    try await withTemporaryDirectory { directory in
      let seconds = testsAllFaults ? 60 : 2
      let workers = try (1...count).map { try StorageWorker(["churn", directory.path, "\($0)", "\(seconds)"]) }
      var hits = 0
      for worker in workers {
        let (status, lines) = await worker.end()
        #expect(status == 0 && lines.allSatisfy { $0[0] != "WRONG" }, "\(lines)")
        hits += lines.last.flatMap { $0.count == 4 ? Int($0[3]) : nil } ?? 0
      }
      #expect(hits > 200)
      let cache = DiskCache.testing(directory, limits: nil)
      let statistics = try cache.statistics()
      #expect(statistics.byteCount <= statistics.limits.byteCount + count * statistics.limits.segmentLength)
      #expect(try cache.verify().damaged.isEmpty)
    }
  }

  @Test("and its index and directory are removed under them")
  func removal() async throws {
    try await withTemporaryDirectory { parent in
      let directory = parent.appendingPathComponent("cache")
      let workers = try (1...2).map { try StorageWorker(["churn", directory.path, "\($0)", "2"]) }
      var removals = 0
      while workers.contains(where: \.isRunning) {
        try await Task.sleep(for: .milliseconds(97))
        removals += 1
        let removed = removals % 3 == 0 ? directory : directory.appendingPathComponent("index")
        // By a name of its own, so that it goes in one go.
        let gone = parent.appendingPathComponent("gone\(removals)")
        if rename(removed.path, gone.path) == 0 {
          // They may be writing into it still.
          #expect(await eventually { (try? FileManager.default.removeItem(at: gone)) != nil })
        }
      }
      // Of the index and of the directory.
      #expect(removals >= 3)
      for worker in workers {
        let (status, lines) = await worker.end()
        #expect(status == 0 && lines.allSatisfy { $0[0] != "WRONG" }, "\(lines)")
      }
      let cache = DiskCache.testing(directory, limits: nil)
      #expect(await eventually { (try? cache.statistics().isRebuilding) == false })
      #expect(try cache.verify().damaged.isEmpty)
    }
  }

  @Test("a process that may open 32 files has all of its segments, and goes on when there are none to be had")
  func descriptors() async throws {
    try await withTemporaryDirectory { directory in
      let (status, lines) = await (try StorageWorker(["descriptors", directory.path])).end()
      #expect(status == 0 && lines.last?.count == 4, "\(lines)")
      #expect(lines.last?.last == "40")
    }
  }
}
