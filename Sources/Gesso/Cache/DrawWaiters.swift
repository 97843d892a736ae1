/// Who waits for a draw, in the order in which they came. Mostly there is one, for whom no memory is asked.
struct DrawWaiters: RandomAccessCollection {
  private var first: DrawTask?
  private var others: [DrawTask] = []

  init(_ first: DrawTask? = nil) { self.first = first }

  var startIndex: Int { 0 }
  var endIndex: Int { first == nil ? 0 : 1 + others.count }
  subscript(place: Int) -> DrawTask { place == 0 ? first! : others[place - 1] }

  mutating func append(_ task: DrawTask) {
    if first == nil { first = task } else { others.append(task) }
  }

  /// False if it does not wait.
  mutating func remove(_ task: DrawTask) -> Bool {
    if first === task {
      first = others.isEmpty ? nil : others.removeFirst()
      return true
    }
    guard let place = others.firstIndex(where: { $0 === task }) else { return false }
    others.remove(at: place)
    return true
  }
}
