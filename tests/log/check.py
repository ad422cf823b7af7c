"""Checks a transparency log over HTTP with nothing of its maker's: RFC 6962 with hashlib, the signature with openssl.

Usage: check.py BASE_URL RECORD_FILE KIND PROOF_FILE. RECORD_FILE has a record's bytes, PROOF_FILE what
/api/v1/log/records/{id} answered for it.
"""

import base64
import hashlib
import json
import subprocess
import sys
import tempfile
import urllib.request


def get(path):
    with urllib.request.urlopen(BASE + "/.well-known/pinhole/log/" + path, timeout=30) as answer:
        return answer.read()


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    middle = 1
    while middle * 2 < len(leaves):
        middle *= 2
    return sha256(b"\x01", root(leaves[:middle]), root(leaves[middle:]))


def root_by_path(leaf, size, node, path):
    """RFC 9162, section 2.1.3.2."""
    last = size - 1
    for sibling in path:
        assert last > 0, "the path is too long"
        if leaf % 2 == 1 or leaf == last:
            node = sha256(b"\x01", sibling, node)
            while leaf % 2 == 0 and leaf != 0:
                leaf, last = leaf >> 1, last >> 1
        else:
            node = sha256(b"\x01", node, sibling)
        leaf, last = leaf >> 1, last >> 1
    assert last == 0, "the path is too short"
    return node


def verified(note):
    """The number of leaves and the root of a signed note, by the key that the log publishes."""
    name, key_id, key = get("key").decode().strip().split("+", 2)
    key = base64.b64decode(key)
    assert key[0] == 1 and len(key) == 33
    assert sha256(name.encode(), b"\n", key)[:4].hex() == key_id
    text, signatures = note.split("\n\n")
    text += "\n"
    mark, signer, signature = signatures.strip().split(" ")
    signature = base64.b64decode(signature)
    assert mark == "\u2014" and signer == name and signature[:4].hex() == key_id
    with tempfile.TemporaryDirectory() as folder:
        files = {"key": bytes.fromhex("302a300506032b6570032100") + key[1:], "sig": signature[4:], "text": text.encode()}
        for file, content in files.items():
            with open(f"{folder}/{file}", "wb") as out:
                out.write(content)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", f"{folder}/key", "-rawin"]
        subprocess.run(command + ["-in", f"{folder}/text", "-sigfile", f"{folder}/sig"], check=True, capture_output=True)
    origin, size, tree = text.splitlines()
    assert origin == name
    return int(size), base64.b64decode(tree)


def tiles(kind, size, width):
    content = b""
    for number in range((size + 255) // 256):
        count = min(256, size - number * 256)
        tile = get(f"tile/{kind}/{number:03}" + (f".p/{count}" if count < 256 else ""))
        assert len(tile) == count * width
        content += tile
    return [content[at : at + width] for at in range(0, len(content), width)]


BASE, record, kind, proof = sys.argv[1:]
BASE = BASE.rstrip("/")
size, tree = verified(get("checkpoint").decode())
leaves = tiles("0", size, 32)
entries = tiles("entries", size, 34)
assert all(entry[:2] == b"\x00\x20" and sha256(b"\x00", entry[2:]) == leaf for entry, leaf in zip(entries, leaves))
assert root(leaves) == tree

with open(record, "rb") as file:
    digest = hashlib.sha256(file.read()).digest()
entry = sha256(b"pinhole.dev/log-entry/v1\0", kind.encode(), b"\0", digest)
with open(proof, encoding="utf-8") as file:
    proof = json.load(file)
assert proof["sha256"] == "sha256:" + digest.hex() and proof["entry"] == "sha256:" + entry.hex()
then, tree = verified(proof["checkpoint"])
path = [base64.b64decode(hash) for hash in proof["hashes"]]
leaf = sha256(b"\x00", entry)
assert then == proof["size"] and root_by_path(proof["leaf"], then, leaf, path) == tree
assert leaves[proof["leaf"]] == leaf
print(f"checked: {size} leaves, {kind} at {proof['leaf']}")
