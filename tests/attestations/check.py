"""Verifies signed statements with nothing of their maker's: once with securesystemslib, once with openssl alone.

Usage: check.py KEY_SET ENVELOPE... KEY_SET is the published JSON Web Key Set. Of every envelope a copy with one changed
byte, in its payload and in its signature, must be refused by both.
"""

import base64
import json
import subprocess
import sys
import tempfile

from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey


def public_keys(path):
    with open(path, encoding="utf-8") as file:
        keys = json.load(file)["keys"]
    usable = [key for key in keys if key["pinhole_use"] == "statement" and key["pinhole_status"] != "revoked"]
    return {key["kid"]: base64.urlsafe_b64decode(key["x"] + "=") for key in usable}


def by_library(envelope, keys):
    known = [SSlibKey(kid, "ed25519", "ed25519", {"public": key.hex()}) for kid, key in keys.items()]
    try:
        # The library writes into what it is given.
        Envelope.from_dict(json.loads(json.dumps(envelope))).verify(known, 1)
        return True
    except VerificationError:
        return False


def by_openssl(envelope, keys):
    """The pre-authentication encoding as DSSE's protocol.md has it, and an Ed25519 key in DER as RFC 8410 has it."""
    kind, payload = envelope["payloadType"].encode(), base64.b64decode(envelope["payload"])
    encoded = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    [signature] = envelope["signatures"]
    key = bytes.fromhex("302a300506032b6570032100") + keys[signature["keyid"]]
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {"key": key, "sig": base64.b64decode(signature["sig"]), "text": encoded}.items():
            with open(f"{folder}/{name}", "wb") as file:
                file.write(content)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", f"{folder}/key", "-rawin"]
        command += ["-in", f"{folder}/text", "-sigfile", f"{folder}/sig"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def changed(text):
    """The same base64 text with one bit of its middle byte changed."""
    content = bytearray(base64.b64decode(text))
    content[len(content) // 2] ^= 1
    return base64.b64encode(bytes(content)).decode()


keys = public_keys(sys.argv[1])
kinds = set()
for path in sys.argv[2:]:
    with open(path, encoding="utf-8") as file:
        envelope = json.load(file)
    other_payload = dict(envelope, payload=changed(envelope["payload"]))
    [signature] = envelope["signatures"]
    other_signature = dict(envelope, signatures=[dict(signature, sig=changed(signature["sig"]))])
    for verify in (by_library, by_openssl):
        assert verify(envelope, keys), f"{path}: {verify.__name__} refuses it"
        assert not verify(other_payload, keys), f"{path}: {verify.__name__} takes another payload"
        assert not verify(other_signature, keys), f"{path}: {verify.__name__} takes another signature"
    kinds.add(json.loads(base64.b64decode(envelope["payload"]))["predicateType"].split("/")[-2])
print("checked:", len(sys.argv) - 2, *sorted(kinds))
