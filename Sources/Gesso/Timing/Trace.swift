internal import CGessoSystem
import Foundation

/// What happened when, on which thread: written as Chrome's trace events, which Perfetto loads.
///
/// Thread-safety: any thread.
public final class Trace: Sendable {
  private struct Event {
    var phase: String
    var name: String
    var category: String
    var begin: Int64
    var duration: Int64
    var thread: Int
    var value: Double
  }

  private struct State {
    var events: [Event] = []
    var threads: [Int: String] = [:]
  }

  private let state = Lock(State())
  private let origin = MonotonicClock.now

  /// An empty trace, whose time begins now.
  public init() {}

  /// Records that the calling thread did something from one moment of ``MonotonicClock/now`` to another.
  public func slice(_ name: String, category: String, begin: Int64, end: Int64) {
    append(
      Event(
        phase: "X", name: name, category: category, begin: begin, duration: end - begin, thread: Self.thread, value: 0))
  }

  /// Records the value of a counter at this moment.
  public func counter(_ name: String, _ value: Double) {
    guard value.isFinite else { return }  // JSON has no such numbers
    append(
      Event(
        phase: "C", name: name, category: "counter", begin: MonotonicClock.now, duration: 0, thread: Self.thread,
        value: value))
  }

  /// Names the calling thread, which otherwise goes by its own name.
  public func nameThread(_ name: String) {
    state.withLock { $0.threads[Self.thread] = name }
  }

  private func append(_ event: Event) {
    state.withLock { state in
      if state.threads[event.thread] == nil { state.threads[event.thread] = Self.threadName }
      state.events.append(event)
    }
  }

  private static var thread: Int { Int(gesso_thread_id()) }

  private static var threadName: String {
    let name = Thread.current.name ?? ""
    return name.isEmpty ? "thread \(thread)" : name
  }

  /// The trace as JSON: `{"displayTimeUnit":"ms","traceEvents":[…]}`, times in microseconds.
  public func json() -> Data {
    let (events, threads) = state.withLock { ($0.events, $0.threads) }
    let process = Int(getpid())
    var lines = threads.sorted { $0.key < $1.key }.map { thread, name in
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":\(process),\"tid\":\(thread),\"args\":{\"name\":\(Self.quoted(name))}}"
    }
    for event in events.sorted(by: { $0.begin < $1.begin }) {
      let start =
        "{\"ph\":\"\(event.phase)\",\"name\":\(Self.quoted(event.name)),\"cat\":\(Self.quoted(event.category))"
        + ",\"pid\":\(process),\"tid\":\(event.thread),\"ts\":\(Double(event.begin - origin) / 1000)"
      switch event.phase {
      case "X": lines.append(start + ",\"dur\":\(Double(event.duration) / 1000)}")
      default: lines.append(start + ",\"args\":{\"value\":\(event.value)}}")
      }
    }
    return Data("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n\(lines.joined(separator: ",\n"))\n]}\n".utf8)
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\u{0}"..."\u{1F}": result += String(format: "\\u%04x", scalar.value)
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
