"""Signs a federation's batch with Python's `cryptography`, as its builder for PKCS #7 does.

    batch_cms.py CERTIFICATE KEY CONTENT SIGNATURE
"""

import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.serialization import pkcs7


def main(arguments: list[str]) -> None:
    certificate_path, key_path, content_path, signature_path = arguments
    with open(certificate_path, "rb") as file:
        certificate = x509.load_pem_x509_certificate(file.read())
    with open(key_path, "rb") as file:
        key = serialization.load_pem_private_key(file.read(), None)
    with open(content_path, "rb") as file:
        builder = pkcs7.PKCS7SignatureBuilder().set_data(file.read())
    options = [
        pkcs7.PKCS7Options.DetachedSignature,
        pkcs7.PKCS7Options.Binary,
        pkcs7.PKCS7Options.NoCapabilities,
    ]
    builder = builder.add_signer(certificate, key, hashes.SHA256())
    with open(signature_path, "wb") as file:
        file.write(builder.sign(serialization.Encoding.DER, options))


main(sys.argv[1:])
