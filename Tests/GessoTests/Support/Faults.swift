import Foundation

@testable import Gesso

/// Operations of which one fails: the n-th, once or from then on; or that do less than they could, as the system may.
final class Faults: Sendable {
  /// What each operation may fail with, as the manual pages say.
  static let codes: [String: [Int32]] = [
    "open": [
      EACCES, EMFILE, ENFILE, ENOSPC, ENOMEM, EROFS, ENOENT, ELOOP, EINTR, EIO, EEXIST, EDQUOT, ENOTDIR, EISDIR,
    ],
    "close": [EIO, EINTR, ENOSPC, EDQUOT], "read": [EIO, EINTR, EISDIR, EBADF],
    "write": [ENOSPC, EIO, EDQUOT, EFBIG, EINTR, EPERM, EBADF], "readAt": [EIO, EINTR, EINVAL, EBADF],
    "writeAt": [ENOSPC, EIO, EDQUOT, EFBIG, EINTR, EPERM, EINVAL], "copy": [EXDEV, EIO, ENOSPC, EINTR],
    "status": [EIO, ENOMEM, EBADF], "statusOfEntry": [ENOENT, EACCES, ENOMEM],
    "truncate": [EIO, EINTR, EFBIG, EINVAL], "preallocate": [ENOSPC, EOPNOTSUPP, EIO, EINTR, EFBIG],
    "sync": [EIO, ENOSPC, EDQUOT, EINTR, EROFS], "startSync": [EIO, EINVAL, ENOSPC],
    "rename": [EACCES, ENOSPC, EDQUOT, EIO, ENOENT, EROFS, EEXIST, EINVAL, EBUSY],
    "unlink": [EACCES, EIO, ENOENT, EROFS, EBUSY, EISDIR], "makeDirectory": [EACCES, EEXIST, ENOSPC, EROFS, EMLINK],
    "lock": [EINTR, ENOLCK, EBADF, EWOULDBLOCK], "list": [EIO, ENOMEM, EMFILE],
  ]

  private let place: Int
  private let isOnce: Bool
  private let turn: Int
  private let isShort: Bool
  private let calls = Box(0)
  private let isOff = Box(false)
  /// What has failed, and with what.
  let failed = Box<[String]>([])
  /// Threads that operations were on.
  let threads = Box<Set<UInt>>([])

  /// - Parameters:
  ///   - place: the operation that fails, from 1; 0 for none.
  ///   - turn: which of its codes.
  ///   - isShort: reads and writes do a part of what they are asked for, and are interrupted now and then.
  init(at place: Int = 0, isOnce: Bool = true, turn: Int = 0, isShort: Bool = false) {
    (self.place, self.isOnce, self.turn, self.isShort) = (place, isOnce, turn, isShort)
  }

  /// How many operations there were.
  var count: Int { calls.value }

  /// From now on nothing fails.
  func end() { isOff.update { $0 = true } }

  private func attempt(_ name: String, _ body: () -> Int) -> Int {
    calls.increment()
    let thread = UInt(pthread_self())
    threads.update { $0.insert(thread) }
    let call = calls.value
    let isHit = place > 0 && !isOff.value && (isOnce ? call == place : call >= place)
    if isHit {
      let codes = Self.codes[name]!
      let code = codes[turn % codes.count]
      failed.update { $0.append("\(name): \(code)") }
      // Interrupted for ever is none.
      if !(code == EINTR && !isOnce) {
        if name == "close" { _ = body() }
        return -Int(code)
      }
    }
    if isShort, call % 5 == 0, Self.codes[name]!.contains(EINTR), name != "close" { return -Int(EINTR) }
    return body()
  }

  /// A part of what is asked for, at least a byte.
  private func part(_ count: Int) -> Int { isShort && count > 1 ? max(1, count * 2 / 3) : count }

  var operations: FileOperations {
    let system = FileOperations.system
    var table = system
    table.open = { folder, name, flags, mode in self.attempt("open") { system.open(folder, name, flags, mode) } }
    table.close = { file in self.attempt("close") { system.close(file) } }
    table.read = { file, bytes, count in self.attempt("read") { system.read(file, bytes, self.part(count)) } }
    table.write = { file, bytes, count in self.attempt("write") { system.write(file, bytes, self.part(count)) } }
    table.readAt = { file, pieces, count, offset in
      self.attempt("readAt") { self.short(pieces, count) { system.readAt(file, $0, $1, offset) } }
    }
    table.writeAt = { file, pieces, count, offset in
      self.attempt("writeAt") { self.short(pieces, count) { system.writeAt(file, $0, $1, offset) } }
    }
    table.copy = { source, offset, file, count in
      self.attempt("copy") { system.copy(source, offset, file, self.part(count)) }
    }
    table.status = { file, information in
      var found = stat()
      defer { information = found }
      return self.attempt("status") { system.status(file, &found) }
    }
    table.statusOfEntry = { folder, name, information in
      var found = stat()
      defer { information = found }
      return self.attempt("statusOfEntry") { system.statusOfEntry(folder, name, &found) }
    }
    table.truncate = { file, length in self.attempt("truncate") { system.truncate(file, length) } }
    table.preallocate = { file, length in self.attempt("preallocate") { system.preallocate(file, length) } }
    table.sync = { file in self.attempt("sync") { system.sync(file) } }
    table.startSync = { file in self.attempt("startSync") { system.startSync(file) } }
    table.rename = { folder, from, to, replaces in
      self.attempt("rename") { system.rename(folder, from, to, replaces) }
    }
    table.unlink = { folder, name in self.attempt("unlink") { system.unlink(folder, name) } }
    table.makeDirectory = { path in self.attempt("makeDirectory") { system.makeDirectory(path) } }
    table.lock = { file, operation in self.attempt("lock") { system.lock(file, operation) } }
    table.list = { folder, names in
      var found: [String] = []
      defer { names += found }
      return self.attempt("list") { system.list(folder, &found) }
    }
    return table
  }

  /// Cuts pieces short: the first of them, or all but the last.
  private func short(
    _ pieces: UnsafePointer<iovec>, _ count: Int, _ call: (UnsafePointer<iovec>, Int) -> Int
  ) -> Int {
    guard isShort else { return call(pieces, count) }
    if count > 1 { return call(pieces, count - 1) }
    var piece = pieces[0]
    piece.iov_len = part(piece.iov_len)
    return call(&piece, 1)
  }
}

/// How thorough tests of faults are: all of them with `GESSO_FAULTS=all`, and otherwise some of each kind.
let testsAllFaults = ProcessInfo.processInfo.environment["GESSO_FAULTS"] == "all"
