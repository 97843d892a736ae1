import Foundation

/// Some pages of an index, read at once and written back at once: many keys are found and removed with few calls.
///
/// For those who hold the lock of the cache for as long as they have it, and write to the index by it alone.
final class IndexPages {
  /// So many are read at most: half a megabyte.
  static let most = 128

  private static let slotsPerPage = IndexFile.slotsPerBucket * IndexFile.bucketsPerPage
  private static let length = slotsPerPage * IndexSlot.length

  private let index: IndexFile
  /// Which pages these are, in ascending order.
  private let numbers: [Int]
  private let bytes: UnsafeMutableRawBufferPointer
  /// Pages that follow one another in the file, by their places in `numbers`.
  private let runs: [Range<Int>]
  /// Of each page, the slots from the first to the last that was emptied, among all that were read.
  private var changed: [Range<Int>?]

  /// Reads pages.
  /// - Parameter numbers: in ascending order.
  init(_ numbers: [Int], of index: IndexFile) throws(FileFailure) {
    (self.index, self.numbers) = (index, numbers)
    bytes = .allocate(byteCount: numbers.count * Self.length, alignment: 64)
    var runs: [Range<Int>] = []
    for place in numbers.indices {
      if let last = runs.last, numbers[place] == numbers[last.upperBound - 1] + 1 {
        runs[runs.count - 1] = last.lowerBound..<place + 1
      } else {
        runs.append(place..<place + 1)
      }
    }
    self.runs = runs
    changed = [Range<Int>?](repeating: nil, count: numbers.count)
    for run in runs {
      let slots = run.lowerBound * Self.slotsPerPage..<run.upperBound * Self.slotsPerPage
      try index.read(part(slots), at: offset(slots))
    }
  }

  deinit { bytes.deallocate() }

  private func part(_ slots: Range<Int>) -> UnsafeMutableRawBufferPointer {
    let (start, end) = (slots.lowerBound * IndexSlot.length, slots.upperBound * IndexSlot.length)
    return UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end])
  }

  /// Which slot of the index it is.
  private func place(_ slot: Int) -> Int {
    numbers[slot / Self.slotsPerPage] * Self.slotsPerPage + slot % Self.slotsPerPage
  }

  private func offset(_ slots: Range<Int>) -> Int64 { index.offset(ofSlot: place(slots.lowerBound)) }

  /// Empties all slots of a key that are in a page; of a power cut there may be two.
  /// - Parameter page: its place among those that were read.
  /// - Returns: how many of them were a record's; `nil`: there was none at all.
  func free(_ hash: KeyHash, inPage page: Int) -> Int? {
    var (isFound, count) = (false, 0)
    let (first, second) = index.buckets(of: hash)
    for bucket in [first, second] {
      let start = page * Self.slotsPerPage + bucket % IndexFile.bucketsPerPage * IndexFile.slotsPerBucket
      for slot in start..<start + IndexFile.slotsPerBucket {
        let bytes = part(slot..<slot + 1), word = bytes.load(as: UInt64.self)
        guard word == hash.low.littleEndian, let known = IndexSlot(UnsafeRawBufferPointer(bytes)),
          known.hash.high == hash.high
        else { continue }
        _ = bytes.initializeMemory(as: UInt8.self, repeating: 0)
        index.forgetRead(place(slot))
        let others = changed[page] ?? slot..<slot + 1
        changed[page] = min(others.lowerBound, slot)..<max(others.upperBound, slot + 1)
        isFound = true
        if !known.isRemoval { count += 1 }
      }
    }
    return isFound ? count : nil
  }

  /// Writes what was changed.
  func write() throws(FileFailure) {
    for run in runs {
      let changed = changed[run].compactMap { $0 }
      guard let first = changed.first, let last = changed.last else { continue }
      let slots = first.lowerBound..<last.upperBound
      try index.write(UnsafeRawBufferPointer(part(slots)), at: offset(slots))
    }
  }
}
