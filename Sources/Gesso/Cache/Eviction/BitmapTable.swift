internal import CGessoSystem
import Synchronization

/// Bitmaps by their keys. A lookup writes to nothing that threads share but the bitmap's own count, and takes no lock.
///
/// There is one bitmap for each hash. Keys are compared in full: another key of the same hash is not found.
///
/// Thread-safety: any thread looks up; one at a time changes, and frees what ``takeRetired(waits:)`` gives it.
final class BitmapTable: Sendable {
  /// A reference that the table counts by hand, as lookups must not.
  final class Stored: Sendable {
    let key: BitmapKey
    let bitmap: Kept
    /// When it is too old, by the monotonic clock.
    let expires: Int64
    /// What drawing it took; 0 if nobody knows.
    let drawNanoseconds: Int

    init(key: BitmapKey, bitmap: Kept, expires: Int64, drawNanoseconds: Int) {
      self.key = key
      self.bitmap = bitmap
      self.expires = expires
      self.drawNanoseconds = drawNanoseconds
    }
  }

  /// A bitmap, or the little that is needed to make one of a single colour again.
  enum Kept: Sendable {
    case pixels(Bitmap)
    case solid(SolidBitmap)

    /// Small bitmaps stay as they are: a hit of one that is made again allocates memory.
    private static let worthIt = 1024

    init(_ bitmap: Bitmap) {
      if bitmap.byteCount > Self.worthIt, let solid = SolidBitmap(bitmap) {
        self = .solid(solid)
      } else {
        self = .pixels(bitmap)
      }
    }

    /// Bytes that it takes.
    func byteCount(of cost: Int) -> Int { if case .solid = self { SolidBitmap.byteCount } else { cost } }
  }

  enum Lookup {
    case found(Kept)
    case expired(Stored)
    case missing
  }

  /// A place of a part: where a hash is, or would have to be looked for further on.
  fileprivate struct Slot: ~Copyable {
    /// One of the two below, or a hash.
    let hash = Atomic<UInt64>(Slot.free)
    let stored = Atomic<Unmanaged<Stored>?>(nil)

    /// Nothing is here, nor further on.
    static let free: UInt64 = 0
    /// What was here is removed.
    static let removed: UInt64 = 1
    /// A hash that is neither.
    static func marked(_ hash: UInt64) -> UInt64 { hash <= 1 ? hash | 2 : hash }
  }

  /// The slots of a part, which become others when they are too few: a power of two. A value is in its hash's slot or in the
  /// next free one.
  fileprivate struct Slots {
    let mask: Int
    let first: UnsafeMutablePointer<Slot>

    static func make(_ count: Int) -> UnsafeMutablePointer<Slots> {
      let first = UnsafeMutablePointer<Slot>.allocate(capacity: count)
      for place in 0..<count { (first + place).initialize(to: Slot()) }
      let slots = UnsafeMutablePointer<Slots>.allocate(capacity: 1)
      slots.initialize(to: Slots(mask: count - 1, first: first))
      return slots
    }

    static func free(_ slots: UnsafeMutablePointer<Slots>) {
      let (first, count) = (slots.pointee.first, slots.pointee.mask + 1)
      first.deinitialize(count: count)
      first.deallocate()
      slots.deinitialize(count: 1)
      slots.deallocate()
    }

    /// The slot of a hash; `nil`: it is not there.
    func find(_ hash: UInt64) -> UnsafeMutablePointer<Slot>? {
      var place = Int(truncatingIfNeeded: hash) & mask
      while true {
        let known = first[place].hash.load(ordering: .acquiring)
        if known == hash { return first + place }
        if known == Slot.free { return nil }
        place = (place + 1) & mask
      }
    }

    /// For those who change, of a hash that is not there.
    /// - Returns: whether nothing was there before.
    func add(_ hash: UInt64, _ stored: Unmanaged<Stored>) -> Bool {
      var place = Int(truncatingIfNeeded: hash) & mask
      while first[place].hash.load(ordering: .relaxed) > Slot.removed { place = (place + 1) & mask }
      let wasFree = first[place].hash.load(ordering: .relaxed) == Slot.free
      // Both: somebody may know the hash from the time before.
      first[place].stored.store(stored, ordering: .releasing)
      first[place].hash.store(hash, ordering: .releasing)
      return wasFree
    }
  }

