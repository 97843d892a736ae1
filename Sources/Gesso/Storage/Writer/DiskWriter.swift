import Dispatch
import Foundation

/// A file that was written.
public struct SavedFile: Hashable, Sendable {
  /// Where it is, in the directory of the location that was asked for.
  public let url: URL
  /// Its length.
  public let byteCount: Int
}

/// Writes files in the background: all or nothing, one outcome each.
///
///     let saved = try await DiskWriter.shared.write(bitmap, as: .png, to: .documents)
///     DiskWriter.shared.write(["name": "Ada", "age": 36] as PropertyList, to: .cache) { result in … }
///
/// Values are encoded and written on background threads; the caller's does no I/O. What is asked for of one file is done in
/// that order; of several files, some are written at a time, and many durable ones together. An existing file is replaced
/// whole, or stays as it was. What success means depends on the ``StorageLocation``.
///
/// What waits is bounded: over the limit, who awaits a write waits for room first, documents wait for it, and other writes
/// with a completion end with `StorageError.queueFull`.
///
/// Thread-safety: any thread. A writer that nobody has any more finishes what it was asked for.
public final class DiskWriter: Sendable {
  /// How a write ended.
  public typealias Outcome = Result<SavedFile, StorageError>

  /// A writer to the standard directories of this program.
  public static let shared = DiskWriter()

  /// Where it writes.
  public let directories: StorageDirectories
  private let completions: any CompletionQueue
  private let queue: WriteQueue
  private let operations: FileOperations

  /// A writer.
  /// - Parameters:
  ///   - completions: where completions are called, never from within the call that asked.
  ///   - concurrency: files that are written at a time, not counting durable ones that are written together.
  ///   - byteLimit: bytes of values that may wait.
  public convenience init(
    directories: StorageDirectories = .standard(), completions: any CompletionQueue = DispatchQueue.main,
    concurrency: Int = 2, byteLimit: Int = 64 << 20
  ) {
    self.init(directories, completions, concurrency: concurrency, byteLimit: byteLimit, .system)
  }

  init(
    _ directories: StorageDirectories, _ completions: any CompletionQueue, concurrency: Int = 2,
    byteLimit: Int = 64 << 20, _ operations: FileOperations
  ) {
    (self.directories, self.completions, self.operations) = (directories, completions, operations)
    let writer = FileWriter(directories: directories, operations: operations)
    queue = WriteQueue(concurrency: concurrency, limit: byteLimit) { writer.perform($0) }
  }

  // MARK: Writing

  /// Writes a value, and calls back exactly once.
  /// - Parameters:
  ///   - value: data, a ``PropertyList``, an ``EncodedBitmap``, or a type of your own.
  ///   - location: where to, and how safely.
  ///   - name: the file's name; unique if `nil`. A file of that name is replaced.
  ///   - completion: called on the writer's completion queue; `nil` if nobody cares.
  /// - Returns: how far it is, and a way to cancel.
  @discardableResult
  public func write(
    _ value: some Persistable, to location: StorageLocation, named name: String? = nil,
    completion: (@Sendable (Outcome) -> Void)?
  ) -> WriteTask {
    let task = WriteTask()
    submit(value, to: location, named: name, task, withoutRoom: location == .documents ? .waits : .fails) {
      [completions] outcome in
      guard let completion else { return }
      completions.enqueue { completion(outcome) }
    }
    return task
  }

  /// Writes a bitmap, and calls back exactly once.
  @discardableResult
  public func write(
    _ bitmap: Bitmap, as format: ImageFormat, to location: StorageLocation, named name: String? = nil,
    completion: (@Sendable (Outcome) -> Void)?
  ) -> WriteTask {
    write(EncodedBitmap(bitmap, as: format), to: location, named: name, completion: completion)
  }

  /// Writes a value, and waits without blocking. Cancelling the task cancels the write.
  @discardableResult
  public func write(
    _ value: some Persistable, to location: StorageLocation, named name: String? = nil
  ) async throws(StorageError) -> SavedFile {
    let task = WriteTask()
    let outcome: Outcome = await withTaskCancellationHandler {
      await callback { submit(value, to: location, named: name, task, withoutRoom: .waits, finish: $0) }
    } onCancel: {
      task.cancel()
    }
    return try outcome.get()
  }

  /// Writes a bitmap, and waits without blocking.
  @discardableResult
  public func write(
    _ bitmap: Bitmap, as format: ImageFormat, to location: StorageLocation, named name: String? = nil
  ) async throws(StorageError) -> SavedFile {
    try await write(EncodedBitmap(bitmap, as: format), to: location, named: name)
  }

  private func submit(
    _ value: some Persistable, to location: StorageLocation, named name: String?, _ task: WriteTask,
    withoutRoom: WriteQueue.WithoutRoom, finish: @escaping @Sendable (Outcome) -> Void
  ) {
    task.onDrop { [queue] in queue.later { finish(.failure(.cancelled)) } }
    queue.submit(
      WriteQueue.Job(
        work: .write(value), location: location, name: name, byteCount: max(0, value.estimatedByteCount), task: task,
        finish: finish),
      withoutRoom: withoutRoom)
  }

  /// Waits until all that was asked for before is written, as safely as its location says, or has failed.
  public func barrier(_ location: StorageLocation) async {
    _ = await callback { (finish: @escaping @Sendable (Bool) -> Void) in
      queue.barrier(location) { finish(true) }
    }
  }

  // MARK: Reading and removing

  /// Reads a file back by the name that it was written under, after what was asked for of it before.
  /// - Parameter limit: bytes; a longer file is an error (`EFBIG`).
  public func load(_ name: String, from location: StorageLocation, limit: Int = 2 << 30) async throws(StorageError)
    -> Data
  {
    try await inOrder(location, name) { (folder) throws(StorageError) in
      try FileBytes.read(folder + "/" + name, limit: limit)
    }
  }

  /// Removes a file, after what was asked for of it before; of a document, so that it stays removed after a power cut.
  /// A file that is not there is an error (`ENOENT`).
  public func remove(_ name: String, from location: StorageLocation) async throws(StorageError) {
    try await inOrder(location, name) { [operations] (path) throws(StorageError) in
      let opened = operations.uninterrupted { operations.open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0) }
      guard opened >= 0 else { throw .system(operation: "open", path: path, code: Int32(-opened)) }
      let folder = Descriptor(Int32(opened), operations)
      let removed = operations.unlink(folder.number, name)
      guard removed >= 0 else { throw .system(operation: "remove", path: path + "/" + name, code: Int32(-removed)) }
      guard location == .documents else { return }
      let synced = operations.uninterrupted { operations.sync(folder.number) }
      guard synced >= 0 else { throw .system(operation: "sync", path: path, code: Int32(-synced)) }
    }
  }

  /// Does something with a file when it is its turn. It is given the directory.
  private func inOrder<Value: Sendable>(
    _ location: StorageLocation, _ name: String,
    _ body: @escaping @Sendable (String) throws(StorageError) -> Value
  ) async throws(StorageError) -> Value {
    try FileName.check(name)
    let directory = directories.url(of: location).path
    let result: Result<Value, StorageError> = await callback { finish in
      let work = { @Sendable () -> Void in finish(Result { () throws(StorageError) in try body(directory) }) }
      queue.submit(
        WriteQueue.Job(
          work: .other(work), location: location, name: name, byteCount: 0, task: WriteTask(), finish: { _ in }),
        withoutRoom: .waits)
    }
    return try result.get()
  }
}
