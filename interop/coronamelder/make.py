#!/usr/bin/env python3
"""Makes the certificates and archives of this folder again.

    interop/coronamelder/make.py

A root, an authority below it and a signer of RSA below that; a signer right below the root, whose key tests use; another root;
manifests whose content.sig is CMS, as CoronaMelder's server makes it. They are trusted by nobody.
"""

import datetime
import hashlib
import json
import pathlib
import zipfile

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs7

here = pathlib.Path(__file__).parent
pem = serialization.Encoding.PEM


def certificate(name, issuer=None, is_authority=False):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    subject = x509.Name.from_rfc4514_string(f"CN=Keyferry test {name},C=NL")
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime(2020, 1, 1))
        .not_valid_after(datetime.datetime(2040, 1, 1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(issuer[1] if issuer else key, hashes.SHA256())
    )
    return built, key


def seal(content, signer, *between):
    builder = pkcs7.PKCS7SignatureBuilder().set_data(content).add_signer(*signer, hashes.SHA256())
    for authority in between:
        builder = builder.add_certificate(authority)
    options = [pkcs7.PKCS7Options.DetachedSignature, pkcs7.PKCS7Options.Binary]
    return builder.sign(serialization.Encoding.DER, options)


def archive(name, **entries):
    with zipfile.ZipFile(here / name, "w", zipfile.ZIP_DEFLATED) as out:
        for kind, content in entries.items():
            info = zipfile.ZipInfo(f"content.{kind}", (2020, 12, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(info, content)


root = certificate("root", is_authority=True)
other = certificate("other root", is_authority=True)
authority = certificate("authority", root, is_authority=True)
chained = certificate("chained signer", authority)
direct = certificate("signer", root)
for name, made in (("root", root), ("other-root", other), ("signer", direct)):
    (here / f"{name}.pem").write_bytes(made[0].public_bytes(pem))
(here / "signer.key").write_bytes(
    direct[1].private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
)

identifiers = [hashlib.sha256(b"key set 1").hexdigest(), "6f1c1f6e-30a4-4d0e-9c05-7b1b3f1a8a11"]
manifest = {"exposureKeySets": identifiers, "riskCalculationParameters": "00", "appConfig": "01"}
manifest = json.dumps(manifest, separators=(",", ":")).encode()
empty = b'{"exposureKeySets":[],"appConfig":"01"}'
archive("manifest.zip", bin=manifest, sig=seal(manifest, chained, authority[0]))
archive("empty.zip", bin=empty, sig=seal(empty, chained, authority[0]))
# The content of one with the signature of the other; a chain that lacks its middle; no signature; another document.
archive("exchanged.zip", bin=manifest, sig=seal(empty, chained, authority[0]))
archive("broken-chain.zip", bin=manifest, sig=seal(manifest, chained))
archive("unsigned.zip", bin=manifest)
archive("other.zip", bin=b'{"error":1}', sig=seal(b'{"error":1}', chained, authority[0]))
