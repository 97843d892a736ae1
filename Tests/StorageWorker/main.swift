import Foundation
import Gesso

#if Redis
  import GessoRedis
#endif

/// What tests of storage let die: works until it is killed, and says what is done, a line for each thing, at once.
///
///     storage-worker documents DIR FIRST      writes versions of eight documents, from a version on
///     storage-worker cache DIR FIRST          puts, replaces, removes and reads blobs
///     storage-worker churn DIR SEED SECONDS   the same at random, with other processes, and checks what it reads
///     storage-worker descriptors DIR          uses many segments with few descriptors
///     storage-worker leave DIR NUMBER         puts one blob, and dies by its own hand
///     storage-worker tiles SOCKET             draws ten tiles, unless a server has them
let arguments = CommandLine.arguments
let directory = URL(fileURLWithPath: arguments[2], isDirectory: true)
let number = arguments.count > 3 ? Int(arguments[3])! : 0

/// At once: what is said before a death is said.
func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

func key(_ name: String) -> BitmapKey {
  DrawRequest(key: name, size: CGSize(width: 8, height: 8), scale: 1) { _, _ in }.cacheKey
}

/// The version of bytes that are whole; `nil`: they are not what was put.
func version(of bytes: Data, _ name: String) -> Int? {
  let words = bytes.prefix(64).split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
  guard words.count == 3, let version = Int(String(decoding: words[1], as: UTF8.self)),
    bytes == contents(name, version)
  else { return nil }
  return version
}

func fail(_ text: String) -> Never {
  say("WRONG \(text)")
  exit(3)
}

extension StorageError {
  var isWithoutDescriptor: Bool {
    if case .system(_, _, let code) = self { code == EMFILE } else { false }
  }
}

/// Whether a document is not written, for want of a descriptor.
func isRefused(_ writer: DiskWriter) async -> Bool {
  do throws(StorageError) {
    try await writer.write(contents("file", 9), to: .documents, named: "file")
    return false
  } catch { return error.isWithoutDescriptor }
}

switch arguments[1] {
case "documents":
  let writer = DiskWriter(directories: StorageDirectories(in: directory), completions: ImmediateCompletionQueue())
  for round in number... {
    // In one go, so that they are a batch.
    await withTaskGroup(of: Void.self) { group in
      for name in (0..<8).map({ "document\($0)" }) {
        group.addTask {
          say("begin \(name) \(round)")
          do {
            try await writer.write(contents(name, round), to: .documents, named: name)
            say("done \(name) \(round)")
          } catch { say("failed \(name) \(error)") }
        }
      }
    }
  }

case "cache":
  let cache = DiskCache(directory: directory, limits: DiskCacheLimits(byteCount: 8 << 20))
  for round in number... {
    let names = (0..<20).map { "blob\((round * 7 + $0) % 50)" }
    for name in names {
      say("begin \(name) \(round)")
      try cache.putNow(contents(name, round), for: key(name))
    }
    do {
      try await cache.flush()
      for name in names { say("done \(name) \(round)") }
      if round % 5 == 0 {
        say("removing \(names[3])")
        try await cache.remove(key(names[3]))
        say("removed \(names[3])")
      }
    } catch { say("failed \(error)") }
    for name in names {
      if let blob = try? cache.blobNow(for: key(name)), version(of: blob, name) == nil { fail(name) }
    }
  }

case "churn":
  let cache = DiskCache(directory: directory, limits: DiskCacheLimits(byteCount: 8 << 20))
  let end = MonotonicClock.now + Int64(arguments[4])! * 1_000_000_000
  var state = UInt64(number)
  func random(_ below: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % below
  }
  var (reads, hits) = (0, 0)
  while MonotonicClock.now < end {
    let name = "blob\(random(300))"
    switch random(400) {
    case 0: try? await cache.removeAll(.prefix("blob1"))
    case 1: try? await cache.prune(to: DiskCacheLimits(byteCount: 4 << 20))
    case 2 where random(10) == 0: try? await cache.removeAll(.all)
    case 3..<9: try? await cache.remove(key(name))
    case 9..<160: try? cache.putNow(contents(name, random(1000)), for: key(name))
    default:
      reads += 1
      if let blob = try? cache.blobNow(for: key(name)) {
        hits += 1
        if version(of: blob, name) == nil { fail(name) }
      }
    }
  }
  try await cache.flush()
  say("reads \(reads) hits \(hits)")

case "descriptors":
  var limit = rlimit(rlim_cur: 32, rlim_max: 32)
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  let cache = DiskCache(directory: directory, limits: DiskCacheLimits(byteCount: 16 << 20))
  let writer = DiskWriter(
    directories: StorageDirectories(in: directory.appendingPathComponent("files")),
    completions: ImmediateCompletionQueue())
  for version in 1...8 {
    for name in (0..<40).map({ "blob\($0)" }) { try cache.putNow(contents(name, version), for: key(name)) }
    try await cache.flush()
    try await writer.write(contents("file", version), to: .documents, named: "file")
  }
  // All that there are, but none for the cache.
  var taken: [Int32] = []
  while true {
    let file = open("/dev/null", O_RDONLY)
    if file < 0 { break }
    taken.append(file)
  }
  func check() -> Int {
    (0..<40).count { index in
      guard let blob = try? cache.blobNow(for: key("blob\(index)")) else { return false }
      if version(of: blob, "blob\(index)") != 8 { fail("blob\(index)") }
      return true
    }
  }
  let found = check()
  if await !isRefused(writer) { fail("written without a descriptor") }
  for file in taken { close(file) }
  let foundAfter = check()
  try await writer.write(contents("file", 9), to: .documents, named: "file")
  say("found \(found) then \(foundAfter)")

case "leave":
  let cache = DiskCache(directory: directory, limits: DiskCacheLimits(byteCount: 64 << 20))
  try cache.putNow(contents("blob\(number)", 1), for: key("blob\(number)"))
  try await cache.flush()
  kill(getpid(), SIGKILL)

#if Redis
  case "tiles":
    let store = RedisStore(
      RedisConfiguration(.unix(path: arguments[2]), timeout: .seconds(10), connectTimeout: .seconds(10)))
    let drawer = CachedDrawer(.init(workers: 1, stores: [store], completions: ImmediateCompletionQueue()))
    for number in 0..<10 {
      let request = DrawRequest(key: "tile.\(number)", size: CGSize(width: 40, height: 30)) { context, rect in
        context.fill(rect.insetBy(dx: CGFloat(number), dy: 2))
      }
      let bitmap = try await drawer.bitmap(for: request)
      say("tile \(number) \(try bitmap.encoded(as: .png).base64EncodedString())")
    }
    await drawer.flush()
    say("drawn \(drawer.statistics.draws) read \(drawer.statistics.remoteHits)")
#endif

default: fail("there is no \(arguments[1])")
}
