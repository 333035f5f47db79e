#!/usr/bin/env python3
"""Writes the requests of this folder: uploads as apps send them, vouched for by certificates and tokens that were made with
Python's `cryptography`, and with nothing of Keyferry. Run it here; what it writes is committed, and it writes the same again.

The keys are test keys. Everybody can make them anew: nothing that matters may believe them.
"""

import base64
import hashlib
import hmac
import json
import pathlib

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

HERE = pathlib.Path(__file__).parent
NOW = 1606824000  # 2020-12-01T12:00:00Z
TODAY = NOW // 86400 * 144


def key_pair(name):
    secret = int.from_bytes(hashlib.sha256(f"TEST KEY {name}".encode()).digest(), "big")
    return ec.derive_private_key(secret % (2**255), ec.SECP256R1())


VERIFIER = key_pair("verification server")
ROTATED = key_pair("verification server, second key")
STRANGER = key_pair("stranger")
DP3T = key_pair("health authority of DP-3T")


def pem(key):
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def url64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def text64(data):
    return base64.b64encode(data).decode()


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


def jwk(key, name):
    numbers = key.public_key().public_numbers()
    return {
        "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": name,
        "x": url64(numbers.x.to_bytes(32, "big")), "y": url64(numbers.y.to_bytes(32, "big")),
    }


