import Foundation

/// A property list: a value that is written as one, and reads back equal.
///
///     let ada: PropertyList = ["name": "Ada", "age": 36, "languages": ["en", "fr"]]
public enum PropertyList: Hashable, Sendable {
  /// Text.
  case string(String)
  /// A whole number.
  case integer(Int)
  /// A number with a fraction.
  case real(Double)
  /// True or false.
  case bool(Bool)
  /// A moment; property lists keep whole seconds.
  case date(Date)
  /// Bytes.
  case data(Data)
  /// Values in order.
  case array([PropertyList])
  /// Values by name.
  case dictionary([String: PropertyList])

  /// The value of a dictionary as Foundation has it.
  /// - Throws: `StorageError.notEncodable`, with the place of the first value that a property list cannot hold.
  public init(_ dictionary: [String: Any]) throws(StorageError) { self = try Self.convert(dictionary, at: "") }

  /// Reads a property list, XML or binary.
  public init(decoding data: Data) throws(StorageError) {
    let object: Any
    var format = PropertyListSerialization.PropertyListFormat.xml
    do {
      object = try PropertyListSerialization.propertyList(from: data, format: &format)
    } catch {
      throw .notEncodable("not a property list: \(error.localizedDescription)")
    }
    guard format == .xml || format == .binary else { throw .notEncodable("not an XML or binary property list") }
    self = try Self.convert(object, at: "")
  }

  private static func convert(_ value: Any, at path: String) throws(StorageError) -> PropertyList {
    if let number = number(value) { return number }
    switch value {
    case let value as PropertyList: return value
    case let value as String: return .string(value)
    case let value as Date: return .date(value)
    case let value as Data: return .data(value)
    case let value as [Any]:
      var items: [PropertyList] = []
      for (index, item) in value.enumerated() { items.append(try convert(item, at: "\(path)[\(index)]")) }
      return .array(items)
    case let value as [String: Any]:
      var items: [String: PropertyList] = [:]
      for (key, item) in value { items[key] = try convert(item, at: path.isEmpty ? key : "\(path).\(key)") }
      return .dictionary(items)
    default:
      throw .notEncodable(
        "a property list cannot hold a \(type(of: value)), found at \(path.isEmpty ? "the top" : path)")
    }
  }

  /// By the type that a number was made of: Foundation's answer to every numeric cast, and 1 to that to `Bool`.
  private static func number(_ value: Any) -> PropertyList? {
    func real(_ value: some BinaryFloatingPoint) -> PropertyList { .real(Double(value)) }
    let type = type(of: value)
    if type == Bool.self, let value = value as? Bool { return .bool(value) }
    if type is any BinaryInteger.Type, let value = value as? any BinaryInteger {
      return Int(exactly: value).map { .integer($0) }
    }
    if type is any BinaryFloatingPoint.Type, let value = value as? any BinaryFloatingPoint { return real(value) }
    guard let number = value as? NSNumber else { return nil }
    if Swift.type(of: number) == Swift.type(of: NSNumber(value: true)) { return .bool(number.boolValue) }
    switch String(cString: number.objCType) {
    case "d", "f": return .real(number.doubleValue)
    case "Q": return Int(exactly: number.uint64Value).map { .integer($0) }
    default: return .integer(number.intValue)
    }
  }

  private var fitsXML: Bool {
    func fits(_ text: String) -> Bool {
      text.unicodeScalars.allSatisfy {
        ($0.value >= 32 && $0.value != 0xFFFE && $0.value != 0xFFFF) || $0 == "\t" || $0 == "\n"
      }
    }
    return switch self {
    case .string(let value): fits(value)
    case .array(let items): items.allSatisfy(\.fitsXML)
    case .dictionary(let items): items.allSatisfy { fits($0.key) && $0.value.fitsXML }
    default: true
    }
  }

  private var object: Any {
    switch self {
    case .string(let value): value
    case .integer(let value): value
    case .real(let value): value
    case .bool(let value): value
    case .date(let value): value
    case .data(let value): value
    case .array(let items): items.map(\.object)
    case .dictionary(let items): items.mapValues(\.object)
    }
  }
}

extension PropertyList: Persistable {
  /// `plist`.
  public var pathExtension: String { "plist" }

  /// The property list as XML; binary if it has characters that XML cannot hold, such as control characters.
  public func persistedData() throws(StorageError) -> Data {
    do {
      return try PropertyListSerialization.data(
        fromPropertyList: object, format: fitsXML ? .xml : .binary, options: 0)
    } catch {
      throw .notEncodable("not a property list: \(error.localizedDescription)")
    }
  }
}

extension PropertyList: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  public init(integerLiteral value: Int) { self = .integer(value) }
  /// A number with a fraction.
  public init(floatLiteral value: Double) { self = .real(value) }
  /// True or false.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Values in order.
  public init(arrayLiteral items: PropertyList...) { self = .array(items) }
  /// Values by name; of two with the same name the later one counts.
  public init(dictionaryLiteral items: (String, PropertyList)...) {
    self = .dictionary(Dictionary(items) { $1 })
  }
}
