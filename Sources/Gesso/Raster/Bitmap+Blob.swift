internal import CGesso
import Foundation

/// How hard the encoder of blobs tries.
public enum BlobLevel: Sendable {
  /// For caches: encoded fast.
  case fast
  /// For what is kept: smaller, and slower to encode.
  case small
}

extension Bitmap {
  /// The bitmap as a blob, which ``init(decoding:maximumSize:maximumByteCount:maximumThreads:)`` reads.
  ///
  /// Work for a background thread. Thread-safety: any thread.
  /// - Parameters:
  ///   - level: how hard to try; blobs of both levels are read alike.
  ///   - maximumThreads: threads that may work on a picture of over a megapixel, the calling one among them. The bytes are
  ///     the same.
  /// - Throws: `ImageFileError.cannotEncode` if there is no memory.
  public func encoded(level: BlobLevel, maximumThreads: Int = 1) throws(ImageFileError) -> Data {
    var bytes: UnsafeMutablePointer<UInt8>?
    var length = 0
    let status = BlobWorkspaces.shared.withWorkspace(threads: maximumThreads) { workspace in
      var options = gesso_blob_options()
      options.struct_size = MemoryLayout<gesso_blob_options>.size
      options.level = level == .small ? GESSO_BLOB_SMALL : GESSO_BLOB_FAST
      options.workspace = workspace
      options.thread_count = UInt32(clamping: maximumThreads)
      return gesso_blob_encode_new(handle, &options, &bytes, &length)
    }
    guard status == GESSO_OK, let bytes else {
      throw .cannotEncode(.blob, reason: String(cString: gesso_status_string(status)))
    }
    return Data(bytesNoCopy: bytes, count: length, deallocator: .custom { pointer, _ in gesso_free(pointer) })
  }

  /// Decodes a blob, as ``encoded(level:maximumThreads:)`` makes it.
  ///
  /// Any bytes are safe: a damaged blob is an error and never other pixels. Thread-safety: any thread.
  /// - Parameters:
  ///   - blob: all of its bytes, no more and no less.
  ///   - maximumSize: pixels that the result may have in each direction.
  ///   - maximumByteCount: bytes of pixels that the result may take; nothing is allocated for more.
  ///   - maximumThreads: threads that may work on a picture of over a megapixel, the calling one among them.
  public convenience init(
    decoding blob: Data, maximumSize: CGSize = CGSize(width: 32766, height: 32766),
    maximumByteCount: Int = 1 << 30, maximumThreads: Int = 1
  ) throws(BlobError) {
    var limits = gesso_limits()
    limits.struct_size = MemoryLayout<gesso_limits>.size
    limits.maximum_width = Self.limit(maximumSize.width)
    limits.maximum_height = Self.limit(maximumSize.height)
    limits.maximum_bytes = UInt64(max(1, maximumByteCount))
    var handle: OpaquePointer?
    var reading = gesso_blob_reading()
    reading.struct_size = MemoryLayout<gesso_blob_reading>.size
    reading.thread_count = UInt32(clamping: maximumThreads)
    let status = blob.withUnsafeBytes { buffer in
      withUnsafePointer(to: limits) { limits in
        BlobWorkspaces.shared.withWorkspace(threads: maximumThreads) { workspace in
          reading.limits = limits
          reading.workspace = workspace
          return gesso_blob_decode(BlobInfo.bytes(of: buffer), buffer.count, &reading, &handle)
        }
      }
    }
    guard status == GESSO_OK, let handle else { throw BlobError(status, reading.fault) }
    self.init(frozen: handle)
  }

  /// A limit of pixels as C has it, for which 0 is the default.
  private static func limit(_ pixels: CGFloat) -> UInt32 {
    UInt32(max(1, min(pixels.isNaN ? 1 : pixels, PixelSize.limit)))
  }
}

/// Memory that coding blobs needs, which is kept for the next one: as many pieces as there were threads at a time.
final class BlobWorkspaces: Sendable {
  static let shared = BlobWorkspaces()

  /// A piece takes some megabytes; those of more threads are freed.
  private static let maximum = 8
  private let idle = Lock<[Workspace]>([])

  /// A workspace that nobody else has.
  private struct Workspace: @unchecked Sendable {
    // Proof of safety: the pointer is taken out of the list by the one who uses it, and is in no one else's hands.
    let handle: OpaquePointer
  }

  /// Does something with a workspace. `nil`, which is memory for one call, if there is none for one, and for several
  /// threads, which take so many times as much.
  func withWorkspace<Result>(threads: Int, _ body: (OpaquePointer?) -> Result) -> Result {
    if threads > 1 { return body(nil) }
    let workspace = idle.withLock { $0.popLast() } ?? gesso_blob_workspace_create().map { Workspace(handle: $0) }
    defer {
      if let workspace {
        let isKept = idle.withLock { idle in
          guard idle.count < Self.maximum else { return false }
          idle.append(workspace)
          return true
        }
        if !isKept { gesso_blob_workspace_release(workspace.handle) }
      }
    }
    return body(workspace?.handle)
  }
}