def jwt(claims, key, header):
    message = f"{url64(compact(header))}.{url64(compact(claims))}".encode()
    if header["alg"] == "none":
        signature = b""
    elif header["alg"] == "HS256":  # The old trick: the public key as the secret.
        signature = hmac.new(pem(key).encode(), message, hashlib.sha256).digest()
    else:
        der = key.sign(message, ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        r, s = decode_dss_signature(der)
        signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return message.decode() + "." + url64(signature)


def data(number):
    return hashlib.sha256(f"key {number}".encode()).digest()[:16]


# Google's key server.

SECRET = hashlib.sha256(b"the phone's secret").digest()


def google_keys(first, count=14, risk=0):
    return [
        {
            "key": text64(data(first + day)), "rollingStartNumber": TODAY - 144 * (day + 1), "rollingPeriod": 144,
            "transmissionRisk": risk,
        } for day in range(count)
    ]


def code(keys, short=False):
    parts = sorted(
        f"{key['key']}.{key['rollingStartNumber']}.{key['rollingPeriod']}"
        + ("" if short else f".{key['transmissionRisk']}") for key in keys)
    return text64(hmac.new(SECRET, ",".join(parts).encode(), hashlib.sha256).digest())


def certificate(keys, signer=VERIFIER, header=None, short=False, **changes):
    claims = {
        "reportType": "confirmed", "symptomOnsetInterval": TODAY - 144 * 4, "trisk": [],
        "tekmac": code(keys, short), "aud": "keys.example.org", "exp": NOW + 900, "jti": "1f0e", "iat": NOW - 60,
        "iss": "verify.example.org", "nbf": NOW - 61, "sub": "keys.example.org",
    }
    claims.update(changes)
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt(claims, signer, header or {"alg": "ES256", "kid": "v1", "typ": "JWT"})


def publish(name, status, keys, comment, payload=None, code="", members=None, path="/v1/publish", headers=None):
    body = {
        "temporaryExposureKeys": keys, "healthAuthorityID": "gov.example.health",
        "verificationPayload": certificate(keys) if payload is None else payload, "hmackey": text64(SECRET),
        "symptomOnsetInterval": TODAY - 144 * 4, "traveler": False, "revisionToken": "",
        "padding": text64(hashlib.sha256(name.encode()).digest() * 40),
    }
    body.update(members or {})
    body = {member: value for member, value in body.items() if value is not None}
    write(name, comment, path, body, status, code, headers)


# DP-3T.

def dp3t_token(signer=DP3T, **changes):
    claims = {
        "jti": hashlib.sha256(json.dumps(changes, sort_keys=True).encode()).hexdigest()[:36], "iss": "d3pt.example",
        "sub": "person", "iat": NOW - 30, "exp": NOW + 300, "scope": "exposed", "onset": "2020-11-27", "fake": "0",
    }
    claims.update(changes)
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt(claims, signer, {"alg": "ES256"})


def dp3t_keys(first, count, real):
    return [
        {
            "keyData": text64(data(first + number)), "rollingStartNumber": TODAY - 144 * (number % 14 + 1),
            "rollingPeriod": 144, "transmissionRiskLevel": 0, "fake": 0 if number < real else 1,
        } for number in range(count)
    ]


def dp3t(name, status, comment, path, body, token=None):
    headers = {"User-Agent": "ch.example.app;1.0.5;10;iOS;13.5"}
    if token is not None:
        headers["Authorization"] = "Bearer " + token
    write(name, comment, path, body, status, "", headers)


def write(name, comment, path, body, status, code, headers):
    document = {
        "comment": comment, "now": NOW, "path": path,
        "headers": {"Content-Type": "application/json"} | (headers or {}), "status": status, "code": code,
        "body": json.dumps(body).replace("/", "\\/"),
    }
    (HERE / f"{name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def main():
    for name, key in [("verifier", VERIFIER), ("dp3t", DP3T)]:
        (HERE / f"TEST-KEY-{name}.pem").write_text(pem(key))
    (HERE / "TEST-KEYS.jwks").write_text(
        json.dumps({"keys": [jwk(VERIFIER, "v1"), jwk(ROTATED, "v2")]}, indent=1) + "\n")

    bad = "health_authority_verification_certificate_invalid"
    keys = google_keys(100)
    publish("publish_confirmed", 200, keys, "EN Express: fourteen keys and a certificate of a confirmed test")
    likely = google_keys(200)
    publish(
        "publish_likely", 200, likely, "a clinical diagnosis", payload=certificate(likely, reportType="likely"))
    report = google_keys(300)
    publish(
        "publish_user_report", 200, report, "a self-report", payload=certificate(report, reportType="user-report"))
    travel = google_keys(400)
    publish(
        "publish_traveler", 200, travel, "a person who has travelled", members={"traveler": True},
        payload=certificate(travel))
    short = google_keys(500)
    publish(
        "publish_short_code", 200, short, "the code over the keys without the risk levels, of which all are 0",
        payload=certificate(short, short=True))
    risky = google_keys(600, risk=3)
    publish(
        "publish_short_code_risk", 401, risky, "the same where they are not all 0", code=bad,
        payload=certificate(risky, short=True))
    late = google_keys(700)
    publish(
        "publish_onset_of_certificate", 200, late, "the onset stands in the certificate alone",
        members={"symptomOnsetInterval": 0}, payload=certificate(late))

    # The same keys three times: a test puts the revision token of the first answer into the others.
    revised = google_keys(800, count=3)
    for name in ["user-report", "likely", "confirmed", "negative"]:
        publish(
            f"revision_{name}", 200, revised, f"three keys, {name}",
            payload=certificate(revised, reportType=name))

    for name, comment, payload in [
        ("signature", "signed by a stranger under a known kid", certificate(keys, signer=STRANGER)),
        ("kid", "a kid that nobody knows",
         certificate(keys, header={"alg": "ES256", "kid": "v9", "typ": "JWT"})),
        ("kid_missing", "no kid", certificate(keys, header={"alg": "ES256", "typ": "JWT"})),
        ("issuer", "another issuer", certificate(keys, iss="other.example.org")),
        ("audience", "another audience", certificate(keys, aud="other.example.org")),
        ("expired", "it ended an hour ago", certificate(keys, exp=NOW - 3600)),
        ("without_end", "it never ends", certificate(keys, exp=None)),
        ("future", "it begins in an hour", certificate(keys, nbf=NOW + 3600)),
        ("other_keys", "its code is for other keys", certificate(google_keys(900))),
        ("report_type", "a report type that nobody knows", certificate(keys, reportType="maybe")),
        ("none", "the algorithm none", certificate(keys, header={"alg": "none", "kid": "v1", "typ": "JWT"})),
        ("hs256", "the public key as the secret of HS256",
         certificate(keys, header={"alg": "HS256", "kid": "v1", "typ": "JWT"})),
        ("crit", "its header has something critical that nobody understands",
         certificate(keys, header={"alg": "ES256", "kid": "v1", "typ": "JWT", "crit": ["b64"], "b64": True})),
        ("no_jwt", "no JWT", "SML"),
        ("missing", "nothing", ""),
    ]:
        publish(f"publish_certificate_{name}", 401, keys, f"certificate: {comment}", payload=payload, code=bad)
    publish(
        "publish_hmac_key", 401, keys, "the phone's secret is another one", code=bad,
        members={"hmackey": text64(b"another secret!!")})
    publish(
        "publish_health_authority", 401, keys, "a health authority that nobody knows",
        code="unknown_health_authority_id", members={"healthAuthorityID": "gov.other"})
    publish("publish_no_keys", 400, [], "no keys", code="bad_request", payload=certificate([]))
    many = google_keys(1000, count=31)
    publish("publish_31_keys", 400, many, "too many keys", code="bad_request")
    publish(
        "publish_unknown_member", 400, keys, "a member that v1 does not know", code="bad_request",
        members={"regions": ["US"]})
    publish(
        "publish_content_type", 415, keys, "not JSON by its field", code="bad_request",
        headers={"Content-Type": "text/plain"})

    covidwise = {
        "healthAuthorityID": None, "traveler": None, "hmackey": None, "symptomOnsetInterval": None, "revisionToken": None,
        "regions": ["US"], "appPackageName": "gov.vdh.exposurenotification", "platform": "ios",
        "deviceVerificationPayload": "", "verificationPayload": "SML", "pinToken": "1234-good",
    }
    for name, status, token in [("good", 200, "1234-good"), ("bad", 401, "1234-bad"), ("down", 503, "1234-down")]:
        publish(
            f"covidwise_{name}", status, google_keys(2000),
            f"COVIDWISE: v1alpha1, a PIN and no Authorization; the PIN is {name}", path="/v1alpha1/publish",
            members=covidwise | {"pinToken": token})
    first = google_keys(2100)
    publish(
        "v1alpha1_regions", 200, first, "v1alpha1 at the root of the server, with a certificate and two regions",
        path="/", payload=certificate(first), members={
            "healthAuthorityID": None, "traveler": None, "appPackageName": "gov.example.health", "platform": "android",
            "regions": ["US-VA", "US"]})
    publish(
        "v1alpha1_region_not_allowed", 401, first, "a region for which the door takes no keys", path="/",
        payload=certificate(first), members={
            "healthAuthorityID": None, "traveler": None, "appPackageName": "gov.example.health", "platform": "android",
            "regions": ["US-VA", "CA"]})

    exposed = {"gaenKeys": dp3t_keys(3000, 14, real=14), "fake": 0, "delayedKeyDate": TODAY}
    v1, next_day, v2 = "/v1/gaen/exposed", "/v1/gaen/exposednextday", "/v2/gaen/exposed"
    dp3t("dp3t_exposed", 200, "SDK 1.3.0: fourteen keys since the onset, one to come", v1, exposed, dp3t_token())
    dp3t(
        "dp3t_exposed_fake", 200, "the same, fake", v1,
        {"gaenKeys": dp3t_keys(3100, 14, real=0), "fake": 1, "delayedKeyDate": TODAY}, dp3t_token(fake="1"))
    dp3t(
        "dp3t_exposed_13_keys", 400, "too few keys", v1,
        {"gaenKeys": dp3t_keys(3200, 13, real=13), "fake": 0, "delayedKeyDate": TODAY}, dp3t_token(n=1))
    dp3t(
        "dp3t_exposed_delayed_date", 400, "a delayed key of next week", v1,
        exposed | {"delayedKeyDate": TODAY + 144 * 7}, dp3t_token(n=2))
    dp3t("dp3t_exposed_without_token", 401, "no token", v1, exposed)
    dp3t("dp3t_exposed_stranger", 401, "a token of a stranger", v1, exposed, dp3t_token(signer=STRANGER))
    dp3t("dp3t_exposed_expired", 401, "a token that has ended", v1, exposed, dp3t_token(iat=NOW - 900, exp=NOW - 300))
    dp3t("dp3t_exposed_too_long", 401, "a token for a year", v1, exposed, dp3t_token(exp=NOW + 365 * 86400))
    dp3t("dp3t_exposed_scope", 403, "a token for something else", v1, exposed, dp3t_token(scope="onset"))
    dp3t(
        "dp3t_next_day_first_token", 401, "the next day's key with the token of the diagnosis", next_day,
        {"delayedKey": dp3t_keys(3300, 1, real=1)[0], "fake": 0}, dp3t_token(n=3))
    thirty = {"gaenKeys": dp3t_keys(3400, 30, real=14), "fake": 0, "withFederationGateway": 1}
    dp3t("dp3t_v2_federated", 200, "SDK 2.5.1: thirty keys, sixteen of them filling, for other countries too", v2,
         thirty, dp3t_token(n=4))
    dp3t("dp3t_v2_home", 200, "the same for its own country alone", v2,
         {"gaenKeys": dp3t_keys(3500, 30, real=14), "fake": 0, "withFederationGateway": 0}, dp3t_token(n=5))
    dp3t("dp3t_v2_29_keys", 400, "a key too few", v2,
         {"gaenKeys": dp3t_keys(3400, 29, real=14), "fake": 0, "withFederationGateway": 1}, dp3t_token(n=6))
    dp3t("dp3t_v2_fake", 200, "a fake one", v2,
         {"gaenKeys": dp3t_keys(3600, 30, real=0), "fake": 1, "withFederationGateway": 1}, dp3t_token(n=7, fake="1"))


if __name__ == "__main__":
    main()
