import Foundation
import Testing

@testable import Gesso

/// A value that waits at a gate when it is encoded.
private struct Held: Persistable {
  let gate: Gate
  var begun: Box<Int> = Box(0)
  var byteCount = 10
  var pathExtension: String { "held" }
  var estimatedByteCount: Int { byteCount }
  func persistedData() throws(StorageError) -> Data {
    begun.increment()
    gate.wait()
    return Data(count: byteCount)
  }
}

/// Does something, and says on which thread.
private func onCallersThread(_ body: (pthread_t) -> Void) { body(pthread_self()) }

@Suite("What a disk writer is asked for")
struct DiskWriterQueueTests {
  private func writer(_ directory: URL, concurrency: Int = 2, byteLimit: Int = 64 << 20) -> DiskWriter {
    DiskWriter(
      directories: StorageDirectories(in: directory), completions: ImmediateCompletionQueue(),
      concurrency: concurrency, byteLimit: byteLimit)
  }

  private func names(_ directory: URL) -> [String] {
    ((try? FileManager.default.subpathsOfDirectory(atPath: directory.path)) ?? []).sorted()
  }

  @Test("is done two at a time, and a slow file holds up no other than its own")
  func concurrency() async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(directory), gate = Gate(), begun = Box(0)
      let outcomes = Box(0)
      for _ in 0..<2 {
        writer.write(Held(gate: gate, begun: begun), to: .cache, named: "slow") { _ in outcomes.increment() }
      }
      #expect(await eventually { begun.value == 1 })
      _ = try await writer.write(Data([1]), to: .cache, named: "other")
      #expect(begun.value == 1 && outcomes.value == 0, "the second one of that name waits for the first")
      writer.write(Held(gate: gate, begun: begun), to: .temporary) { _ in outcomes.increment() }
      writer.write(Held(gate: gate, begun: begun), to: .temporary) { _ in outcomes.increment() }
      #expect(await eventually { begun.value == 2 })
      gate.open()
      await writer.barrier(.cache)
      await writer.barrier(.temporary)
      #expect(begun.value == 4 && outcomes.value == 4)
    }
  }

  @Test("is done however much of it waits, and a barrier comes after all that came before, and waits for nothing after")
  func crowds() async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(directory), done = Box(0), held = Held(gate: Gate())
      for number in 0..<3000 {
        let location = StorageLocation.allCases[number % 3]
        writer.write(Data([UInt8(number & 255)]), to: location, named: "\(number % 1000)") { _ in done.increment() }
      }
      await writer.barrier(.cache)
      await writer.barrier(.documents)
      await writer.barrier(.temporary)
      #expect(done.value == 3000)
      writer.write(Data([1]), to: .cache, completion: nil)
      writer.write(held, to: .documents, completion: nil)
      await writer.barrier(.cache)
      held.gate.open()
      await writer.barrier(.documents)
    }
  }

  @Test("ends as cancelled and leaves no file, or with success", arguments: StorageLocation.allCases)
  func cancelling(_ location: StorageLocation) async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(directory, concurrency: 1), gate = Gate()
      let outcomes = Box<[String: DiskWriter.Outcome]>([:])
      func write(_ name: String, _ value: some Persistable) -> WriteTask {
        writer.write(value, to: location, named: name) { outcome in outcomes.update { $0[name] = outcome } }
      }
      try await writer.write(Data([7]), to: location, named: "old")
      let held = Held(gate: gate, byteCount: 2 << 20)
      let running = write("running", held)
      #expect(await eventually { held.begun.value == 1 })
      let waiting = write("waiting", Data([1])), old = write("old", Data([8])), kept = write("kept", Data([2]))
      #expect(waiting.cancel() && old.cancel() && running.cancel())
      #expect(running.cancel(), "again")
      gate.open()
      await writer.barrier(location)
      #expect(kept.cancel() == false, "it is there")
      for name in ["running", "waiting", "old"] {
        #expect(await eventually { outcomes.value[name] == .failure(.cancelled) }, "\(name)")
      }
      #expect(try outcomes.value["kept"]?.get().byteCount == 1)
      let folder = writer.directories.url(of: location)
      #expect(names(folder) == ["kept", "old"])
      #expect(try await writer.load("old", from: location) == Data([7]))
    }
  }

  @Test("is cancelled with the task that awaits it")
  func asyncCancelling() async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(directory), held = Held(gate: Gate())
      let task = Task { try await writer.write(held, to: .documents, named: "a") }
      #expect(await eventually { held.begun.value == 1 })
      task.cancel()
      held.gate.open()
      await #expect(throws: StorageError.cancelled) { try await task.value }
      #expect(names(writer.directories.documents).isEmpty)
    }
  }

  @Test("tells how far it is, in bytes, and by Foundation's Progress, which cancels, too")
  func progress() async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(directory, concurrency: 1), held = Held(gate: Gate(), byteCount: 3_000_000)
      let done = Box(false)
      let task = writer.write(held, to: .cache) { _ in done.update { $0 = true } }
      let progress = task.progress
      #expect(task.byteCount == nil && task.bytesWritten == 0 && progress.isIndeterminate)
      let dropped = Box<DiskWriter.Outcome?>(nil)
      let other = writer.write(Data([1]), to: .cache) { outcome in dropped.update { $0 = outcome } }
      other.progress.cancel()
      #expect(await eventually { dropped.value == .failure(.cancelled) })
      held.gate.open()
      #expect(await eventually { done.value })
      #expect(task.byteCount == 3_000_000 && task.bytesWritten == 3_000_000)
      #expect(progress.isFinished && progress.completedUnitCount == 3_000_000)
    }
  }

  @Test("is bounded in bytes: documents and who awaits wait for room, and others are told")
  func bounds() async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(directory, concurrency: 1, byteLimit: 1000)
      let held = Held(gate: Gate(), byteCount: 900)
      let outcomes = Box<[String]>([])
      func note(_ name: String) -> @Sendable (DiskWriter.Outcome) -> Void {
        { outcome in
          outcomes.update { $0.append("\(name): \((try? outcome.get().byteCount).map { "\($0)" } ?? "full")") }
        }
      }
      writer.write(held, to: .cache, completion: note("held"))
      #expect(await eventually { held.begun.value == 1 })
      writer.write(Data(count: 100), to: .cache, completion: note("fits"))
      writer.write(Data(count: 101), to: .documents, completion: note("document"))
      let awaited = Task { try await writer.write(Data(count: 102), to: .temporary).byteCount }
      let full = Box<DiskWriter.Outcome?>(nil), refused = Box<WriteTask?>(nil)
      onCallersThread { caller in
        let task = writer.write(Data(count: 1), to: .cache) { outcome in
          if pthread_self() == caller { Issue.record("called back from within the call") }
          full.update { $0 = outcome }
        }
        refused.update { $0 = task }
      }
      held.gate.open()
      let byteCount = try await awaited.value
      #expect(byteCount == 102)
      #expect(await eventually { full.value != nil && outcomes.value.count == 3 })
      #expect(full.value == .failure(.queueFull(limit: 1000)))
      let told = full.value
      #expect(refused.value?.cancel() == false, "it has ended")
      await writer.barrier(.cache)
      #expect(full.value == told)
      #expect(outcomes.value == ["held: 900", "fits: 100", "document: 101"])
      // Larger than the limit, and alone.
      let large = try await writer.write(Data(count: 5000), to: .cache)
      #expect(large.byteCount == 5000)
    }
  }

  @Test("is done, though nobody has the writer any more, nor asks for the outcome")
  func released() async throws {
    try await withTemporaryDirectory { directory in
      var writer: DiskWriter? = writer(directory)
      let held = Held(gate: Gate()), ended = Box(0)
      writer!.write(held, to: .documents, named: "a") { _ in ended.increment() }
      writer!.write(Data([1]), to: .documents, named: "b", completion: nil)
      writer = nil
      held.gate.open()
      let folder = StorageDirectories(in: directory).documents
      #expect(await eventually { ended.value == 1 && names(folder) == ["a", "b"] })
    }
  }

  @Test("copies files, pipes and devices from a descriptor")
  func copies() async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(directory)
      let bytes = storedBlob("file", count: 3_100_000)
      let path = directory.appendingPathComponent("source").path
      try bytes.write(to: URL(fileURLWithPath: path))
      let file = open(path, O_RDONLY)
      lseek(file, 1000, SEEK_SET)
      let copied = try CopiedFile(descriptor: file, pathExtension: "bin")
      close(file)
      let saved = try await writer.write(copied, to: .documents)
      #expect(try Data(contentsOf: saved.url) == bytes && saved.byteCount == bytes.count)
      #expect(saved.url.pathExtension == "bin")

      let pipe = Pipe()
      let piped = try CopiedFile(descriptor: pipe.fileHandleForReading.fileDescriptor)
      try pipe.fileHandleForReading.close()
      let writing = onThread {
        try pipe.fileHandleForWriting.write(contentsOf: bytes)
        try pipe.fileHandleForWriting.close()
      }
      let fromPipe = try await writer.write(piped, to: .cache, named: "piped")
      try await writing.value
      #expect(try Data(contentsOf: fromPipe.url) == bytes)

      let status = open("/proc/self/status", O_RDONLY)  // says that it is empty
      let fromProc = try await writer.write(CopiedFile(descriptor: status), to: .cache)
      close(status)
      #expect(fromProc.byteCount > 100)
      #expect(throws: StorageError.self) { try CopiedFile(descriptor: 9999) }
    }
  }

  @Test("is not held up by a copy of what comes slowly, which can be cancelled while nothing comes")
  func slowCopy() async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(directory), pipe = Pipe()
      let copied = try CopiedFile(descriptor: pipe.fileHandleForReading.fileDescriptor)
      let outcome = Box<DiskWriter.Outcome?>(nil)
      let task = writer.write(copied, to: .documents, named: "slow") { result in outcome.update { $0 = result } }
      try pipe.fileHandleForWriting.write(contentsOf: Data("begin".utf8))
      // Its bytes are being written, and no more come.
      #expect(await eventually { self.names(directory).contains { $0.hasSuffix(".tmp") } })
      let saved = try await writer.write(Data("other".utf8), to: .documents, named: "other")
      #expect(try Data(contentsOf: saved.url) == Data("other".utf8))
      #expect(outcome.value == nil)
      task.cancel()
      #expect(await eventually { outcome.value != nil })
      guard case .failure(.cancelled)? = outcome.value else {
        Issue.record("not cancelled")
        return
      }
      #expect(!names(directory).contains { $0.hasSuffix("slow") || $0.hasSuffix(".tmp") })
    }
  }

  @Test("syncs many documents with one directory, each of them and its name before it is reported")
  func batches() async throws {
    try await withTemporaryDirectory { directory in
      // What the system is asked for, in order.
      let log = Box<[String]>([])
      var operations = FileOperations.system
      let names = Box<[Int32: String]>([:])
      operations.open = { folder, name, flags, mode in
        let file = FileOperations.system.open(folder, name, flags, mode)
        if file >= 0 { names.update { $0[Int32(file)] = name } }
        return file
      }
      operations.sync = { file in
        log.update { $0.append("sync \(names.value[file]!.hasSuffix(".tmp") ? "file" : "folder")") }
        return FileOperations.system.sync(file)
      }
      operations.rename = { folder, from, to, replaces in
        log.update { $0.append("rename") }
        return FileOperations.system.rename(folder, from, to, replaces)
      }
      let writer = DiskWriter(StorageDirectories(in: directory), ImmediateCompletionQueue(), operations)
      let held = Held(gate: Gate())
      writer.write(held, to: .documents, completion: nil)
      #expect(await eventually { held.begun.value == 1 })
      let reported = Box(0)
      for number in 0..<20 {
        writer.write(Data([UInt8(number)]), to: .documents) { _ in
          if reported.value == 0 { log.update { $0.append("reported") } }
          reported.increment()
        }
      }
      held.gate.open()
      await writer.barrier(.documents)
      #expect(reported.value == 20)
      let all = log.value, first = try #require(all.firstIndex(of: "rename"))
      let rest = Array(all[(first + 1)...]).drop { $0 != "sync file" }
      #expect(
        Array(rest) == [String](repeating: "sync file", count: 20) + [String](repeating: "rename", count: 20)
          + ["sync folder", "reported"])
      // No syncing where nothing has to survive.
      log.update { $0 = [] }
      try await writer.write(Data([1]), to: .cache)
      #expect(log.value == ["rename"])
    }
  }

  @Test("is asked for without any file operation on the caller's thread", arguments: StorageLocation.allCases)
  func callersThread(_ location: StorageLocation) async throws {
    try await withTemporaryDirectory { directory in
      let faults = Faults(), ended = Box(0)
      let writer = DiskWriter(StorageDirectories(in: directory), ImmediateCompletionQueue(), faults.operations)
      let cache = DiskCache.testing(directory.appendingPathComponent("cache"), operations: faults.operations)
      onCallersThread { caller in
        for number in 0..<50 {
          writer.write(Data(count: 20_000), to: location, named: "\(number)") { _ in ended.increment() }
          try? cache.putNow(storedBlob("a", version: number), for: storeKey("a"))
        }
        #expect(!faults.threads.value.contains(UInt(caller)))
      }
      try await cache.flush()
      #expect(await eventually { ended.value == 50 })
      #expect(faults.threads.value.count >= 2, "of the writer and of the cache")
    }
  }
}
