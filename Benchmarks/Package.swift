// swift-tools-version: 6.2
//
// A package of its own, so that nobody who uses Keyferry builds it.

import PackageDescription

/// SwiftPM knows a package by the name of its folder, and this is that of the one above. The benchmarks are compiled as
/// a part of it, so that they can measure what only Keyferry itself calls.
let keyferry = String(
  Context.packageDirectory.split(separator: "/").dropLast().last.map { folder in
    folder.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
  } ?? [])

let package = Package(
  name: "keyferry-benchmarks",
  dependencies: [
    .package(name: "keyferry", path: ".."),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .executableTarget(
      name: "bench",
      dependencies: [
        .product(name: "_KeyferryInternals", package: "keyferry"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      packageAccess: false,
      swiftSettings: [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .unsafeFlags(["-package-name", keyferry]),
      ]),
    .executableTarget(
      name: "rounds",
      dependencies: [.product(name: "_KeyferryInternals", package: "keyferry")],
      packageAccess: false,
      swiftSettings: [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .unsafeFlags(["-package-name", keyferry]),
      ]),
  ]
)
