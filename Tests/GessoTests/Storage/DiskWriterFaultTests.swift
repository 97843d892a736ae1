import Foundation
import Testing

@testable import Gesso
@testable import storage_worker

@Suite("A disk writer whose system fails")
struct DiskWriterFaultTests {
  private static let old = Data(repeating: 1, count: 5000)
  private static let new = Data(repeating: 2, count: 150_000)

  /// Writes over two files, and makes two, in a location; what came of it.
  private func work(_ writer: DiskWriter, _ location: StorageLocation) async -> [DiskWriter.Outcome] {
    let outcomes = Box<[Int: DiskWriter.Outcome]>([:])
    for number in 0..<4 {
      writer.write(Self.new, to: location, named: number < 3 ? "file\(number)" : nil) { outcome in
        outcomes.update { $0[number] = outcome }
      }
    }
    await writer.barrier(location)
    return (0..<4).compactMap { outcomes.value[$0] }
  }

  private func run(_ faults: Faults, _ location: StorageLocation, _ comment: String) async throws {
    try await withTemporaryDirectory { directory in
      let directories = StorageDirectories(in: directory)
      let quiet = DiskWriter(directories: directories, completions: ImmediateCompletionQueue())
      for number in 0..<2 { try await quiet.write(Self.old, to: location, named: "file\(number)") }
      let writer = DiskWriter(directories, ImmediateCompletionQueue(), faults.operations)
      let outcomes = await work(writer, location)
      let comment = "\(comment), \(faults.failed.value.prefix(2))"
      #expect(outcomes.count == 4, "one outcome each, \(comment)")
      let folder = directories.url(of: location)
      for (number, outcome) in outcomes.enumerated() {
        switch outcome {
        case .success(let saved):
          #expect(try Data(contentsOf: saved.url) == Self.new, "\(number), \(comment)")
        case .failure(let error):
          if case .system(_, let path, _) = error {
            #expect(path.hasPrefix(folder.path) || folder.path.hasPrefix(path), "\(error)")
          } else {
            Issue.record("\(error)")
          }
          // Whole, old or new: what failed at last may have its name already.
          guard number < 3 else { continue }
          let data = try? Data(contentsOf: folder.appendingPathComponent("file\(number)"))
          #expect(data == Self.new || data == (number < 2 ? Self.old : nil), "\(number), \(comment)")
        }
      }
      // Nothing is left over, unless it could not be removed.
      if !faults.failed.value.contains(where: { $0.hasPrefix("unlink") }) {
        #expect(folder.files(".tmp").isEmpty, "\(comment)")
      }
      faults.end()
      #expect(await work(writer, location).allSatisfy { (try? $0.get()) != nil }, "\(comment)")
    }
  }

  @Test(
    "ends each write with success and the whole file, or with an error and the old one, whichever operation fails",
    arguments: StorageLocation.allCases)
  func everyOperation(_ location: StorageLocation) async throws {
    let quiet = Faults()
    try await run(quiet, location, "none")
    let count = quiet.count
    #expect(count > 20)
    for isOnce in [true, false] {
      for place in stride(from: 1, through: count, by: testsAllFaults ? 1 : 2) {
        for turn in 0..<(testsAllFaults ? 14 : 2) {
          try await run(Faults(at: place, isOnce: isOnce, turn: turn + place), location, "\(place)")
        }
      }
    }
  }

  @Test(
    "writes on when it is interrupted, and when less is done than was asked for", arguments: StorageLocation.allCases)
  func shortOperations(_ location: StorageLocation) async throws {
    try await run(Faults(isShort: true), location, "short")
  }

  @Test("does not try a sync again that has failed: the bytes may be lost, though the next one says that all is well")
  func failedSync() async throws {
    try await withTemporaryDirectory { directory in
      let syncs = Box<[Int32]>([])
      var operations = FileOperations.system
      operations.sync = { file in
        syncs.update { $0.append(file) }
        return syncs.value.count == 1 ? -Int(EIO) : FileOperations.system.sync(file)
      }
      let writer = DiskWriter(StorageDirectories(in: directory), ImmediateCompletionQueue(), operations)
      await #expect(throws: StorageError.self) { try await writer.write(Data([1]), to: .documents, named: "a") }
      #expect(syncs.value.count == 1)
      #expect(!FileManager.default.fileExists(atPath: directory.path + "/documents/a"))
    }
  }

  @Test(
    "has removed what it could not finish when it tells so", arguments: ["write", "sync", "close", "rename", "cancel"])
  func removedBefore(_ step: String) async throws {
    try await withTemporaryDirectory { directory in
      let task = Box<WriteTask?>(nil), found = Box<[String]?>(nil), ready = Gate()
      var operations = FileOperations.system
      switch step {
      case "write": operations.write = { _, _, _ in -Int(ENOSPC) }
      case "sync": operations.sync = { _ in -Int(EIO) }
      case "rename": operations.rename = { _, _, _, _ in -Int(EACCES) }
      case "close":
        operations.close = { file in
          _ = FileOperations.system.close(file)
          return -Int(EIO)
        }
      default:
        operations.sync = { file in
          ready.wait()
          task.value?.cancel()
          return FileOperations.system.sync(file)
        }
      }
      let writer = DiskWriter(StorageDirectories(in: directory), ImmediateCompletionQueue(), operations)
      let folder = directory.appendingPathComponent("documents")
      let written = writer.write(Data([1]), to: .documents, named: "file") { outcome in
        found.update { $0 = (try? outcome.get()) == nil ? folder.files(".tmp").map(\.lastPathComponent) : ["written"] }
      }
      task.update { $0 = written }
      ready.open()
      await writer.barrier(.documents)
      #expect(found.value == [])
    }
  }
}

