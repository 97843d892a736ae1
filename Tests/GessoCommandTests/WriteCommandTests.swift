import Foundation
import Testing

@Suite("gesso write")
struct WriteCommandTests {
  @Test("writes what comes in, however slowly, and what comes through a pipe of a name")
  func pipes() throws {
    try withDirectory { folder in
      let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let pipe = Pipe()
      let thread = Thread {
        // In the meantime the pipe is empty, and its reader waits.
        for first in stride(from: 0, to: bytes.count, by: 100_000) {
          try? pipe.fileHandleForWriting.write(contentsOf: bytes[first..<first + 100_000])
        }
        try? pipe.fileHandleForWriting.close()
      }
      thread.start()
      let run = try gesso(["write", "--in", folder, "--name", "in"], input: pipe.fileHandleForReading)
      #expect(run.status == 0 && run.output == "\(folder)/documents/in: 300000 bytes\n", "\(run.errors)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/documents/in")) == bytes)

      #expect(mkfifo(folder + "/pipe", 0o600) == 0)
      let writer = Thread {
        // Opened as soon as there is a reader.
        if let file = FileHandle(forWritingAtPath: folder + "/pipe") {
          try? file.write(contentsOf: Data("late".utf8))
          try? file.close()
        }
      }
      writer.start()
      let named = try gesso("write", folder + "/pipe", "--in", folder, "--name", "in")
      #expect(named.status == 0, "\(named.errors)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/documents/in")) == Data("late".utf8))
    }
  }

  @Test(
    "writes a file where it belongs, and tells where and how long it is",
    arguments: ["cache", "temporary", "documents"])
  func files(_ location: String) throws {
    try withDirectory { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let file = folder + "/in.bin"
      try Data([1, 2, 3]).write(to: URL(fileURLWithPath: file))
      let run = try gesso("write", file, "--to", location, "--in", folder + "/out")
      #expect(run.status == 0 && run.output == "\(folder)/out/\(location)/in.bin: 3 bytes\n", "\(run.errors)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/out/\(location)/in.bin")) == Data([1, 2, 3]))
      let named = try gesso("write", file, "--to", location, "--in", folder + "/out", "--name", "other")
      #expect(named.output.contains("/\(location)/other: 3 bytes"))
    }
  }

  @Test("ends with an error for what cannot be written or read, and writes nothing then")
  func errors() throws {
    try withDirectory { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      for (arguments, message) in [
        ([folder + "/none"], "none: cannot open: No such file"), ([folder], "cannot read: Is a directory"),
        (["/etc/hostname", "--name", "a/b"], "it contains a /"),
        (["/etc/hostname", "--in", "/proc/none"], "/proc/none"),
      ] {
        let run = try gesso(["write", "--in", folder + "/out"] + arguments)
        #expect(run.status == 1 && run.errors.contains(message), "\(run.errors)")
      }
      #expect(!FileManager.default.fileExists(atPath: folder + "/out/documents"))
      let usage = try gesso("write", "a", "--to", "the moon")
      #expect(usage.status == 2 && usage.errors.contains("cache, temporary or documents"))
    }
  }
}
