import Foundation
import Testing

@testable import Gesso

@Suite("A drained completion queue")
struct DrainedCompletionQueueTests {
  private func isReadable(_ descriptor: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) == 1
  }

  @Test("calls what waits in order, on the draining thread, and is readable until then")
  func order() {
    let queue = DrainedCompletionQueue()
    let called = Box<[Int]>([])
    #expect(!isReadable(queue.fileDescriptor))
    for index in 0..<10 { queue.enqueue { called.update { $0.append(index) } } }
    #expect(isReadable(queue.fileDescriptor) && called.value.isEmpty && !queue.isEmpty)
    #expect(queue.drain() == 10 && called.value == Array(0..<10))
    #expect(!isReadable(queue.fileDescriptor) && queue.isEmpty && queue.drain() == 0)
  }

  @Test("calls one at least within no time at all, and stays readable for the rest")
  func budget() {
    let queue = DrainedCompletionQueue()
    let called = Box(0)
    for _ in 0..<5 { queue.enqueue { called.increment() } }
    #expect(queue.drain(budget: 0) == 1 && called.value == 1 && isReadable(queue.fileDescriptor))
    queue.enqueue { called.update { $0 += 100 } }
    #expect(queue.drain() == 5 && called.value == 105 && !isReadable(queue.fileDescriptor))
  }

  @Test("keeps what is enqueued while it drains for the next time")
  func reentrant() {
    let queue = DrainedCompletionQueue()
    let called = Box(0)
    queue.enqueue { queue.enqueue { called.increment() } }
    #expect(queue.drain() == 1 && called.value == 0 && isReadable(queue.fileDescriptor))
    #expect(queue.drain() == 1 && called.value == 1)
  }

  @Test("is readable for what is left, though one that it has called has drained it as well")
  func drainedWithin() {
    let queue = DrainedCompletionQueue()
    let called = Box(0)
    queue.enqueue { queue.drain() }
    for _ in 0..<2 { queue.enqueue { called.increment() } }
    #expect(queue.drain(budget: 0) == 1 && called.value == 0 && isReadable(queue.fileDescriptor))
    #expect(queue.drain() == 2 && !isReadable(queue.fileDescriptor))
  }

  @Test("loses nothing of what many threads enqueue")
  func threads() async {
    let queue = DrainedCompletionQueue()
    let called = Box(0)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<1000 { queue.enqueue { called.increment() } } }
      }
      group.addTask { for _ in 0..<100 { queue.drain(budget: 1000) } }
    }
    queue.drain()
    #expect(called.value == 4000)
  }
}

@Suite("A worker pool")
struct WorkerPoolTests {
  @Test("does jobs on no more threads than it has")
  func bounded() async {
    let pool = WorkerPool(count: 2)
    let running = Box((now: 0, most: 0))
    let done = Box(0)
    for _ in 0..<200 {
      pool.submit {
        running.update {
          $0.now += 1; $0.most = max($0.most, $0.now)
        }
        usleep(100)
        running.update { $0.now -= 1 }
        done.increment()
      }
    }
    #expect(await eventually { done.value == 200 })
    #expect(running.value.most <= 2 && running.value.most >= 1)
  }

  @Test("does all of its jobs before it ends")
  func ending() async {
    let done = Box(0)
    do {
      let pool = WorkerPool(count: 1)
      for _ in 0..<300 { pool.submit { done.increment() } }
    }
    #expect(await eventually { done.value == 300 })
  }

  @Test("does what is less urgent as well, while more urgent jobs keep coming")
  func ageing() async {
    let pool = WorkerPool(count: 1)
    let done = Box(false)
    let urgent = Box(0)
    @Sendable func again() {
      urgent.increment()
      if !done.value, urgent.value < 100_000 { pool.submit(priority: .veryHigh, again) }
    }
    for _ in 0..<3 { pool.submit(priority: .veryHigh, again) }
    pool.submit(priority: .veryLow) { done.update { $0 = true } }
    #expect(await eventually { done.value })
    #expect(urgent.value < 100_000)
  }

  @Test("has at least one thread, and by default leaves a processor to the main thread")
  func count() {
    #expect(WorkerPool(count: 0).count == 1)
    #expect(WorkerPool.shared.count == max(1, SystemResources.processors - 1))
  }
}
