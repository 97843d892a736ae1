import Foundation
import Gesso

/// `gesso write`.
struct WriteCommand {
  static let help = """
    usage: gesso write [FILE] [OPTIONS]     writes a file, or what comes in, to where the disk writer puts such files

    All or nothing: under the name there is the old file or the new one. Prints where it is, and its bytes.

    options:
      --to LOCATION    cache, temporary or documents (survives a power cut once this has ended); documents by default
      --name NAME      the file's name; that of FILE by default, and a unique one for what comes in
      --in DIR         a directory for all three, instead of those of the XDG base directory specification
      --help           this
    """

  static func run(_ arguments: [String]) async throws {
    if arguments.contains("--help") || arguments.contains("-h") { return print(help) }
    let options = try Options(arguments, values: ["to", "name", "in"], flags: [], takesOperands: true, help: help)
    guard options.operands.count <= 1 else { throw UsageError("write takes one file", help: help) }
    let location = try options.value("to", default: .documents, expected: "cache, temporary or documents") {
      ["cache": StorageLocation.cache, "temporary": .temporary, "documents": .documents][$0]
    }
    let writer = DiskWriter(directories: directories(options.string("in")), completions: ImmediateCompletionQueue())
    let file = options.operands.first
    // Copied as it comes, however large it is, and however slowly.
    let descriptor = file.map { open($0, O_RDONLY | O_CLOEXEC) } ?? STDIN_FILENO
    guard descriptor >= 0 else { throw StorageError.system(operation: "open", path: file ?? "", code: errno) }
    var information = stat()
    if fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFDIR {
      throw StorageError.system(operation: "read", path: file ?? "what comes in", code: EISDIR)
    }
    let pathExtension = file.map { URL(fileURLWithPath: $0).pathExtension } ?? ""
    let copied = try CopiedFile(descriptor: descriptor, pathExtension: pathExtension.isEmpty ? "data" : pathExtension)
    let name = options.string("name") ?? file.map { URL(fileURLWithPath: $0).lastPathComponent }
    let saved = try await writer.write(copied, to: location, named: name)
    print("\(saved.url.path): \(saved.byteCount) bytes")
  }

  /// Temporary files of a tool are for the next one: they do not go with this process.
  private static func directories(_ folder: String?) -> StorageDirectories {
    if let folder { return StorageDirectories(in: URL(fileURLWithPath: folder, isDirectory: true)) }
    var directories = StorageDirectories.standard(name: "gesso")
    directories.temporary = FileManager.default.temporaryDirectory
    return directories
  }
}
