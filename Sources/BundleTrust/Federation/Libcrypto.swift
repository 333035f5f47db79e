#if canImport(CLibcrypto)
  internal import CLibcrypto
  internal import ExposureKeys

  #if canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #elseif canImport(Darwin)
    internal import Darwin
  #endif

  /// Every call of the system's libcrypto.
  ///
  /// At this edge lengths are those of Swift's arrays, every object is owned by a value that frees it, no pointer outlives
  /// the array that it points to, and the thread's queue of errors is left empty. All input has a limit before it comes
  /// here.
  enum Libcrypto {
    /// An object of libcrypto's, freed with its owner.
    struct Owned: ~Copyable {
      let pointer: OpaquePointer
      private let free: (OpaquePointer?) -> Void

      init?(_ pointer: OpaquePointer?, _ free: @escaping (OpaquePointer?) -> Void) {
        guard let pointer else { return nil }
        self.pointer = pointer
        self.free = free
      }

      deinit { free(pointer) }
    }

    /// A private key. libcrypto counts its uses with atomic numbers, and nothing here changes it once it is read, so that
    /// threads may share it.
    final class PrivateKey: @unchecked Sendable {
      fileprivate let key: Owned

      /// - Parameter der: PKCS #8, SEC1 or PKCS #1.
      init?(der: [UInt8]) {
        defer { ERR_clear_error() }
        let pointer = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
          var position = buffer.baseAddress
          return d2i_AutoPrivateKey(nil, &position, buffer.count)
        }
        guard let key = Owned(pointer, EVP_PKEY_free) else { return nil }
        self.key = key
      }

      var kind: KeyKind { Libcrypto.kind(of: key.pointer) }

      /// Whether the certificate has this key's public half.
      func belongs(to certificate: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        guard let certificate = Libcrypto.certificate(certificate) else { return false }
        return X509_check_private_key(certificate.pointer, key.pointer) == 1
      }
    }

    /// What kind of key a certificate has.
    enum KeyKind: Hashable {
      case rsa(bits: Int)
      case ellipticCurve(String)
      case other

      /// RSA of 2048 bits or more, and the curves P-256, P-384 and P-521.
      var isAllowed: Bool {
        switch self {
        case .rsa(let bits): (2048...8192).contains(bits)
        case .ellipticCurve(let name): ["prime256v1", "secp384r1", "secp521r1"].contains(name)
        case .other: false
        }
      }

      var text: String {
        switch self {
        case .rsa(let bits): "RSA of \(bits) bits"
        case .ellipticCurve(let name): "the curve \(name == "prime256v1" ? "P-256" : name)"
        case .other: "another kind"
        }
      }
    }

    /// What a certificate says.
    struct Facts {
      var subject: String
      /// Every C in the subject.
      var countries: [String]
      var notBefore: Instant
      var notAfter: Instant
      var keyKind: KeyKind
    }

    /// - Returns: `nil` for what is no certificate, or has times that do not exist.
    static func facts(ofCertificate der: [UInt8]) -> Facts? {
      defer { ERR_clear_error() }
      guard let certificate = Self.certificate(der), let subject = X509_get_subject_name(certificate.pointer),
        let key = X509_get0_pubkey(certificate.pointer),
        let notBefore = instant(X509_get0_notBefore(certificate.pointer)),
        let notAfter = instant(X509_get0_notAfter(certificate.pointer))
      else { return nil }
      return Facts(
        subject: text(of: subject), countries: countries(in: subject), notBefore: notBefore, notAfter: notAfter,
        keyKind: kind(of: key))
    }

    private static func certificate(_ der: [UInt8]) -> Owned? {
      var length = 0
      let pointer = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
        var position = buffer.baseAddress
        let pointer = d2i_X509(nil, &position, buffer.count)
        if let position, let base = buffer.baseAddress { length = position - base }
        return pointer
      }
      guard let certificate = Owned(pointer, X509_free), length == der.count else { return nil }
      return certificate
    }

    private static func encoding(of certificate: OpaquePointer) -> [UInt8] {
      let length = i2d_X509(certificate, nil)
      guard length > 0 else { return [] }
      return [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
        var position = buffer.baseAddress
        count = max(0, Int(i2d_X509(certificate, &position)))
      }
    }

    private static func instant(_ time: UnsafePointer<ASN1_TIME>?) -> Instant? {
      var parts = tm()
      guard let time, ASN1_TIME_to_tm(time, &parts) == 1,
        let day = Day(year: Int64(parts.tm_year) + 1900, month: Int64(parts.tm_mon) + 1, day: Int64(parts.tm_mday))
      else { return nil }
      let seconds = Int64(parts.tm_hour) * 3600 + Int64(parts.tm_min) * 60 + Int64(parts.tm_sec)
      return Instant(secondsSince1970: day.start.secondsSince1970 + seconds)
    }

    private static func countries(in name: OpaquePointer) -> [String] {
      var countries: [String] = []
      var index = X509_NAME_get_index_by_NID(name, NID_countryName, -1)
      while index >= 0 {
        countries.append(value(of: X509_NAME_get_entry(name, index)))
        index = X509_NAME_get_index_by_NID(name, NID_countryName, index)
      }
      return countries
    }

    /// Empty for what is no text.
    private static func value(of entry: OpaquePointer?) -> String {
      var bytes: UnsafeMutablePointer<UInt8>?
      guard let entry, let data = X509_NAME_ENTRY_get_data(entry) else { return "" }
      let length = ASN1_STRING_to_UTF8(&bytes, data)
      defer { keyferry_text_free(bytes) }
      guard length > 0, let bytes else { return "" }
      let content = UnsafeBufferPointer(start: bytes, count: Int(length))
      return String(validating: content, as: UTF8.self) ?? ""
    }

    /// As RFC 2253 spells names, in ASCII, cut at 512 bytes.
    private static func text(of name: OpaquePointer) -> String {
      guard let output = Owned(BIO_new(BIO_s_mem()), { BIO_free($0) }) else { return "" }
      guard keyferry_print_name(output.pointer, name) >= 0 else { return "" }
      let text = [UInt8](unsafeUninitializedCapacity: 512) { buffer, count in
        count = max(0, Int(BIO_read(output.pointer, buffer.baseAddress, Int32(buffer.count))))
      }
      return String(decoding: text, as: UTF8.self)
    }

    private static func kind(of key: OpaquePointer) -> KeyKind {
      switch EVP_PKEY_get_base_id(key) {
      case NID_rsaEncryption: return .rsa(bits: Int(EVP_PKEY_get_bits(key)))
      case NID_X9_62_id_ecPublicKey:
        var length = 0
        let name = [CChar](unsafeUninitializedCapacity: 64) { buffer, count in
          let isNamed = EVP_PKEY_get_group_name(key, buffer.baseAddress, buffer.count, &length) == 1
          count = isNamed ? min(length, buffer.count) : 0
        }
        return name.isEmpty
          ? .other : .ellipticCurve(String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self))
      default: return .other
      }
    }

    // MARK: Plain signatures

    /// The digest that a certificate's own signature uses, SHA-256 or better: whoever signs by its key uses the same.
    private static func digest(of certificate: OpaquePointer) -> OpaquePointer? {
      var digest: Int32 = 0
      var kind: Int32 = 0
      guard OBJ_find_sigid_algs(X509_get_signature_nid(certificate), &digest, &kind) == 1,
        [NID_sha256, NID_sha384, NID_sha512].contains(digest)
      else { return nil }
      return EVP_get_digestbyname(OBJ_nid2sn(digest))
    }

    /// Whether the key of this certificate signed the message (PKCS #1 version 1.5, or ECDSA in DER).
    static func isSignature(_ signature: [UInt8], over message: [UInt8], by certificate: [UInt8]) -> Bool {
      defer { ERR_clear_error() }
      guard let certificate = Self.certificate(certificate), let key = X509_get0_pubkey(certificate.pointer),
        kind(of: key).isAllowed, let digest = Self.digest(of: certificate.pointer),
        let context = Owned(EVP_MD_CTX_new(), EVP_MD_CTX_free)
      else { return false }
      guard EVP_DigestVerifyInit(context.pointer, nil, digest, nil, key) == 1 else { return false }
      return EVP_DigestVerify(context.pointer, signature, signature.count, message, message.count) == 1
    }

    /// The same the other way round; `nil` when it does not work.
    static func sign(_ message: [UInt8], with key: PrivateKey, of certificate: [UInt8]) -> [UInt8]? {
      defer { ERR_clear_error() }
      guard let certificate = Self.certificate(certificate), let digest = Self.digest(of: certificate.pointer),
        let context = Owned(EVP_MD_CTX_new(), EVP_MD_CTX_free)
      else { return nil }
      var length = 0
      guard EVP_DigestSignInit(context.pointer, nil, digest, nil, key.key.pointer) == 1,
        EVP_DigestSign(context.pointer, nil, &length, message, message.count) == 1, length > 0
      else { return nil }
      let signature = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
        let isMade = EVP_DigestSign(context.pointer, buffer.baseAddress, &length, message, message.count) == 1
        count = isMade ? min(length, buffer.count) : 0
      }
      return signature.isEmpty ? nil : signature
    }

    // MARK: CMS

    private static func cms(_ bytes: [UInt8]) -> Owned? {
      var length = 0
      let pointer = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
        var position = buffer.baseAddress
        let pointer = d2i_CMS_ContentInfo(nil, &position, buffer.count)
        if let position, let base = buffer.baseAddress { length = position - base }
        return pointer
      }
      guard let cms = Owned(pointer, CMS_ContentInfo_free), length == bytes.count,
        OBJ_obj2nid(CMS_get0_type(cms.pointer)) == NID_pkcs7_signed
      else { return nil }
      return cms
    }

    /// Which of these certificates is the first signer's, by the name that the signer gives.
    ///
    /// - Returns: its index; `nil` where it is not among them.
    /// - Throws: where libcrypto cannot read the CMS.
    static func signer(of bytes: [UInt8], among certificates: [[UInt8]]) throws(CMSFault) -> Int? {
      ERR_clear_error()
      defer { ERR_clear_error() }
      guard let cms = Self.cms(bytes), let signers = CMS_get0_SignerInfos(cms.pointer),
        let signer = keyferry_signers_value(signers, 0)
      else { throw CMSFault(reason: lastReason() ?? "cannot be read") }
      for (index, der) in certificates.enumerated() {
        guard let certificate = Self.certificate(der) else { continue }
        if CMS_SignerInfo_cert_cmp(signer, certificate.pointer) == 0 { return index }
      }
      return nil
    }

    struct CMSFault: Error, Hashable {
      let reason: String
    }

    /// Verifies the signatures of all signers over this content; the first one must be the certificate's.
    ///
    /// - Parameter isOnlySigner: whether no certificate but the first signer's is looked at.
    static func verify(
      _ bytes: [UInt8], over content: [UInt8], signer first: [UInt8], isOnlySigner: Bool
    ) throws(CMSFault) {
      ERR_clear_error()
      defer { ERR_clear_error() }
      guard content.count <= Int(Int32.max), let cms = Self.cms(bytes),
        let trusted = Owned(keyferry_certificates_new(), { keyferry_certificates_free($0) }),
        let certificate = Self.certificate(first)
      else { throw CMSFault(reason: lastReason() ?? "cannot be read") }
      guard keyferry_certificates_push(trusted.pointer, certificate.pointer) > 0 else {
        throw CMSFault(reason: "no memory")
      }
      // Whom to believe is decided by the whitelist, before this.
      var flags = UInt32(CMS_NO_SIGNER_CERT_VERIFY | CMS_BINARY)
      if isOnlySigner { flags |= UInt32(CMS_NOINTERN) }
      let isVerified = withInput(content) { input in
        CMS_verify(cms.pointer, trusted.pointer, nil, input, nil, flags) == 1
      }
      guard isVerified else { throw CMSFault(reason: lastReason() ?? "does not verify") }
      guard let signers = Owned(CMS_get0_signers(cms.pointer), { keyferry_certificates_free($0) }),
        let signer = keyferry_certificates_value(signers.pointer, 0), encoding(of: signer) == first
      else { throw CMSFault(reason: "signed by another certificate") }
    }

    /// Verifies the signatures of all signers over this content, and the chain of each to this root, by the certificates in the
    /// CMS. Their purpose is not looked at, because governments' certificates for seals state none for mail.
    ///
    /// - Returns: the certificate of the first signer, in DER.
    static func verify(
      _ bytes: [UInt8], over content: [UInt8], root: [UInt8], at now: Instant
    ) throws(CMSFault) -> [UInt8] {
      ERR_clear_error()
      defer { ERR_clear_error() }
      guard content.count <= Int(Int32.max), let cms = Self.cms(bytes), let root = Self.certificate(root),
        let store = Owned(X509_STORE_new(), { X509_STORE_free($0) }),
        X509_STORE_add_cert(store.pointer, root.pointer) == 1,
        X509_STORE_set_purpose(store.pointer, X509_PURPOSE_ANY) == 1,
        let parameters = X509_STORE_get0_param(store.pointer)
      else { throw CMSFault(reason: lastReason() ?? "cannot be read") }
      X509_VERIFY_PARAM_set_time(parameters, time_t(now.secondsSince1970))
      // RSA of 2048 bits and SHA-256, or better.
      X509_VERIFY_PARAM_set_auth_level(parameters, 2)
      let isVerified = withInput(content) { input in
        CMS_verify(cms.pointer, nil, store.pointer, input, nil, UInt32(CMS_BINARY)) == 1
      }
      guard isVerified else { throw CMSFault(reason: lastReason() ?? "does not verify") }
      guard let signers = Owned(CMS_get0_signers(cms.pointer), { keyferry_certificates_free($0) }),
        let signer = keyferry_certificates_value(signers.pointer, 0), let key = X509_get0_pubkey(signer),
        kind(of: key).isAllowed
      else { throw CMSFault(reason: "signed by a key that is not allowed") }
      return encoding(of: signer)
    }

    /// CMS in plain DER, detached, with one certificate and the attributes contentType, messageDigest and signingTime.
    static func sign(
      _ content: [UInt8], with key: PrivateKey, of certificate: [UInt8], at now: Instant
    ) throws(CMSFault) -> [UInt8] {
      ERR_clear_error()
      defer { ERR_clear_error() }
      let flags = UInt32(CMS_DETACHED | CMS_BINARY | CMS_NOSMIMECAP)
      guard content.count <= Int(Int32.max), let certificate = Self.certificate(certificate),
        let cms = Owned(CMS_sign(nil, nil, nil, nil, flags | UInt32(CMS_PARTIAL)), CMS_ContentInfo_free),
        let signer = CMS_add1_signer(cms.pointer, certificate.pointer, key.key.pointer, EVP_sha256(), flags)
      else { throw CMSFault(reason: lastReason() ?? "cannot sign") }
      let time = ASN1_TIME_set(nil, time_t(now.secondsSince1970))
      defer { ASN1_TIME_free(time) }
      guard let time, CMS_signed_add1_attr_by_NID(signer, NID_pkcs9_signingTime, time.pointee.type, time, -1) == 1
      else {
        throw CMSFault(reason: lastReason() ?? "cannot state the time \(now)")
      }
      let isMade = withInput(content) { input in CMS_final(cms.pointer, input, nil, flags) == 1 }
      let length = i2d_CMS_ContentInfo(cms.pointer, nil)
      guard isMade, length > 0 else { throw CMSFault(reason: lastReason() ?? "cannot sign") }
      return [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
        var position = buffer.baseAddress
        count = max(0, Int(i2d_CMS_ContentInfo(cms.pointer, &position)))
      }
    }

    /// Lends content that libcrypto reads, and does not change.
    private static func withInput(_ content: [UInt8], _ body: (OpaquePointer) -> Bool) -> Bool {
      // It wants an address for no bytes, too.
      let storage = content.isEmpty ? [0] : content
      return storage.withUnsafeBytes { buffer in
        guard let input = Owned(BIO_new_mem_buf(buffer.baseAddress, Int32(content.count)), { BIO_free($0) }) else {
          return false
        }
        return body(input.pointer)
      }
    }

    /// What libcrypto says went wrong last, in its words.
    private static func lastReason() -> String? {
      var reasons: [String] = []
      while reasons.count < 8 {
        let code = ERR_get_error()
        guard code != 0 else { break }
        if let reason = ERR_reason_error_string(code) { reasons.append(String(cString: reason)) }
      }
      return reasons.isEmpty ? nil : reasons.joined(separator: ", ")
    }
  }
#endif
