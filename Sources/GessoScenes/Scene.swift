import Foundation
import Gesso

/// A view of a row: where it is, and what draws it.
public struct SceneView: Sendable {
  /// In the row, in whole points.
  public let frame: CGRect
  /// What draws it, in the frame's size.
  public let request: DrawRequest
}

/// A long list to scroll: what profile, demo and bench share.
public protocol Scene: Sendable {
  /// As it is called on the command line.
  var name: String { get }
  /// What shows between and behind the rows.
  var background: Color { get }
  /// Where the rows are.
  var rows: RowLayout { get }
  /// What a row consists of, from back to front.
  func views(inRow row: Int) -> [SceneView]
}

/// Rows of their own heights, one below the other.
public struct RowLayout: Sendable {
  /// Where each row begins, and at the end, where the last one ends; in points.
  private let edges: [Double]

  /// Rows of these heights, in points.
  public init(heights: [Double]) {
    var edges = [0.0]
    edges.reserveCapacity(heights.count + 1)
    for height in heights { edges.append(edges[edges.count - 1] + height) }
    self.edges = edges
  }

  /// How many there are.
  public var count: Int { edges.count - 1 }
  /// Their heights together.
  public var contentHeight: Double { edges[edges.count - 1] }
  /// Where a row begins.
  public func top(of row: Int) -> Double { edges[row] }
  /// How high a row is.
  public func height(of row: Int) -> Double { edges[row + 1] - edges[row] }

  /// The rows that show between two heights. O(log n).
  public func rows(from top: Double, to bottom: Double) -> Range<Int> {
    guard count > 0, top < bottom else { return 0..<0 }
    // The first row whose end is below the top, and the first that begins at the bottom or below.
    let first = partition { edges[$0 + 1] > top }
    let end = partition { edges[$0] >= bottom }
    return first..<max(first, end)
  }

  /// The first row for which a condition holds that holds for all after it.
  private func partition(_ condition: (Int) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if condition(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// The most rows that can show at once in a window of a height.
  public func mostRows(inWindow height: Double) -> Int {
    // A window shows the most rows when it begins just above the end of one.
    var most = 0
    for row in 0..<count {
      let top = edges[row + 1]
      most = max(most, rows(from: top, to: top + height).count + 1)
    }
    return min(count, most)
  }
}

/// What keeps a scene from being made.
public enum SceneError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file of the package list cannot be read.
  case cannotRead(String)
  /// The file has no installed package in it.
  case noPackages(path: String)
  /// Not a scene's name; which there are.
  case unknown(name: String)

  /// A sentence for a person.
  public var description: String {
    switch self {
    case .cannotRead(let reason): reason
    case .noPackages(let path): "\(path): no installed package is listed in it"
    case .unknown(let name): "there is no scene \"\(name)\"; there are \(Scenes.names.joined(separator: " and "))"
    }
  }
}

/// The scenes there are.
public enum Scenes {
  /// Their names.
  public static let names = ["circles", "packages"]

  /// Makes a scene.
  /// - Parameters:
  ///   - width: of the rows, in points.
  ///   - scale: pixels per point.
  ///   - packageList: a file like dpkg's `status`, for the scene that shows it.
  public static func make(
    _ name: String, width: CGFloat, scale: CGFloat, packageList: String
  ) throws -> any Scene {
    switch name {
    case "circles": try CirclesScene(width: width, scale: scale)
    case "packages": PackagesScene(try PackageList(contentsOf: packageList), width: width, scale: scale)
    default: throw SceneError.unknown(name: name)
    }
  }
}
