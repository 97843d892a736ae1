/// Waits, without blocking, for the value that a callback brings. It has to be called exactly once.
///
/// The value goes through a lock and not through the continuation, whose hand-over the thread sanitizer does not see
/// when the callback is faster than the wait.
package func callback<Value: Sendable>(
  isolation: isolated (any Actor)? = #isolation, _ start: (@escaping @Sendable (Value) -> Void) -> Void
) async -> Value {
  let received = Received<Value>()
  await withCheckedContinuation { continuation in
    start { value in
      received.value.withLock { $0 = value }
      continuation.resume()
    }
  }
  // Set above, before the continuation was resumed.
  return received.value.withLock { $0! }
}

private final class Received<Value: Sendable>: Sendable {
  let value = Lock<Value?>(nil)
}
