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
/// Values are encoded and written on background threads; the caller's does no I/O. Writes to one location are done in
/// the order in which they were asked for. An existing file is replaced whole, or stays as it was. What success means
/// depends on the ``StorageLocation``.
///
/// Thread-safety: any thread.
public final class DiskWriter: Sendable {
  /// How a write ended.
  public typealias Outcome = Result<SavedFile, StorageError>

  /// A writer to the standard directories of this program.
  public static let shared = DiskWriter()

  /// Where it writes.
  public let directories: StorageDirectories
  private let completions: any CompletionQueue
  private let queues: [StorageLocation: DispatchQueue]

  /// A writer.
  /// - Parameter completions: where completions are called, never from within the call that asked.
  public init(
    directories: StorageDirectories = .standard(), completions: any CompletionQueue = DispatchQueue.main
  ) {
    self.directories = directories
    self.completions = completions
    // One queue a location: that is its order, and two documents are never slower than one.
    queues = Dictionary(
      uniqueKeysWithValues: StorageLocation.allCases.map {
        ($0, DispatchQueue(label: "gesso.writer.\($0)", qos: .utility))
      })
  }

  /// Writes a value, and calls back exactly once.
  /// - Parameters:
  ///   - value: data, a ``PropertyList``, an ``EncodedBitmap``, or a type of your own.
  ///   - location: where to, and how safely.
  ///   - name: the file's name; unique if `nil`. A file of that name is replaced.
  ///   - completion: called on the writer's completion queue; `nil` if nobody cares.
  public func write(
    _ value: some Persistable, to location: StorageLocation, named name: String? = nil,
    completion: (@Sendable (Outcome) -> Void)?
  ) {
    perform(value, to: location, named: name) { [completions] outcome in
      guard let completion else { return }
      completions.enqueue { completion(outcome) }
    }
  }

  /// Writes a bitmap, and calls back exactly once.
  public func write(
    _ bitmap: Bitmap, as format: ImageFormat, to location: StorageLocation, named name: String? = nil,
    completion: (@Sendable (Outcome) -> Void)?
  ) {
    write(EncodedBitmap(bitmap, as: format), to: location, named: name, completion: completion)
  }

  /// Writes a value, and waits without blocking.
  @discardableResult
  public func write(
    _ value: some Persistable, to location: StorageLocation, named name: String? = nil
  ) async throws(StorageError) -> SavedFile {
    let outcome: Outcome = await callback { perform(value, to: location, named: name, finish: $0) }
    return try outcome.get()
  }

  /// Writes a bitmap, and waits without blocking.
  @discardableResult
  public func write(
    _ bitmap: Bitmap, as format: ImageFormat, to location: StorageLocation, named name: String? = nil
  ) async throws(StorageError) -> SavedFile {
    try await write(EncodedBitmap(bitmap, as: format), to: location, named: name)
  }

  /// Reads a file back by the name that it was written under, after all that was asked for before.
  /// - Parameter limit: bytes; a longer file is an error (`EFBIG`).
  public func load(_ name: String, from location: StorageLocation, limit: Int = 2 << 30) async throws(StorageError)
    -> Data
  {
    try await inOrder(location, name) { (path) throws(StorageError) in try FileBytes.read(path, limit: limit) }
  }

  /// Removes a file, after all that was asked for before; of a document, so that it stays removed after a power cut.
  /// A file that is not there is an error (`ENOENT`).
  public func remove(_ name: String, from location: StorageLocation) async throws(StorageError) {
    try await inOrder(location, name) { [directories] (path) throws(StorageError) in
      guard unlink(path) == 0 else { throw .last("remove", path) }
      guard location == .documents else { return }
      let directory = directories.url(of: location).path
      let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard folder >= 0 else { throw .last("open", directory) }
      defer { close(folder) }
      guard fsync(folder) == 0 else { throw .last("sync", directory) }
    }
  }

  /// Does something with a file on the queue of its location.
  private func inOrder<Value: Sendable>(
    _ location: StorageLocation, _ name: String,
    _ body: @escaping @Sendable (String) throws(StorageError) -> Value
  ) async throws(StorageError) -> Value {
    let path = directories.url(of: location).appendingPathComponent(name).path
    let result: Result<Value, StorageError> = await callback { finish in
      queues[location]!.async {
        finish(
          Result { () throws(StorageError) in
            try FileName.check(name)
            return try body(path)
          })
      }
    }
    return try result.get()
  }

  /// Waits until all that was asked for before is written, as safely as its location says, or has failed.
  public func barrier(_ location: StorageLocation) async {
    await withCheckedContinuation { continuation in
      queues[location]!.async { continuation.resume() }
    }
  }

  private func perform(
    _ value: some Persistable, to location: StorageLocation, named name: String?,
    finish: @escaping @Sendable (Outcome) -> Void
  ) {
    let directory = directories.url(of: location)
    queues[location]!.async {
      finish(
        Result { () throws(StorageError) in
          if let name { try FileName.check(name) }
          let name = if let name { name } else { try FileName.unique(pathExtension: value.pathExtension) }
          let data = try value.persistedData()
          try AtomicFile(directory: directory.path, name: name, isDurable: location == .documents).write(data)
          return SavedFile(url: directory.appendingPathComponent(name), byteCount: data.count)
        })
    }
  }
}
