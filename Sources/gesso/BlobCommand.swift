import Foundation
import Gesso

/// `gesso blob`.
struct BlobCommand {
  static let help = """
    usage: gesso blob pack IN OUT               writes a picture (PNG, JPEG or WebP) as a blob
           gesso blob pack FILE… --out DIR      many, as DIR/NAME.gbl
           gesso blob unpack IN OUT.png         writes a blob's picture as PNG
           gesso blob unpack FILE… --out DIR    many, as DIR/NAME.png
           gesso blob info FILE…                tells what blobs are, and how they are written
           gesso blob verify FILE…              checks every checksum

    Goes on after a file that fails, tells what is wrong with it, and ends with 1. Pixels are as Gesso draws them: colours
    times their alpha, in eight bits. These come back as they are.

    options:
      --level fast|small   pack: for caches (by default), or smaller and slower
      --scale S            pack: pixels per point; 1 by default
      --json               info: for programs
      --help               this
    """

  private let options: Options
  private let action: String
  private let level: BlobLevel
  private let scale: CGFloat

  static func run(_ arguments: [String]) async throws {
    if arguments.contains("--help") || arguments.contains("-h") { return print(help) }
    let command = try BlobCommand(arguments)
    let failed =
      switch command.action {
      case "pack": try command.convert(to: "gbl", command.pack)
      case "unpack": try command.convert(to: "png", command.unpack)
      case "info": try command.info()
      default: command.verify()
      }
    if failed > 0 { exit(1) }
  }

  private init(_ arguments: [String]) throws(UsageError) {
    guard let action = arguments.first, ["pack", "unpack", "info", "verify"].contains(action) else {
      let given = arguments.first.map { ", and not \"\($0)\"" } ?? ""
      throw UsageError("blob needs one of pack, unpack, info, verify\(given)", help: Self.help)
    }
    self.action = action
    options = try Options(
      Array(arguments.dropFirst()), values: ["out", "level", "scale"], flags: ["json"], takesOperands: true,
      help: Self.help)
    level = try options.value("level", default: .fast, expected: "fast or small") {
      ["fast": BlobLevel.fast, "small": .small][$0]
    }
    scale = try options.value("scale", default: 1, expected: "a number above 0, at most 16") {
      Double($0).flatMap { $0 > 0 && $0 <= 16 ? CGFloat($0) : nil }
    }
    guard !options.operands.isEmpty else { throw UsageError("blob \(action) needs a file", help: Self.help) }
  }

  // MARK: Packing and unpacking

  /// From where to where; the names of many are those that they have, with another extension.
  private func jobs(extension pathExtension: String) throws(UsageError) -> [(from: String, to: String)] {
    if let folder = options.string("out") {
      guard !folder.isEmpty else { throw UsageError("--out needs a directory", help: Self.help) }
      let names = options.operands.map { (URL(fileURLWithPath: $0).deletingPathExtension().lastPathComponent) }
      if let twice = Dictionary(grouping: names, by: \.self).first(where: { $0.value.count > 1 })?.key {
        throw UsageError("two files would be \(folder)/\(twice).\(pathExtension)", help: Self.help)
      }
      return zip(options.operands, names).map { ($0, "\(folder)/\($1).\(pathExtension)") }
    }
    guard options.operands.count == 2 else {
      throw UsageError("blob \(action) needs IN and OUT, or --out DIR", help: Self.help)
    }
    let (from, to) = (options.operands[0], options.operands[1])
    // As a shell's pattern makes it of two files.
    let other = action == "pack" ? ["png", "jpg", "jpeg", "webp"] : ["gbl"]
    if other.contains(URL(fileURLWithPath: to).pathExtension.lowercased()) {
      throw UsageError("\(to) would be overwritten by what its name is not; many files need --out DIR", help: Self.help)
    }
    return [(from, to)]
  }

  /// Nothing is written in place of what is no file, or over what is read.
  private static func check(_ job: (from: String, to: String)) throws(BlobFailure) {
    var (from, to) = (stat(), stat())
    guard stat(job.to, &to) == 0 else { return }
    guard to.st_mode & S_IFMT == S_IFREG else { throw BlobFailure("\(job.to): is no file that can be replaced") }
    if stat(job.from, &from) == 0, from.st_dev == to.st_dev, from.st_ino == to.st_ino {
      throw BlobFailure("\(job.to): is the file that is read")
    }
  }