  /// How many slots of a part have a bitmap, and how many are not free. Of those who change.
  private struct Counts {
    var kept = 0
    var taken = 0
  }

  /// What nobody finds any more, though some may have found it and look at it still.
  struct Retired {
    fileprivate var stored: [Unmanaged<Stored>] = []
    fileprivate var slots: [UnsafeMutablePointer<Slots>] = []
    fileprivate var lookers: [gesso_busy] = []
    fileprivate var isEmpty: Bool { stored.isEmpty && slots.isEmpty }
    fileprivate var isFree: Bool { lookers.allSatisfy { gesso_busy_ended($0) } }
  }

  /// So much is kept for those who look at it, before they are waited for.
  private static let mostWaiting = 64

  private static let bits: UInt64 = 5
  private static let partCount = 1 << Int(bits)
  // Proof of safety: the pointers never change. Of what they point to, atomics are for all, and the rest is for those who
  // change, one at a time. What is taken out is freed after all have ended who may have found it: see `free`.
  private nonisolated(unsafe) let parts: UnsafeMutablePointer<Atomic<UnsafeMutablePointer<Slots>>>
  private nonisolated(unsafe) let counts: UnsafeMutablePointer<Counts>
  private nonisolated(unsafe) let retired: UnsafeMutablePointer<Retired>
  private nonisolated(unsafe) let waiting: UnsafeMutablePointer<[Retired]>

  init() {
    parts = .allocate(capacity: Self.partCount)
    for place in 0..<Self.partCount { (parts + place).initialize(to: Atomic(Slots.make(4))) }
    counts = .allocate(capacity: Self.partCount)
    counts.initialize(repeating: Counts(), count: Self.partCount)
    retired = .allocate(capacity: 1)
    retired.initialize(to: Retired())
    waiting = .allocate(capacity: 1)
    waiting.initialize(to: [])
  }

  deinit {
    for place in 0..<Self.partCount {
      let slots = parts[place].load(ordering: .relaxed)
      for number in 0...slots.pointee.mask {
        slots.pointee.first[number].stored.load(ordering: .relaxed)?.release()
      }
      Slots.free(slots)
    }
    parts.deinitialize(count: Self.partCount)
    parts.deallocate()
    counts.deallocate()
    Self.free(waiting.pointee + [retired.pointee])
    retired.deinitialize(count: 1)
    retired.deallocate()
    waiting.deinitialize(count: 1)
    waiting.deallocate()
  }

  private func part(of hash: UInt64) -> Int { Int(hash >> (64 - Self.bits)) }

  // MARK: Looking up

  /// The bitmap of a key; `nil`: so many threads that live have looked up that this one has to do it as those who change.
  func find(_ key: BitmapKey) -> Lookup? {
    guard let reader = gesso_reader_begin() else { return nil }
    defer { gesso_reader_end(reader) }
    return look(key)
  }

  /// The same, for those who change.
  func look(_ key: BitmapKey) -> Lookup {
    let hash = Slot.marked(key.hashValue64)
    let slots = parts[part(of: hash)].load(ordering: .acquiring)
    guard let slot = slots.pointee.find(hash), let stored = slot.pointee.stored.load(ordering: .acquiring) else {
      return .missing
    }
    return stored._withUnsafeGuaranteedRef { stored in
      guard stored.key == key else { return .missing }
      if stored.expires != .max, MonotonicClock.now >= stored.expires { return .expired(stored) }
      return .found(stored.bitmap)
    }
  }

