"""A release's digest as its format has it, computed without the code that writes releases."""

import hashlib
import json


def digest_of(certificate: str, others: dict[str, bytes]) -> str:
    """SHA-256 over the certificate without its digest, and the SHA-256 of every other file.

    The certificate as JSON with sorted keys, indented by two; the others in the order of names.
    """
    content = json.loads(certificate) | {"digest": ""}
    text = json.dumps(content, indent=2, sort_keys=True) + "\n"
    parts = [hashlib.sha256(others[name]).digest() for name in sorted(others)]
    return hashlib.sha256(b"".join([text.encode(), *parts])).hexdigest()
