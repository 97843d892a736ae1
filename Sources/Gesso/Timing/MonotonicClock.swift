import Foundation

/// Time in nanoseconds.
public enum MonotonicClock {
  /// Since some moment in the past; never set back.
  public static var now: Int64 { read(CLOCK_MONOTONIC) }

  /// That this thread has run on a processor.
  public static var threadTime: Int64 { read(CLOCK_THREAD_CPUTIME_ID) }

  /// Sleeps until a moment of ``now``; not at all if it is over.
  public static func sleep(until deadline: Int64) {
    var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
    while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
  }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

extension MonotonicClock {
  /// The time a while from now; the latest or earliest one that there is, if it is too long a while.
  package static func time(after duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    let (whole, isFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isFarther) = now.addingReportingOverflow(whole)
    if isFar || isFarther { return seconds < 0 ? .min : .max }
    let (time, isFarthest) = sum.addingReportingOverflow(attoseconds / 1_000_000_000)
    return isFarthest ? (seconds < 0 ? .min : .max) : time
  }
}
