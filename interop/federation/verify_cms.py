"""Verifies the signature of a federation's batch with Python's `cryptography`, read by a small parser of DER.

    verify_cms.py CONTENT SIGNATURE

Ends with status 1 where it does not verify. This follows RFC 5652 alone and shares nothing with Keyferry: it is the third
opinion beside OpenSSL and BouncyCastle, which read DER and BER alike.
"""

import hashlib
import sys

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa


def parts(data: bytes) -> list[tuple[int, bytes, bytes]]:
    """The elements in a row: tag, content, and the whole."""
    found = []
    while data:
        tag, length, start = data[0], data[1], 2
        if length & 0x80:
            count = length & 0x7F
            assert 0 < count <= 4, "not DER"
            length = int.from_bytes(data[2 : 2 + count], "big")
            assert length >= 0x80 and data[2] != 0, "not DER"
            start += count
        assert start + length <= len(data), "cut"
        found.append((tag, data[start : start + length], data[: start + length]))
        data = data[start + length :]
    return found


def main(content_path: str, signature_path: str) -> None:
    content = open(content_path, "rb").read()
    (envelope,) = parts(open(signature_path, "rb").read())
    content_type, wrapper = parts(envelope[1])
    assert content_type[1].hex() == "2a864886f70d010702"
    (signed,) = parts(wrapper[1])
    version, _, encapsulated, certificates, signers = parts(signed[1])
    assert version[1] == b"\1" and len(parts(encapsulated[1])) == 1, "not detached"
    (certificate,) = parts(certificates[1])
    (signer,) = parts(signers[1])
    _, _, digest, attributes, _, signature = parts(signer[1])
    assert digest[1].startswith(bytes.fromhex("0609608648016503040201")), "not SHA-256"
    values = {}
    encoded = []
    for attribute in parts(attributes[1]):
        identifier, value = parts(attribute[1])
        values[identifier[1].hex()] = parts(value[1])[0][1]
        encoded.append(attribute[2])
    assert encoded == sorted(encoded), "not the order of DER"
    assert set(values) == {"2a864886f70d010903", "2a864886f70d010904", "2a864886f70d010905"}, "other attributes"
    assert values["2a864886f70d010903"].hex() == "2a864886f70d010701"
    key = x509.load_der_x509_certificate(certificate[2]).public_key()
    message = b"\x31" + attributes[2][1:]
    try:
        if values["2a864886f70d010904"] != hashlib.sha256(content).digest():
            raise InvalidSignature
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature[1], message, padding.PKCS1v15(), hashes.SHA256())
        else:
            key.verify(signature[1], message, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        sys.exit(1)


main(*sys.argv[1:])
