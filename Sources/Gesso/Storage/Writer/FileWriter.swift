import Foundation

/// Writes the files of a disk writer's jobs, on a thread that may wait for disks.
struct FileWriter: Sendable {
  let directories: StorageDirectories
  let operations: FileOperations

  /// Bytes that are written before somebody looks whether they are wanted still.
  private static let part = 1 << 20

  /// Does jobs, and tells how each ended. Several are durable writes.
  func perform(_ jobs: [WriteQueue.Job]) {
    if case .other(let body) = jobs[0].work { return body() }
    let begun = jobs.filter { $0.task.advance(from: .waiting, to: .writing) }
    for job in begun { job.task.forgetDrop() }
    // What cannot be written at all leaves no directory either.
    let prepared = attempt(begun, of: \.self) { (job) throws(StorageError) in try Prepared(job) }
    guard let location = prepared.first?.job.location else { return }
    do throws(StorageError) {
      write(prepared, to: location, in: try FileFolder(directories.url(of: location).path, operations))
    } catch {
      for prepared in prepared { prepared.job.finish(.failure(error)) }
    }
  }

  /// A file's name, and its bytes, unless they are copied.
  private struct Prepared {
    let job: WriteQueue.Job
    let name: String
    let contents: Contents

    enum Contents {
      case data(Data)
      case copy(CopiedFile)
    }

    init(_ job: WriteQueue.Job) throws(StorageError) {
      guard case .write(let value) = job.work else { throw .cancelled }
      if let name = job.name { try FileName.check(name) }
      name = if let name = job.name { name } else { try FileName.unique(pathExtension: value.pathExtension) }
      self.job = job
      if let copied = value as? CopiedFile {
        contents = .copy(copied)
      } else {
        let data = try value.persistedData()
        job.task.setTotal(data.count)
        contents = .data(data)
      }
    }
  }

  /// A file that is written, and has no name yet.
  private struct Written {
    let job: WriteQueue.Job
    let file: AtomicFile
    let byteCount: Int
  }

  private func write(_ jobs: [Prepared], to location: StorageLocation, in folder: FileFolder) {
    let isDurable = location == .documents
    var written = attempt(jobs, of: \.job) { (prepared) throws(StorageError) in
      let file = try AtomicFile(in: folder, named: prepared.name)
      let byteCount = try fill(file, with: prepared)
      // The disk works on the first while the last are written.
      if isDurable, jobs.count > 1 { file.startSync() }
      return Written(job: prepared.job, file: file, byteCount: byteCount)
    }
    written = attempt(written, of: \.job) { (written) throws(StorageError) in
      if isDurable { try written.file.sync() }
      try written.file.close()
      return written
    }
    let named = attempt(written, of: \.job) { (written) throws(StorageError) in
      guard written.job.task.advance(from: .writing, to: .committed) else {
        written.file.discard()
        throw .cancelled
      }
      try written.file.commit(replaces: written.job.name != nil)
      return written
    }
    guard !named.isEmpty else { return }
    do throws(StorageError) {
      if isDurable { try folder.sync() }
      let directory = directories.url(of: location)
      for written in named {
        let url = directory.appendingPathComponent(written.file.name, isDirectory: false)
        written.job.finish(.success(SavedFile(url: url, byteCount: written.byteCount)))
      }
    } catch {
      for written in named { written.job.finish(.failure(error)) }
    }
  }

  /// Does a step of each; of those that fail their jobs have ended.
  private func attempt<Before, After>(
    _ before: [Before], of job: KeyPath<Before, WriteQueue.Job>, _ step: (Before) throws(StorageError) -> After
  ) -> [After] {
    before.compactMap { before in
      do throws(StorageError) { return try step(before) } catch {
        before[keyPath: job].finish(.failure(error))
        return nil
      }
    }
  }

  /// Writes the bytes. Returns how many.
  private func fill(_ file: AtomicFile, with prepared: Prepared) throws(StorageError) -> Int {
    let task = prepared.job.task
    let data: Data
    switch prepared.contents {
    case .copy(let copied): return try copied.copy(to: file, task, operations)
    case .data(let bytes): data = bytes
    }
    for first in stride(from: 0, to: data.count, by: Self.part) {
      if task.isCancelled { throw .cancelled }
      let part = first..<min(first + Self.part, data.count)
      try data.withUnsafeBytes { bytes in
        Result { () throws(StorageError) in try file.write(UnsafeRawBufferPointer(rebasing: bytes[part])) }
      }.get()
      task.add(part.count)
    }
    return data.count
  }
}

/// The contents of an open file, copied without coming into memory where the system can.
public struct CopiedFile: Persistable {
  private let source: Descriptor
  /// Of the copy.
  public let pathExtension: String

  /// What a descriptor stands for: a file from its beginning, whatever its place; a pipe or socket until its end.
  /// - Parameter descriptor: open for reading; it may be closed when this returns.
  /// - Throws: if it is not open.
  public init(descriptor: Int32, pathExtension: String = "data") throws(StorageError) {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw .last("copy", "descriptor \(descriptor)") }
    source = Descriptor(copy, .system)
    self.pathExtension = pathExtension
  }

  /// It is copied piece by piece.
  public var estimatedByteCount: Int { 1 << 20 }

  /// All of it in memory.
  public func persistedData() throws(StorageError) -> Data {
    try FileBytes.read("/proc/self/fd/\(source.number)")
  }

  /// Whether a pipe or socket has more, or has ended; waits a moment for that.
  private func hasMore() -> Bool {
    var polled = pollfd(fd: source.number, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, 50) != 0
  }

  fileprivate func copy(
    to file: AtomicFile, _ task: WriteTask, _ operations: FileOperations
  ) throws(StorageError) -> Int {
    var information = stat()
    let isFile = operations.status(source.number, &information) >= 0 && information.st_mode & S_IFMT == S_IFREG
    if isFile { task.setTotal(Int(information.st_size)) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var (done, isByKernel) = (0, isFile)
    while true {
      if task.isCancelled { throw .cancelled }
      var count = 0
      if isByKernel, let copied = try file.copy(from: source.number, at: Int64(done), buffer.count) {
        count = copied
      } else {
        isByKernel = false
        // A pipe may be silent for long, and be cancelled meanwhile.
        if !isFile, !hasMore() { continue }
        let result =
          isFile
          ? operations.readAll(source.number, into: buffer, at: Int64(done))
          : operations.uninterrupted { operations.read(source.number, buffer.baseAddress!, buffer.count) }
        guard result >= 0 else {
          throw .system(operation: "read", path: "the file to be copied", code: Int32(-result))
        }
        count = result
        try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      }
      if count == 0 {
        // Files that say that they are empty, as those of /proc do, are read all the same.
        if isByKernel, done == 0 {
          isByKernel = false
          continue
        }
        return done
      }
      done += count
      task.add(count)
    }
  }
}
