import Foundation
import Testing

@testable import Gesso

/// A store in memory, which fails when it is told to.
final class ListStore: BlobStore {
  struct Failure: Error {}

  let tier: BlobTier
  let blobs = Box<[BitmapKey: Data]>([:])
  let reads = Box(0)
  let fails = Box(false)
  let failsReads = Box(false)

  init(_ tier: BlobTier) { self.tier = tier }

  private func attempt() throws { if fails.value { throw Failure() } }

  func blob(for key: BitmapKey) async throws -> Data? {
    reads.increment()
    try attempt()
    if failsReads.value { throw Failure() }
    return blobs.value[key]
  }

  func put(_ blob: Data, for key: BitmapKey) async throws {
    try attempt()
    blobs.update { $0[key] = blob }
  }

  func remove(_ key: BitmapKey) async throws {
    try attempt()
    blobs.update { $0[key] = nil }
  }

  func removeAll(_ selection: KeySelection) async throws {
    try attempt()
    blobs.update { blobs in blobs = blobs.filter { !selection.contains($0.key.identity) } }
  }
}

@Suite("A cached drawer with stores")
struct DrawerStoreTests {
  private let disk = ListStore(.disk)
  private let remote = ListStore(.remote)

  private func drawer(cache: any BitmapCache = MemoryCache()) -> CachedDrawer {
    CachedDrawer(
      .init(cache: cache, workers: 1, stores: [disk, remote], completions: ImmediateCompletionQueue()))
  }

  private func outcome(_ request: DrawRequest, of drawer: CachedDrawer) async -> DrawOutcome {
    await callback { finish in drawer.draw(request, completion: finish) }
  }

  /// A picture of its own for each key.
  private func picture(_ key: String, draws: Box<Int> = Box(0)) -> DrawRequest {
    DrawRequest(key: key, size: CGSize(width: 9, height: 7), scale: 2, background: .white) { context, rect in
      draws.increment()
      context.fill(rect.insetBy(dx: CGFloat(key.count), dy: 1))
    }
  }

  @Test("writes what it has drawn to all of them, and reads it back without drawing")
  func roundTrip() async throws {
    let draws = Box(0), request = picture("a", draws: draws)
    let drawn = try await drawer().bitmap(for: request)
    #expect(await eventually { disk.blobs.value.count == 1 && remote.blobs.value.count == 1 })
    guard case .diskHit(let read) = await outcome(request, of: drawer()) else {
      Issue.record("no disk hit")
      return
    }
    #expect(read.hasSamePixels(as: drawn) && draws.value == 1 && remote.reads.value == 1)
    disk.blobs.update { $0 = [:] }
    let third = drawer()
    guard case .remoteHit(let far) = await outcome(request, of: third) else {
      Issue.record("no remote hit")
      return
    }
    #expect(far.hasSamePixels(as: drawn) && third.statistics.remoteHits == 1)
    #expect(await eventually { disk.blobs.value.count == 1 }, "what was far away is near now")
    #expect(third.cachedBitmap(for: request) === far)
  }

  @Test("draws if they fail, and counts that")
  func failing() async throws {
    disk.fails.update { $0 = true }
    remote.fails.update { $0 = true }
    let draws = Box(0), drawer = drawer()
    guard case .drawn = await outcome(picture("a", draws: draws), of: drawer) else {
      Issue.record("not drawn")
      return
    }
    #expect(draws.value == 1)
    #expect(await eventually { drawer.statistics.storeFailures == 4 }, "two reads and two writes")
    drawer.invalidate(prefix: "")
    #expect(await eventually { drawer.statistics.storeFailures == 6 })
    #expect(drawer.statistics.failures == 0)
  }

