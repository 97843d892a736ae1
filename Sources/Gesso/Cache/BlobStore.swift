import Foundation

/// Where blobs are kept behind memory: on a disk, or in another process's reach.
///
/// A ``CachedDrawer`` asks its stores in order before it draws, and writes to them after. An error of a store is never one
/// of a request: it is counted, and the next store is asked, or the bitmap drawn.
///
/// Thread-safety: all methods are called from any thread, also at the same time. A drawer asks for one change after the
/// other, and reads after the removals that came before.
public protocol BlobStore: Sendable {
  /// What a hit is called.
  var tier: BlobTier { get }
  /// The blob that is kept under a key; `nil` if there is none.
  func blob(for key: BitmapKey) async throws -> Data?
  /// Keeps a blob, or does not.
  func put(_ blob: Data, for key: BitmapKey) async throws
  /// Forgets one.
  func remove(_ key: BitmapKey) async throws
  /// Forgets all of a user's key, in whatever size and scale, or all whose keys begin so.
  func removeAll(_ selection: KeySelection) async throws
  /// Returns when what was put is where it is to be kept. A store that puts at once has nothing to do.
  func flush() async throws
}

extension BlobStore {
  /// Nothing.
  public func flush() async throws {}
}

/// How far away a store is.
public enum BlobTier: Hashable, Sendable {
  /// On this machine.
  case disk
  /// On another one.
  case remote
}

/// Keys that something is done with, by what the user called them: compared by their bytes in UTF-8, as in all of the cache.
public enum KeySelection: Hashable, Sendable {
  /// This key, in whatever size, scale and background.
  case key(String)
  /// Keys that begin so.
  case prefix(String)
  /// All of them.
  case all

  /// Whether a user's key is one of them.
  public func contains(_ key: String) -> Bool {
    switch self {
    case .key(let other): key.utf8.elementsEqual(other.utf8)
    case .prefix(let prefix): key.utf8.starts(with: prefix.utf8)
    case .all: true
    }
  }
}
