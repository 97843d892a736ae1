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

extension Duration {
  /// Whole nanoseconds; the largest number for longer ones.
  var inNanoseconds: Int64 {
    let (seconds, isTooLong) = components.seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return isTooLong ? .max : seconds.addingReportingOverflow(components.attoseconds / 1_000_000_000).partialValue
  }
}
