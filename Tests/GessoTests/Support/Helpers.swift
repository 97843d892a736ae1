import Foundation
import Testing

@testable import Gesso

/// A directory of a test's own, removed afterwards.
func withTemporaryDirectory<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("gesso-test-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: url) }
  return try await body(url)
}

/// The word of a pixel of a 32-bit bitmap.
func pixel(_ bitmap: Bitmap, _ x: Int, _ y: Int) -> UInt32 {
  bitmap.withPixels { $0.loadUnaligned(fromByteOffset: y * bitmap.bytesPerRow + 4 * x, as: UInt32.self) }
}

/// A solid bitmap.
func solid(_ color: Color, width: Int = 4, height: Int = 4, scale: CGFloat = 1) throws -> Bitmap {
  try Bitmap(
    size: CGSize(width: CGFloat(width) / scale, height: CGFloat(height) / scale), scale: scale, background: color
  ) { _, _ in }
}

/// A door that threads wait at until it is opened.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  func open() { semaphore.signal() }
  /// Fails rather than hang for ever. It takes long to: on a busy machine, whoever opens may come late.
  func wait() {
    if semaphore.wait(timeout: .now() + 300) == .timedOut { Issue.record("nobody opened the gate") }
    semaphore.signal()
  }
}

/// A value that threads share.
final class Box<Value: Sendable>: Sendable {
  private let storage: Lock<Value>
  init(_ value: Value) { storage = Lock(value) }
  var value: Value { storage.withLock { $0 } }
  func update(_ body: (inout sending Value) -> Void) { storage.withLock { body(&$0) } }
}

extension Box where Value == Int {
  func increment() { update { $0 += 1 } }
}

/// Waits until something holds, for at most half a minute.
func eventually(isolation: isolated (any Actor)? = #isolation, _ condition: () -> Bool) async -> Bool {
  for _ in 0..<30_000 {
    if condition() { return true }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return false
}

/// Does something that blocks on a thread of its own: those of tasks are few, and other tests need them.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) -> Task<Value, any Error> {
  Task {
    let result: Result<Value, any Error> = await callback { finish in
      Thread.detachNewThread { finish(Result { try body() }) }
    }
    return try result.get()
  }
}

/// Numbers that are the same in each run.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state >> 32) | (state << 32)
  }
}