  /// How many threads that have not looked up yet may do it without a lock; `nil`: as many as can. For tests.
  static func limitThreads(to count: Int32?) { gesso_readers_limit(count ?? 0) }

  // MARK: Changing, one at a time

  /// Returns what was there.
  func put(_ stored: Stored) -> Stored? {
    let hash = Slot.marked(stored.key.hashValue64), part = part(of: hash)
    let slots = parts[part].load(ordering: .relaxed)
    let new = Unmanaged.passRetained(stored)
    if let slot = slots.pointee.find(hash) {
      return retire(slot.pointee.stored.exchange(new, ordering: .acquiringAndReleasing))
    }
    if 4 * (counts[part].taken + 1) > 3 * (slots.pointee.mask + 1) { renew(part) }
    let wasFree = parts[part].load(ordering: .relaxed).pointee.add(hash, new)
    counts[part].kept += 1
    if wasFree { counts[part].taken += 1 }
    return nil
  }

  /// Returns what was there.
  func remove(_ hash: UInt64) -> Stored? {
    let hash = Slot.marked(hash), part = part(of: hash)
    guard let slot = parts[part].load(ordering: .relaxed).pointee.find(hash) else { return nil }
    slot.pointee.hash.store(Slot.removed, ordering: .relaxed)
    counts[part].kept -= 1
    return retire(slot.pointee.stored.exchange(nil, ordering: .acquiringAndReleasing))
  }

  /// All keys.
  var keys: [BitmapKey] {
    var keys: [BitmapKey] = []
    for place in 0..<Self.partCount {
      let slots = parts[place].load(ordering: .relaxed).pointee
      for number in 0...slots.mask {
        if let stored = slots.first[number].stored.load(ordering: .relaxed) {
          keys.append(stored.takeUnretainedValue().key)
        }
      }
    }
    return keys
  }

  /// What was taken out, for ``free(_:)``: what nobody looks at.
  /// - Parameter waits: all of it, though somebody may look at it. Otherwise that is for a later time.
  func takeRetired(waits: Bool) -> [Retired] {
    if !retired.pointee.isEmpty {
      retired.pointee.lookers = withUnsafeTemporaryAllocation(of: gesso_busy.self, capacity: Int(GESSO_READERS)) {
        Array($0[..<Int(gesso_readers_busy($0.baseAddress))])
      }
      waiting.pointee.append(retired.pointee)
      retired.pointee = Retired()
    }
    if waiting.pointee.isEmpty { return [] }
    let isAll = waits || waiting.pointee.count > Self.mostWaiting
    let place = waiting.pointee.partition { isAll || $0.isFree }
    defer { waiting.pointee.removeSubrange(place...) }
    return Array(waiting.pointee[place...])
  }

  /// Frees what was taken out, once nobody looks at it any more. Without locks: bitmaps take long to free.
  static func free(_ retired: [Retired]) {
    for retired in retired {
      for looker in retired.lookers { gesso_busy_wait(looker) }
      for stored in retired.stored { stored.release() }
      for slots in retired.slots { Slots.free(slots) }
    }
  }

  private func retire(_ stored: Unmanaged<Stored>?) -> Stored? {
    guard let stored else { return nil }
    retired.pointee.stored.append(stored)
    return stored.takeUnretainedValue()
  }

  /// Other slots, at most half of which are taken, without those that are removed.
  private func renew(_ part: Int) {
    let old = parts[part].load(ordering: .relaxed)
    var count = 4
    while count < 2 * (counts[part].kept + 1) { count *= 2 }
    let new = Slots.make(count)
    for number in 0...old.pointee.mask {
      let slot = old.pointee.first + number
      guard let stored = slot.pointee.stored.load(ordering: .relaxed) else { continue }
      _ = new.pointee.add(slot.pointee.hash.load(ordering: .relaxed), stored)
    }
    counts[part].taken = counts[part].kept
    parts[part].store(new, ordering: .releasing)
    retired.pointee.slots.append(old)
  }
}
