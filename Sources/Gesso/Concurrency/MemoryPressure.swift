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
  private let changes: [(descriptor: Int32, path: String)]
  private let stop: Int32
  private let hasBegun = Lock(false)

  init(pressureFiles: [String], eventFiles: [String]) {
    pressures = pressureFiles.map { gesso_pressure_open($0, Self.trigger) }.filter { $0 >= 0 }
    changes = eventFiles.map { (gesso_change_open($0), $0) }.filter { $0.0 >= 0 }
    stop = gesso_eventfd()
  }

  deinit {
    // The thread keeps the object while it runs.
    for descriptor in pressures + changes.map(\.descriptor) + [stop] where descriptor >= 0 { close(descriptor) }
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
    var all = pressures + changes.map(\.descriptor) + [stop]
    var counts = changes.map { Self.events(in: $0.path) }
    while true {
      let ready = Int(gesso_pressure_wait(all, Int32(pressures.count), Int32(all.count)))
      if ready <= -2 {
        all[-2 - ready] = -1  // such as a control group that is gone
        if all.last == -1 { return }
        continue
      }
      guard ready >= 0, ready < all.count - 1 else { return }
      if ready >= pressures.count {
        let place = ready - pressures.count, events = Self.events(in: changes[place].path)
        defer { counts[place] = events }
        if events <= counts[place] { continue }
      }
      for handler in observers.withLock({ $0.compactMap { $0.observation?.handler } }) { handler() }
      // One squeeze is many events.
      MonotonicClock.sleep(until: MonotonicClock.now + 1_000_000_000)
    }
  }

  /// How often a control group was throttled for its memory, or had none left. Reaching its limit is not counted: that
  /// happens whenever files are read, and costs nothing but what was cached of them.
  private static func events(in path: String) -> Int {
    let lines = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
    return lines.reduce(0) { sum, line in
      let fields = line.split(separator: " ")
      guard fields.count == 2, ["high", "oom", "oom_kill"].contains(fields[0]) else { return sum }
      return sum + (Int(fields[1]) ?? 0)
    }
  }

  /// The folder of the process's control group.
  private static var group: String {
    let groups = (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? ""
    let own = groups.split(separator: "\n").first { $0.hasPrefix("0::") }?.dropFirst(3) ?? "/"
    return "/sys/fs/cgroup" + (own == "/" ? "" : own)
  }
}