  @Test("draws if a blob is damaged, or of another size, and does not keep it")
  func damaged() async throws {
    let draws = Box(0), request = picture("a", draws: draws)
    var damaged = try solid(.red, width: 18, height: 14, scale: 2).encoded(as: .blob)
    damaged[damaged.count - 1] ^= 1
    disk.blobs.update { $0[request.cacheKey] = damaged }
    let other = try solid(.red, width: 18, height: 13, scale: 2).encoded(as: .blob)
    remote.blobs.update { $0[request.cacheKey] = other }
    let drawer = drawer()
    guard case .drawn(let bitmap) = await outcome(request, of: drawer) else {
      Issue.record("not drawn")
      return
    }
    #expect(drawer.statistics.storeFailures == 2)
    #expect(await eventually { disk.blobs.value.count == 1 && disk.blobs.value[request.cacheKey] != damaged })
    #expect(await eventually { remote.blobs.value[request.cacheKey] != other })
    #expect(bitmap.height == 14)
  }

  @Test("does not ask them for a request that wants none, nor for a caller who wants it now")
  func without() async throws {
    var request = picture("a")
    request.usesStores = false
    _ = try await drawer().bitmap(for: request)
    _ = try drawer().bitmapNow(for: picture("b"))
    #expect(disk.reads.value == 0 && remote.reads.value == 0)
    #expect(await eventually { disk.blobs.value.keys.map(\.identity) == ["b"] })
  }

  @Test("forgets in them, too")
  func forgetting() async throws {
    let drawer = drawer()
    for key in ["a.1", "a.2", "b.1", "b.2"] { _ = try await drawer.bitmap(for: picture(key)) }
    #expect(await eventually { disk.blobs.value.count == 4 && remote.blobs.value.count == 4 })
    func names(_ store: ListStore) -> [String] { store.blobs.value.keys.map(\.identity).sorted() }
    drawer.invalidate(prefix: "a.")
    #expect(await eventually { names(disk) == ["b.1", "b.2"] && names(remote) == ["b.1", "b.2"] })
    drawer.invalidate(key: "b.1")
    #expect(await eventually { names(disk) == ["b.2"] })
    drawer.removeAll()
    #expect(await eventually { names(disk).isEmpty && names(remote).isEmpty })
    #expect(drawer.cachedBitmap(for: picture("b.2")) == nil)
  }

  @Test("joins requests of one key while they are asked, and drops what is cancelled meanwhile")
  func joining() async throws {
    let slow = SlowStore()
    let drawer = CachedDrawer(.init(workers: 1, stores: [slow], completions: ImmediateCompletionQueue()))
    let draws = Box(0), outcomes = Box<[String]>([])
    let tasks = (0..<3).map { index in
      drawer.draw(picture("a", draws: draws)) { outcome in
        outcomes.update { $0.append("\(index) \(outcome.bitmap != nil)") }
      }
    }
    tasks[1].cancel()
    let lonely = drawer.draw(picture("b", draws: draws)) { outcome in
      outcomes.update { $0.append("b \(outcome.bitmap != nil)") }
    }
    lonely.cancel()
    slow.open.update { $0 = true }
    #expect(await eventually { outcomes.value.count == 4 && !drawer.isBusy })
    #expect(Set(outcomes.value) == ["0 true", "1 false", "2 true", "b false"] && draws.value == 1)
  }

  @Test("gives back and keeps nothing that was invalidated while a store was asked for it")
  func invalidatedReads() async throws {
    let slow = SlowStore()
    let near = ListStore(.disk)
    let drawer = CachedDrawer(.init(workers: 1, stores: [near, slow], completions: ImmediateCompletionQueue()))
    let draws = Box(0)
    let request = picture("a", draws: draws)
    let old = try solid(.red, width: 18, height: 14, scale: 2)
    let blob = try old.encoded(as: .blob)
    slow.content.update { $0 = blob }
    let outcomes = Box<[Bitmap?]>([])
    drawer.draw(request) { outcome in outcomes.update { $0.append(outcome.bitmap) } }
    #expect(await eventually { slow.asked.value == 1 })
    drawer.invalidate(key: "a")
    slow.content.update { $0 = nil }
    drawer.draw(request) { outcome in outcomes.update { $0.append(outcome.bitmap) } }
    slow.open.update { $0 = true }
    #expect(await eventually { outcomes.value.count == 2 && !drawer.isBusy })
    #expect(draws.value == 1 && !outcomes.value.contains { $0?.hasSamePixels(as: old) ?? true })
    #expect(await eventually { near.blobs.value.count == 1 })
    #expect(try !Bitmap(decoding: near.blobs.value[request.cacheKey]!).hasSamePixels(as: old))
  }