  /// How many failed.
  private func convert(to pathExtension: String, _ make: (String) throws -> Data) throws -> Int {
    var failed = 0
    let jobs = try jobs(extension: pathExtension)
    var (before, after) = (0, 0)
    for (index, job) in jobs.enumerated() {
      Console.progress("\(index + 1) of \(jobs.count): \(job.from)")
      do {
        try Self.check(job)
        let bytes = try make(job.from)
        let target = URL(fileURLWithPath: job.to)
        do {
          try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
          try bytes.write(to: target, options: .atomic)
        } catch { throw BlobFailure("\(job.to): \(error.localizedDescription)") }
        before += (try? FileManager.default.attributesOfItem(atPath: job.from)[.size] as? Int) ?? 0
        after += bytes.count
      } catch {
        failed += 1
        Console.progress("")
        Console.printError("gesso: \(Self.problem(error, with: job.from))")
      }
    }
    Console.progress("")
    print("\(jobs.count - failed) of \(jobs.count) files: \(before) bytes, now \(after)")
    return failed
  }

  private func pack(_ path: String) throws -> Data {
    let bitmap = try Bitmap(contentsOf: URL(fileURLWithPath: path), options: ImageOptions(scale: scale))
    return try bitmap.encoded(level: level)
  }

  private func unpack(_ path: String) throws -> Data {
    try Bitmap(decoding: try FileBytes.read(path, waits: true)).encoded(as: .png)
  }

  /// What went wrong, and with which file: some errors name it themselves.
  private static func problem(_ error: any Error, with path: String) -> String {
    let text = "\(error)"
    return text.contains(path) ? text : "\(path): \(text)"
  }

  // MARK: Looking at blobs

  private func each(_ work: (String) throws -> Void) -> Int {
    var failed = 0
    for path in options.operands {
      do {
        try work(path)
      } catch {
        failed += 1
        Console.printError("gesso: \(Self.problem(error, with: path))")
      }
    }
    return failed
  }

  private func verify() -> Int {
    each { path in
      try BlobInfo.verify(try FileBytes.read(path, waits: true))
      print("\(path): good")
    }
  }

  private func info() throws -> Int {
    var documents: [BlobDocument] = []
    let failed = each { path in
      let info = try BlobInfo(try FileBytes.read(path, waits: true))
      if options.has("json") { documents.append(BlobDocument(file: path, info)) } else { print(Self.text(path, info)) }
    }
    if options.has("json") {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      print(String(decoding: try encoder.encode(documents), as: UTF8.self))
    }
    return failed
  }

  private static func text(_ path: String, _ info: BlobInfo) -> String {
    let part = percent(info.byteCount, of: info.pixelByteCount)
    var lines = [
      "\(path): \(info.width) × \(info.height) pixels, \(info.scale) to a point, \(info.format)\(info.isOpaque ? ", opaque" : "")",
      "  \(info.byteCount) bytes, \(part) of \(info.pixelByteCount)",
    ]
    for band in info.bands {
      let raw = info.pixelByteCount / info.height * band.rows.count
      lines.append(
        "  rows \(band.rows.lowerBound)–\(band.rows.upperBound - 1): \(band.mode), \(band.byteCount) bytes at \(band.offset), "
          + percent(band.byteCount, of: raw))
    }
    return lines.joined(separator: "\n")
  }

  private static func percent(_ part: Int, of whole: Int) -> String {
    "\((Double(part) / Double(whole) * 10000).rounded() / 100) %"
  }
}

/// What is wrong with a file.
private struct BlobFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A blob's description for programs.
private struct BlobDocument: Encodable {
  struct Band: Encodable {
    let mode: String
    let firstRow: Int
    let rowCount: Int
    let offset: Int
    let bytes: Int
  }

  let file: String
  let width: Int
  let height: Int
  let scale: Double
  let format: String
  let isOpaque: Bool
  let bytes: Int
  let pixelBytes: Int
  let bands: [Band]

  init(file: String, _ info: BlobInfo) {
    self.file = file
    width = info.width
    height = info.height
    scale = Double(info.scale)
    format = "\(info.format)"
    isOpaque = info.isOpaque
    bytes = info.byteCount
    pixelBytes = info.pixelByteCount
    bands = info.bands.map {
      Band(
        mode: $0.mode, firstRow: $0.rows.lowerBound, rowCount: $0.rows.count, offset: $0.offset, bytes: $0.byteCount)
    }
  }
}
