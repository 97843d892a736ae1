import Foundation
import Gesso

/// The command-line tool: `gesso COMMAND [OPTIONS]`.
@main
struct GessoCommand {
  static let usage = """
    usage: gesso COMMAND [OPTIONS]

    commands:
      blob      packs pictures into blobs and back, describes and verifies blobs
      cache     tells what a disk cache holds, verifies, prunes and clears it
      profile   scrolls lists in each way of drawing them, and reports which frames were late
      version   prints the version
      write     writes a file, or what comes in, all or nothing

    'gesso COMMAND --help' tells more.
    """

  @MainActor
  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      switch arguments.first {
      case "blob": try await BlobCommand.run(Array(arguments.dropFirst()))
      case "cache": try await CacheCommand.run(Array(arguments.dropFirst()))
      case "profile": try await ProfileCommand.run(Array(arguments.dropFirst()))
      case "write": try await WriteCommand.run(Array(arguments.dropFirst()))
      case "version", "--version": print("gesso \(gessoVersion)")
      case "help", "--help", "-h": print(usage)
      case nil: throw UsageError("a command is needed", help: usage)
      case let command?: throw UsageError("there is no command \"\(command)\"", help: usage)
      }
    } catch let error as UsageError {
      Console.printError("gesso: \(error.message)\n\(error.help)")
      exit(2)
    } catch {
      Console.printError("gesso: \(error)")
      exit(1)
    }
  }
}

/// The command line does not make sense.
struct UsageError: Error {
  let message: String
  let help: String

  init(_ message: String, help: String) {
    self.message = message
    self.help = help
  }
}

/// Standard output and error.
enum Console {
  static func printError(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

  /// Whether a person watches standard error, where progress goes.
  static let showsProgress = isatty(STDERR_FILENO) == 1

  /// Replaces the line of progress.
  static func progress(_ text: String) {
    guard showsProgress else { return }
    FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8))
  }
}
