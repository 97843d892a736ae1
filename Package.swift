// swift-tools-version: 6.1
import PackageDescription

/// A library of the system: its flags come from pkg-config, its headers from the folder's module map.
func system(_ name: String, _ pkgConfig: String, apt: String, brew: String) -> Target {
  .systemLibrary(
    name: name, path: "CSources/\(name)", pkgConfig: pkgConfig,
    providers: [.apt([apt]), .brew([brew])])
}

let package = Package(
  name: "Gesso",
  products: [
    .library(name: "Gesso", targets: ["Gesso"]),
    .library(name: "GessoScenes", targets: ["GessoScenes"]),
    .library(name: "GessoRedis", targets: ["GessoRedis"]),
    .library(name: "CCairo", targets: ["CCairo"]),
    .executable(name: "gesso", targets: ["GessoCommand"]),
    .executable(name: "gesso-bench", targets: ["GessoBench"]),
  ],
  traits: [
    .trait(name: "Redis", description: "A store that many machines share: GessoRedis, on hiredis and OpenSSL.")
  ],
  targets: [
    system("CCairo", "cairo", apt: "libcairo2-dev", brew: "cairo"),
    system("CLZ4", "liblz4", apt: "liblz4-dev", brew: "lz4"),
    system("CXXHash", "libxxhash", apt: "libxxhash-dev", brew: "xxhash"),
    system("CSpng", "spng", apt: "libspng-dev", brew: "libspng"),
    system("CPango", "pangocairo", apt: "libpango1.0-dev", brew: "pango"),
    system("CPangoFT", "pangoft2", apt: "libpango1.0-dev", brew: "pango"),
    system("CFreeType", "freetype2", apt: "libfreetype-dev", brew: "freetype"),
    system("CFontconfig", "fontconfig", apt: "libfontconfig-dev", brew: "fontconfig"),
    system("CJPEG", "libjpeg", apt: "libjpeg62-turbo-dev", brew: "jpeg-turbo"),
    system("CWebP", "libwebp", apt: "libwebp-dev", brew: "webp"),
    system("CWebPDemux", "libwebpdemux", apt: "libwebp-dev", brew: "webp"),
    system("CExif", "libexif", apt: "libexif-dev", brew: "libexif"),

    .target(
      name: "CGesso", dependencies: ["CCairo", "CLZ4", "CXXHash", "CSpng"],
      path: "CSources/CGesso", exclude: ["BLOB.md"]),
    .target(
      name: "CGessoText", dependencies: ["CGesso", "CPango", "CPangoFT", "CFreeType", "CFontconfig"],
      path: "CSources/CGessoText"),
    .target(
      name: "CGessoFiles",
      dependencies: ["CGesso", "CSpng", "CJPEG", "CWebP", "CWebPDemux", "CExif"],
      path: "CSources/CGessoFiles"),

    .target(name: "CGessoSystem", path: "CSources/CGessoSystem"),

    .target(
      name: "Gesso", dependencies: ["CGesso", "CGessoText", "CGessoFiles", "CGessoSystem"]),
    // Empty without the trait, so that nobody else needs these libraries.
    system("CHiredis", "hiredis", apt: "libhiredis-dev", brew: "hiredis"),
    system("COpenSSL", "openssl", apt: "libssl-dev", brew: "openssl"),
    .target(
      name: "CGessoRedis", dependencies: [.target(name: "COpenSSL", condition: .when(traits: ["Redis"]))],
      path: "CSources/CGessoRedis", cSettings: [.define("GESSO_REDIS", .when(traits: ["Redis"]))]),
    .target(
      name: "GessoRedis",
      dependencies: [
        "Gesso", "CGessoRedis", "CGessoSystem", .target(name: "CHiredis", condition: .when(traits: ["Redis"])),
      ]),

    .target(name: "GessoScenes", dependencies: ["Gesso"], resources: [.embedInCode("Resources")]),
    .executableTarget(
      name: "GessoCommand", dependencies: ["Gesso", "GessoScenes", "CCairo"], path: "Sources/gesso"),

    .executableTarget(name: "GessoBench", dependencies: ["Gesso"], path: "Sources/gesso-bench"),

    .executableTarget(name: "storage-worker", dependencies: ["Gesso", "GessoRedis"], path: "Tests/StorageWorker"),
    .testTarget(name: "GessoTests", dependencies: ["Gesso", "storage-worker"], resources: [.copy("Frames")]),
    .testTarget(name: "GessoRedisTests", dependencies: ["GessoRedis", "storage-worker"]),
    .testTarget(name: "GessoScenesTests", dependencies: ["GessoScenes"]),
    .testTarget(name: "GessoCommandTests", dependencies: ["Gesso", "GessoCommand"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
