import Foundation
import Testing

@testable import Gesso

private func writer(in directory: URL) -> DiskWriter {
  DiskWriter(directories: StorageDirectories(in: directory), completions: ImmediateCompletionQueue())
}

private func names(in directory: URL) -> [String] {
  ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []).sorted()
}

@Suite("A disk writer")
struct DiskWriterTests {
  @Test("puts a file into the directory that was asked for", arguments: StorageLocation.allCases)
  func locations(_ location: StorageLocation) async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(in: directory)
      let saved = try await writer.write(Data("hello".utf8), to: location)
      #expect(saved.byteCount == 5)
      #expect(try Data(contentsOf: saved.url) == Data("hello".utf8))
      let folder = writer.directories.url(of: location)
      #expect(saved.url.deletingLastPathComponent().path == folder.path)
      #expect(names(in: folder) == [saved.url.lastPathComponent], "no temporary file is left")
      #expect(saved.url.pathExtension == "data")
      let attributes = try FileManager.default.attributesOfItem(atPath: saved.url.path)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test("gives each file a name of its own, or the given one, whose old file it replaces")
  func naming() async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(in: directory)
      let first = try await writer.write(Data([1]), to: .cache)
      let second = try await writer.write(Data([2]), to: .cache)
      #expect(first.url != second.url)
      try await writer.write(Data([3]), to: .documents, named: "kept.bin")
      let replaced = try await writer.write(Data([4, 4]), to: .documents, named: "kept.bin")
      #expect(try Data(contentsOf: replaced.url) == Data([4, 4]))
      #expect(names(in: directory.appendingPathComponent("documents")) == ["kept.bin"])
    }
  }

  @Test(
    "refuses names that cannot be a file's",
    arguments: ["", ".", "..", "a/b", "a\u{0}b", String(repeating: "é", count: 128)])
  func wrongNames(_ name: String) async throws {
    try await withTemporaryDirectory { directory in
      await #expect {
        try await writer(in: directory).write(Data(), to: .cache, named: name)
      } throws: {
        if case StorageError.invalidName(name, _) = $0 { true } else { false }
      }
      #expect(names(in: directory).isEmpty)
    }
  }

  @Test("reads back and removes what it has written, in the order of asking", arguments: StorageLocation.allCases)
  func loading(_ location: StorageLocation) async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(in: directory)
      writer.write(Data("first".utf8), to: location, named: "a", completion: nil)
      writer.write("zweite Fassung, ü", to: location, named: "a", completion: nil)
      #expect(try await writer.load("a", from: location) == Data("zweite Fassung, ü".utf8))
      await #expect(throws: StorageError.self, "longer than the limit") {
        try await writer.load("a", from: location, limit: 5)
      }
      try await writer.remove("a", from: location)
      #expect(names(in: writer.directories.url(of: location)).isEmpty)
      for name in ["a", "..", "b/c"] {
        await #expect(throws: StorageError.self) { try await writer.load(name, from: location) }
        await #expect(throws: StorageError.self) { try await writer.remove(name, from: location) }
      }
    }
  }

  @Test("writes any encodable value as JSON")
  func json() async throws {
    struct Person: Codable, Equatable {
      let name: String
      let height: Double
    }
    try await withTemporaryDirectory { directory in
      let writer = writer(in: directory), ada = Person(name: "Ada / Lovelace", height: 1.65)
      let saved = try await writer.write(EncodedJSON(ada), to: .documents)
      #expect(saved.url.pathExtension == "json")
      let data = try await writer.load(saved.url.lastPathComponent, from: .documents)
      #expect(try JSONDecoder().decode(Person.self, from: data) == ada)
      #expect(String(decoding: data, as: UTF8.self) == #"{"height":1.65,"name":"Ada / Lovelace"}"#)
      await #expect(throws: StorageError.self) {
        try await writer.write(EncodedJSON(Person(name: "", height: .nan)), to: .documents)
      }
    }
  }

  @Test("writes dictionaries as property lists that read back equal")
  func dictionaries() async throws {
    try await withTemporaryDirectory { directory in
      let ada: PropertyList = [
        "name": "Ada", "age": 36, "height": 1.65, "alive": false, "tags": ["a", "b & <c>"], "nested": ["deep": [1, 2]],
        "born": .date(Date(timeIntervalSince1970: -4_861_296_000)), "bytes": .data(Data([0, 255])), "one": 1,
        "yes": true,
      ]
      let saved = try await writer(in: directory).write(ada, to: .cache)
      #expect(saved.url.pathExtension == "plist")
      let data = try Data(contentsOf: saved.url)
      #expect(try PropertyList(decoding: data) == ada)
      #expect(String(decoding: data, as: UTF8.self).hasPrefix("<?xml"), "not its debug description")
    }
  }

  @Test("takes Foundation's dictionaries, and says where a value is that cannot be written")
  func foundationDictionaries() throws {
    let list = try PropertyList(
      [
        "a": 1, "b": true, "c": 2.5, "d": ["x", Data([1])] as [Any], "e": Int8(65), "f": NSNumber(value: false),
        "g": CGFloat(1),
      ])
    #expect(
      list == ["a": 1, "b": true, "c": 2.5, "d": .array(["x", .data(Data([1]))]), "e": 65, "f": false, "g": 1.0])
    #expect(throws: StorageError.self) { try PropertyList(["large": UInt64.max]) }
    #expect(throws: StorageError.notEncodable("a property list cannot hold a NSNull, found at a.b[1]")) {
      try PropertyList(["a": ["b": [1, NSNull()] as [Any]]])
    }
    for text in ["<plist", "hello", "{ a = b; }", ""] {
      #expect(throws: StorageError.self, "\(text)") { try PropertyList(decoding: Data(text.utf8)) }
    }
    let odd: PropertyList = ["control \u{1}": ["\u{FFFE}", "\t\n\r"]]
    #expect(try PropertyList(decoding: odd.persistedData()) == odd)
    #expect(try odd.persistedData().starts(with: Data("bplist".utf8)), "XML has no such characters")
  }

  @Test("writes bitmaps as PNG and JPEG that decode again", arguments: [ImageFormat.png, .jpeg(), .webp(), .blob])
  func bitmaps(_ format: ImageFormat) async throws {
    try await withTemporaryDirectory { directory in
      let bitmap = try solid(.orange, width: 20, height: 10)
      let saved = try await writer(in: directory).write(bitmap, as: format, to: .documents)
      #expect(saved.url.pathExtension == format.pathExtension)
      let data = try Data(contentsOf: saved.url)
      #expect(saved.byteCount == data.count)
      let copy = try format == .blob ? Bitmap(decoding: data) : Bitmap(image: data)
      #expect(copy.width == 20 && copy.height == 10)
      if format != .jpeg() { #expect(copy.hasSamePixels(as: bitmap)) }
    }
  }

  @Test(
    "calls back once, later, and of each file in the order in which it was asked", arguments: StorageLocation.allCases)
  func callbacks(_ location: StorageLocation) async throws {
    try await withTemporaryDirectory { directory in
      let queue = DrainedCompletionQueue()
      let writer = DiskWriter(directories: StorageDirectories(in: directory), completions: queue)
      let order = Box<[Int: [Int]]>([:])
      for index in 0..<60 {
        writer.write(Data(repeating: UInt8(index), count: index * 100), to: location, named: "\(index % 3)") { result in
          if case .success = result { order.update { $0[index % 3, default: []].append(index) } }
        }
      }
      writer.write(Data(), to: location, completion: nil)
      await writer.barrier(location)
      #expect(order.value.isEmpty)
      queue.drain()
      for file in 0..<3 { #expect(order.value[file] == Array(stride(from: file, to: 60, by: 3))) }
      let folder = writer.directories.url(of: location)
      #expect(names(in: folder).count == 4)
      for file in 0..<3 {
        let last = 57 + file
        let data = try Data(contentsOf: folder.appendingPathComponent("\(file)"))
        #expect(data == Data(repeating: UInt8(last), count: last * 100))
      }
    }
  }

  @Test("waits at a barrier until all before it is written")
  func barrier() async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(in: directory)
      for index in 0..<50 { writer.write(Data(count: 10_000), to: .documents, named: "\(index)", completion: nil) }
      await writer.barrier(.documents)
      #expect(names(in: directory.appendingPathComponent("documents")).count == 50)
    }
  }

  @Test("reports where it cannot write, and leaves nothing")
  func unwritable() async throws {
    try await withTemporaryDirectory { directory in
      // A file where the directory should be: nobody can write there, root neither.
      try Data().write(to: directory.appendingPathComponent("documents"))
      await #expect(throws: StorageError.system(operation: "open", path: directory.path + "/documents", code: ENOTDIR))
      {
        try await writer(in: directory).write(Data([1]), to: .documents)
      }
      let below = DiskWriter(
        directories: StorageDirectories(in: directory.appendingPathComponent("documents/deeper")),
        completions: ImmediateCompletionQueue())
      await #expect {
        try await below.write(Data([1]), to: .cache)
      } throws: {
        "\($0)".contains("Not a directory")
      }
    }
  }

  @Test("keeps the old file when the new one cannot be written whole")
  func partial() async throws {
    try await withTemporaryDirectory { directory in
      let writer = writer(in: directory)
      try await writer.write(Data("old".utf8), to: .documents, named: "file")
      struct Unwritable: Persistable {
        var pathExtension: String { "x" }
        func persistedData() throws(StorageError) -> Data { throw .notEncodable("on purpose") }
      }
      await #expect(throws: StorageError.notEncodable("on purpose")) {
        try await writer.write(Unwritable(), to: .documents, named: "file")
      }
      // A directory of that name cannot be replaced by a file: the rename fails at the very end.
      let folder = directory.appendingPathComponent("documents")
      try FileManager.default.createDirectory(
        at: folder.appendingPathComponent("taken"), withIntermediateDirectories: false)
      await #expect(throws: StorageError.self) { try await writer.write(Data([1]), to: .documents, named: "taken") }
      #expect(names(in: folder) == ["file", "taken"])
      #expect(try Data(contentsOf: folder.appendingPathComponent("file")) == Data("old".utf8))
    }
  }

  @Test("does not write through a link")
  func links() async throws {
    try await withTemporaryDirectory { directory in
      let target = directory.appendingPathComponent("target")
      try Data("safe".utf8).write(to: target)
      let folder = directory.appendingPathComponent("cache")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(at: folder.appendingPathComponent("name"), withDestinationURL: target)
      try await writer(in: directory).write(Data("new".utf8), to: .cache, named: "name")
      #expect(try Data(contentsOf: target) == Data("safe".utf8))
      #expect(try Data(contentsOf: folder.appendingPathComponent("name")) == Data("new".utf8))
    }
  }

  @Test("goes by the XDG directories, and by one of its own in the temporary one")
  func standardDirectories() {
    let directories = StorageDirectories.standard(name: "painter")
    #expect(directories.cache.path.hasSuffix("/painter"))
    #expect(directories.documents.path.hasSuffix("/painter/documents"))
    #expect(directories.temporary.lastPathComponent.hasPrefix("gesso-temporary-\(getpid())-"))
  }
}

@Suite("Reading a file")
struct FileBytesTests {
  @Test("stops at a limit, and says what is wrong with a path")
  func reading() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("file").path
      let data = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
      try data.write(to: URL(fileURLWithPath: path))
      #expect(try FileBytes.read(path) == data)
      #expect(try FileBytes.read(path, limit: 200_000) == data)
      #expect(throws: StorageError.system(operation: "read", path: path, code: EFBIG)) {
        try FileBytes.read(path, limit: 199_999)
      }
      #expect(throws: StorageError.system(operation: "read", path: "/dev/zero", code: EFBIG)) {
        try FileBytes.read("/dev/zero", limit: 1 << 20)
      }
      #expect(throws: StorageError.system(operation: "open", path: path + "/x", code: ENOTDIR)) {
        try FileBytes.read(path + "/x")
      }
    }
  }
}