/// Whether file systems can be mounted here.
private let canMount = geteuid() == 0 && (try? shell("losetup -f && command -v mkfs.ext4")) == 0

@discardableResult
private func shell(_ command: String) throws -> Int32 {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/bin/sh")
  process.arguments = ["-c", command]
  process.standardOutput = FileHandle.nullDevice
  process.standardError = FileHandle.nullDevice
  try process.run()
  process.waitUntilExit()
  return process.terminationStatus
}

@Suite("A disk", .serialized)
struct MountedDiskTests {
  @Test(
    "that is full loses nothing: documents fail and keep their old files, and the cache goes on", .enabled(if: canMount)
  )
  func full() async throws {
    try await withTemporaryDirectory { directory in
      #expect(try shell("mount -t tmpfs -o size=1m tmpfs '\(directory.path)'") == 0)
      defer { _ = try? shell("umount -l '\(directory.path)'") }
      let writer = DiskWriter(
        directories: StorageDirectories(in: directory), completions: ImmediateCompletionQueue())
      let old = storedBlob("old", count: 200_000)
      try await writer.write(old, to: .documents, named: "file")
      let error = await #expect(throws: StorageError.self) {
        try await writer.write(Data(count: 2 << 20), to: .documents, named: "file")
      }
      #expect(error?.code == ENOSPC && error?.description.contains("No space left") == true)
      #expect(try await writer.load("file", from: .documents) == old)
      #expect(directory.appendingPathComponent("documents").files(".tmp").isEmpty)

      let cache = DiskCache.testing(directory.appendingPathComponent("pictures"))
      for round in 0..<20 {
        for name in names(20, "r\(round)") { try cache.putNow(storedBlob(name, count: 10_000), for: storeKey(name)) }
        try? await cache.flush()
        #expect(try cache.found(names(20, "r\(round)"), count: 10_000) == 20, "on the disk, or in memory")
      }
      #expect(try await writer.load("file", from: .documents) == old)
      // When there is room again, it is used.
      #expect(try shell("mount -o remount,size=64m '\(directory.path)'") == 0)
      try await cache.flush()
      #expect(try cache.statistics().failure == nil)
      #expect(
        try DiskCache.testing(directory.appendingPathComponent("pictures")).found(names(20, "r19"), count: 10_000) == 20
      )
    }
  }

  /// `EXT4_IOC_SHUTDOWN` of Linux's ext4, with the flag that not even its journal is written.
  private func cutPower(_ mount: String) {
    let file = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(file) }
    var flags: UInt32 = 2
    #expect(ioctl(file, 0x8004_587d, &flags) == 0)
  }

  @Test(
    "that loses its power has all documents that were reported, and a cache without a wrong blob",
    .enabled(if: canMount))
  func powerCut() async throws {
    try await withTemporaryDirectory { directory in
      let image = directory.appendingPathComponent("image").path, mount = directory.appendingPathComponent("mount")
      try FileManager.default.createDirectory(at: mount, withIntermediateDirectories: false)
      // Also when something fails on the way.
      defer { _ = try? shell("umount -l '\(mount.path)'") }
      #expect(try shell("truncate -s 128M '\(image)' && mkfs.ext4 -q -F '\(image)'") == 0)
      var documents = WorkerHistory(), blobs = WorkerHistory(), random = SeededGenerator(state: 4)
      for cut in 0..<(testsAllFaults ? 50 : 5) {
        #expect(try shell("mount -o loop '\(image)' '\(mount.path)'") == 0)
        let folder = StorageDirectories(in: mount).documents
        let pictures = mount.appendingPathComponent("pictures")
        let writing = try StorageWorker(["documents", mount.path, "\(documents.last + 1)"])
        let caching = try StorageWorker(["cache", pictures.path, "\(blobs.last + 1)"])
        #expect(await eventually { writing.lines.count > 20 && caching.lines.count > 50 })
        try await Task.sleep(for: .microseconds(Int.random(in: 0..<50_000, using: &random)))
        cutPower(mount.path)
        // What was reported before is known; what is reported after has failed.
        documents.add(writing.kill().filter { $0[0] != "failed" })
        blobs.add(caching.kill().filter { $0[0] != "failed" })
        #expect(await eventually { (try? shell("umount '\(mount.path)'")) == 0 })
        #expect(try shell("mount -o loop '\(image)' '\(mount.path)'") == 0)
        for name in documents.done.keys {
          let data = try Data(contentsOf: folder.appendingPathComponent(name))
          #expect(documents.version(of: data, name) != nil, "\(name) after \(cut) cuts")
        }
        var cache: DiskCache? = DiskCache.testing(pictures, limits: nil)
        #expect(await eventually { (try? cache!.statistics().isRebuilding) == false })
        for name in (0..<50).map({ "blob\($0)" }) {
          // An older one may be there; but no other.
          guard let blob = try cache!.blobNow(for: storeKey(name)) else { continue }
          #expect((0...blobs.last).contains { blob == contents(name, $0) }, "\(name) after \(cut) cuts")
        }
        try await cache!.fill(["after"])
        #expect(try cache!.found(["after"]) == 1)
        cache = nil
        #expect(await eventually { (try? shell("umount '\(mount.path)'")) == 0 })
      }
      #expect(documents.acknowledged > 20)
    }
  }
}
