import Foundation
import Testing

@testable import Gesso

@MainActor
@Suite("A draw slot")
struct DrawSlotTests {
  private let queue = DrainedCompletionQueue()

  private func drainUntilIdle(_ drawer: CachedDrawer) async {
    _ = await eventually { !drawer.isBusy }
    queue.drain()
  }

  @Test("shows a picture when it comes, and the placeholder until then")
  func shows() async throws {
    let drawer = drawer(completions: queue)
    let placeholder = try solid(.gray)
    var shown: [Bitmap?] = []
    let slot = DrawSlot(drawer: drawer, placeholder: placeholder) { shown.append($0) }
    slot.show(request("a"))
    #expect(slot.isPending && slot.bitmap === placeholder)
    await drainUntilIdle(drawer)
    #expect(!slot.isPending && shown.count == 2 && shown[0] === placeholder && slot.bitmap !== placeholder)
    slot.show(request("a"))
    #expect(shown.count == 2, "asking for what is shown changes nothing")
  }

  @Test("shows a hit at once, without the placeholder")
  func hit() async throws {
    let drawer = drawer(completions: queue)
    let bitmap = try await drawer.bitmap(for: request("hit"))
    var shown: [Bitmap?] = []
    let slot = DrawSlot(drawer: drawer, placeholder: try solid(.gray)) { shown.append($0) }
    slot.show(request("hit"))
    #expect(shown.count == 1 && shown[0] === bitmap && !slot.isPending)
  }

  @Test("never shows an older picture after a newer request")
  func newestWins() async throws {
    let drawer = drawer(completions: queue)
    let gate = Gate()
    let slot = DrawSlot(drawer: drawer) { _ in }
    slot.show(request("old", color: .red, gate: gate))
    #expect(await eventually { drawer.statistics.draws == 1 })
    slot.show(request("new", color: .blue))
    gate.open()
    await drainUntilIdle(drawer)
    await drainUntilIdle(drawer)
    #expect(pixel(try #require(slot.bitmap), 0, 0) == 0xFF00_00FF)
  }

  @Test("shows nothing that was asked for before it was cleared")
  func cleared() async {
    let drawer = drawer(completions: queue)
    var shown = 0
    let slot = DrawSlot(drawer: drawer) { bitmap in if bitmap != nil { shown += 1 } }
    slot.show(request("a"))
    #expect(await eventually { !queue.isEmpty })
    slot.clear()
    queue.drain()
    #expect(shown == 0 && slot.bitmap == nil && !slot.isPending)
  }

  @Test("keeps the old bitmap only for the same key in another size")
  func flicker() async throws {
    let drawer = drawer(completions: queue)
    let placeholder = try solid(.gray)
    let slot = DrawSlot(drawer: drawer, placeholder: placeholder) { _ in }
    slot.show(request("a"))
    await drainUntilIdle(drawer)
    let small = slot.bitmap
    slot.show(request("a", size: CGSize(width: 8, height: 8)))
    #expect(slot.bitmap === small && slot.isPending)
    await drainUntilIdle(drawer)
    #expect(slot.bitmap?.width == 8)
    slot.show(request("b"))
    #expect(slot.bitmap === placeholder)
    await drainUntilIdle(drawer)
  }

  @Test("says why there is no bitmap, and tries again when it is asked again")
  func failing() async {
    struct Mishap: Error {}
    let drawer = drawer(completions: queue)
    let fails = Box(true)
    let slot = DrawSlot(drawer: drawer) { _ in }
    let request = DrawRequest(key: "x", size: CGSize(width: 1, height: 1)) { _, _ in if fails.value { throw Mishap() } }
    slot.show(request)
    await drainUntilIdle(drawer)
    #expect(slot.error != nil && slot.bitmap == nil)
    fails.update { $0 = false }
    slot.show(request)
    await drainUntilIdle(drawer)
    #expect(slot.error == nil && slot.bitmap != nil)
  }

  @Test("asks anew for what was invalidated since, shown or on its way, and shows the old bitmap until then")
  func invalidated() async throws {
    let drawer = drawer(completions: queue)
    var shown: [Bitmap?] = []
    let slot = DrawSlot(drawer: drawer, placeholder: try solid(.gray)) { shown.append($0) }
    /// A picture whose content changes.
    let color = Box(Color.red)
    func picture(_ key: String, gate: Gate? = nil) -> DrawRequest {
      DrawRequest(key: key, size: CGSize(width: 4, height: 4), scale: 1) { context, rect in
        context.setFillColor(color.value)
        context.fill(rect)
        gate?.wait()
      }
    }
    slot.show(picture("a"))
    await drainUntilIdle(drawer)
    #expect(shown.count == 2)
    color.update { $0 = .blue }
    drawer.invalidate(key: "b")
    slot.show(picture("a"))
    #expect(!slot.isPending)
    drawer.invalidate(key: "a")
    slot.show(picture("a"))
    #expect(slot.isPending && shown.count == 2, "and no placeholder")
    await drainUntilIdle(drawer)
    #expect(pixel(try #require(slot.bitmap), 0, 0) == 0xFF00_00FF && shown.count == 3)

    let gate = Gate()
    slot.show(picture("c", gate: gate))
    #expect(await eventually { drawer.statistics.draws == 3 })
    color.update { $0 = .red }
    drawer.removeAll()
    slot.show(picture("c"))
    gate.open()
    await drainUntilIdle(drawer)
    await drainUntilIdle(drawer)
    #expect(pixel(try #require(slot.bitmap), 0, 0) == 0xFFFF_0000)
  }

  @Test("goes on showing what it shows, when all is given up and it is asked for in another size again")
  func givenUp() async throws {
    let drawer = drawer(completions: queue), gate = Gate()
    let placeholder = try solid(.gray)
    let slot = DrawSlot(drawer: drawer, placeholder: placeholder) { _ in }
    slot.show(request("a"))
    await drainUntilIdle(drawer)
    let small = try #require(slot.bitmap)
    let large = CGSize(width: 8, height: 8)
    slot.show(request("a", size: large, gate: gate))
    drawer.cancelAll()
    gate.open()
    await drainUntilIdle(drawer)
    #expect(slot.bitmap === small && !slot.isPending)
    slot.show(request("a", size: large))
    // If it was being drawn, it is there at once.
    #expect(slot.bitmap !== placeholder && slot.bitmap != nil)
    await drainUntilIdle(drawer)
    #expect(slot.bitmap?.width == 8)
  }

  @Test("gives its request up when it goes away")
  func released() async {
    let drawer = drawer(completions: queue)
    let gate = Gate()
    drawer.draw(request("blocks", gate: gate)) { _ in }
    let draws = Box(0)
    var slot: DrawSlot? = DrawSlot(drawer: drawer) { _ in }
    slot?.show(request("gone", draws: draws))
    slot = nil
    gate.open()
    await drainUntilIdle(drawer)
    #expect(draws.value == 0)
  }

  @Test("goes to the main actor by itself when completions come elsewhere")
  func elsewhere() async {
    let drawer = drawer(completions: ImmediateCompletionQueue())
    var shown = 0
    let slot = DrawSlot(drawer: drawer) { bitmap in
      MainActor.assertIsolated()
      if bitmap != nil { shown += 1 }
    }
    slot.show(request("a"))
    for _ in 0..<30_000 where shown == 0 { try? await Task.sleep(for: .milliseconds(1)) }
    #expect(shown == 1)
  }
}
