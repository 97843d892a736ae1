import Foundation
import Gesso

/// The packages that are installed on a machine, as dpkg's `status` file lists them.
public struct PackageList: Sendable {
  /// One package.
  public struct Package: Hashable, Sendable {
    /// Its name.
    public var name = ""
    /// Its version.
    public var version = ""
    /// The processors that it is for.
    public var architecture = ""
    /// The section of the archive, without the area (`libs`, not `contrib/libs`).
    public var section = ""
    /// What it is, in a line.
    public var description = ""
  }

  /// In the order of the file.
  public let packages: [Package]

  /// Where Debian keeps the list.
  public static let systemPath = "/var/lib/dpkg/status"

  /// Reads a list.
  public init(contentsOf path: String) throws(SceneError) {
    let data: Data
    do { data = try FileBytes.read(path) } catch { throw .cannotRead(error.description) }
    packages = Self.parse(String(decoding: data, as: UTF8.self))
    if packages.isEmpty { throw .noPackages(path: path) }
  }

  /// Stanzas of fields, separated by blank lines; a line that begins with a blank continues the field before it.
  static func parse(_ text: String) -> [Package] {
    var packages: [Package] = []
    var package = Package()
    var isInstalled = false
    func end() {
      if isInstalled, !package.name.isEmpty { packages.append(package) }
      package = Package()
      isInstalled = false
    }
    for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      guard let first = line.first else {
        end()
        continue
      }
      if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
        continue
      }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      let value = String(Substring(line[line.index(after: colon)...])).trimmingCharacters(in: .whitespaces)
      switch String(Substring(line[..<colon])) {
      case "Package": package.name = value
      case "Version": package.version = value
      case "Architecture": package.architecture = value
      case "Section": package.section = value.split(separator: "/").last.map(String.init) ?? ""
      case "Status": isInstalled = value.hasSuffix(" installed")
      case "Description": package.description = value
      default: break
      }
    }
    end()
    return packages
  }
}
