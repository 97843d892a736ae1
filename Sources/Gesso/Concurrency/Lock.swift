import Foundation

/// A value, and the lock that guards it.
///
/// As `Synchronization.Mutex`, but on the mutex of the system's threads: on Linux the standard library's own waits by
/// futex, which the thread sanitizer does not see, so that nothing under it could be tested.
package struct Lock<State: ~Copyable>: ~Copyable, @unchecked Sendable {
  // Proof of safety: both pointers never change and are freed by the one owner; the state came in as `sending`, is
  // reached only through `withLock`, which holds the mutex, and goes out as `sending`.
  fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let state: UnsafeMutablePointer<State>

  package init(_ initial: consuming sending State) {
    // Of its own cache lines: what other threads do with neighbours does not slow it down.
    mutex = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64).bindMemory(
      to: pthread_mutex_t.self, capacity: 1)
    pthread_mutex_init(mutex, nil)
    state = .allocate(capacity: 1)
    state.initialize(to: initial)
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
    pthread_mutex_destroy(mutex)
    UnsafeMutableRawPointer(mutex).deallocate()
  }

  /// Does something with the value, while nobody else can. Not to be nested.
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state.pointee)
  }
}

extension Lock where State == Void {
  /// Takes the lock, for what takes longer, or needs what no closure may have. To be given back by the same thread.
  func lock() { pthread_mutex_lock(mutex) }

  /// Gives the lock back.
  func unlock() { pthread_mutex_unlock(mutex) }
}