  @Test("gives back nothing that a store has failed to forget, before and after the store forgets it")
  func failedRemovals() async throws {
    let request = picture("a"), old = try solid(.red, width: 18, height: 14, scale: 2)
    let blob = try old.encoded(as: .blob)
    let cache = MemoryCache(), drawer = drawer(cache: cache)
    for store in [disk, remote] { store.blobs.update { $0[request.cacheKey] = blob } }
    remote.fails.update { $0 = true }
    drawer.invalidate(key: "a")
    #expect(await eventually { drawer.statistics.storeFailures == 1 })
    remote.fails.update { $0 = false }
    // It answers again, and still has the old one.
    guard case .drawn(let bitmap) = await outcome(request, of: drawer) else {
      Issue.record("not drawn")
      return
    }
    #expect(!bitmap.hasSamePixels(as: old))
    // Whoever asks when it is time for that has it removed; then the store is read again, which has the new one.
    var isRemoteHit = false
    for _ in 0..<1_000_000 where !isRemoteHit {
      await drawer.flush()
      cache.removeAll()
      disk.blobs.update { $0 = [:] }
      let next = await outcome(request, of: drawer)
      if case .remoteHit = next { isRemoteHit = true }
      guard next.bitmap?.hasSamePixels(as: bitmap) == true else {
        Issue.record("the old one is back")
        return
      }
    }
    #expect(isRemoteHit)
  }

  @Test("asks no more stores for what nobody wants any more, and keeps what one has found for it")
  func unwanted() async throws {
    let slow = SlowStore(), draws = Box(0), request = picture("a", draws: draws)
    let blob = try await drawer().bitmap(for: request).encoded(as: .blob)
    #expect(await eventually { !remote.blobs.value.isEmpty })
    let far = ListStore(.remote)
    let drawer = CachedDrawer(.init(workers: 1, stores: [slow, far], completions: ImmediateCompletionQueue()))
    let absent = drawer.draw(picture("b", draws: draws)) { _ in }
    #expect(await eventually { slow.asked.value == 1 })
    slow.content.update { $0 = blob }
    let wanted = drawer.draw(request) { _ in }
    #expect(await eventually { slow.asked.value == 2 })
    for task in [absent, wanted] { task.cancel() }
    slow.open.update { $0 = true }
    #expect(await eventually { drawer.cachedBitmap(for: request) != nil })
    #expect(await eventually { !drawer.isBusy })
    #expect(far.reads.value == 0 && draws.value == 1)
  }

  @Test("writes nothing that was invalidated before its turn; and writes also what is of one colour")
  func order() async throws {
    let drawer = drawer()
    let red = DrawRequest(key: "red", size: CGSize(width: 64, height: 64), scale: 1, background: .red) { _, _ in }
    _ = try await drawer.bitmap(for: red)
    #expect(await eventually { disk.blobs.value.count == 1 })
    for round in 0..<30 {
      _ = try await drawer.bitmap(for: picture("\(round)"))
      drawer.invalidate(key: "\(round)")
    }
    drawer.removeBitmap(for: red)
    #expect(await eventually { disk.blobs.value.isEmpty && remote.blobs.value.isEmpty && !drawer.isBusy })
    usleep(20_000)
    #expect(disk.blobs.value.isEmpty && remote.blobs.value.isEmpty)
  }
}

/// A store that answers when it is told to.
private final class SlowStore: BlobStore {
  let tier = BlobTier.remote
  let open = Box(false)
  let asked = Box(0)
  let content = Box<Data?>(nil)
  func blob(for key: BitmapKey) async throws -> Data? {
    let found = content.value
    asked.increment()
    _ = await eventually { open.value }
    return found
  }
  func put(_ blob: Data, for key: BitmapKey) async throws {}
  func remove(_ key: BitmapKey) async throws {}
  func removeAll(_ selection: KeySelection) async throws {}
}
