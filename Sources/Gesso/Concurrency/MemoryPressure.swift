internal import CGessoSystem
import Foundation

/// Tells when the kernel says that memory is short: by its pressure stall information, of the system and of the process's
/// control group, and by that group's memory events.
///
/// One thread waits, which is begun for the first observer. Thread-safety: any thread.
final class MemoryPressure: Sendable {
  /// What the kernel tells here.
  static let shared = MemoryPressure(
    pressureFiles: ["/proc/pressure/memory", group + "/memory.pressure"], eventFiles: [group + "/memory.events"])

  /// Ends with itself.
  final class Observation: Sendable {
    fileprivate let handler: @Sendable () -> Void
    fileprivate init(_ handler: @escaping @Sendable () -> Void) { self.handler = handler }
  }

  private struct Weak: Sendable { weak var observation: Observation? }

  /// Some task has to wait for memory for 300 ms in two seconds: multiples of that are for everyone, and others for root.
  private static let trigger = "some 300000 2000000"

  private let observers = Lock<[Weak]>([])
  private let pressures: [Int32]
  private let changes: [Int32]
  private let stop: Int32
  private let hasBegun = Lock(false)

  init(pressureFiles: [String], eventFiles: [String]) {
    pressures = pressureFiles.map { gesso_pressure_open($0, Self.trigger) }.filter { $0 >= 0 }
    changes = eventFiles.map { gesso_change_open($0) }.filter { $0 >= 0 }
    stop = gesso_eventfd()
  }

  deinit {
    // The thread keeps the object while it runs.
    for descriptor in pressures + changes + [stop] where descriptor >= 0 { close(descriptor) }
  }

  /// Whether there is anything to wait for.
  var isAvailable: Bool { !pressures.isEmpty || !changes.isEmpty }

  /// Calls a handler on a thread of its own, at most once a second, for as long as the result is kept.
  func observe(_ handler: @escaping @Sendable () -> Void) -> Observation {
    let observation = Observation(handler)
    observers.withLock { observers in
      observers.removeAll { $0.observation == nil }
      observers.append(Weak(observation: observation))
    }
    let begins = hasBegun.withLock { hasBegun in
      defer { hasBegun = true }
      return !hasBegun && isAvailable
    }
    if begins {
      let thread = Thread { [self] in wait() }
      thread.name = "gesso.pressure"
      thread.start()
    }
    return observation
  }

  /// Ends the thread.
  func end() {
    var one: UInt64 = 1
    _ = write(stop, &one, 8)
  }

  private func wait() {
    let all = pressures + changes + [stop]
    while true {
      let ready = gesso_pressure_wait(all, Int32(pressures.count), Int32(all.count))
      guard ready >= 0, ready < all.count - 1 else { return }
      for handler in observers.withLock({ $0.compactMap { $0.observation?.handler } }) { handler() }
      // One squeeze is many events.
      MonotonicClock.sleep(until: MonotonicClock.now + 1_000_000_000)
    }
  }

  /// The folder of the process's control group.
  private static var group: String {
    let groups = (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? ""
    let own = groups.split(separator: "\n").first { $0.hasPrefix("0::") }?.dropFirst(3) ?? "/"
    return "/sys/fs/cgroup" + (own == "/" ? "" : own)
  }
}
