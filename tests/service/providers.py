"""A small provider of OpenID Connect over real HTTP, for tests: it signs in whoever it is told."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

CLIENT, SECRET = "discreet-tests", "a secret: with, odd/letters"


@dataclass
class SmallProvider:
    """What it says and how: a test changes it to lie in one thing at a time."""

    address: str = ""
    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    """On top of what an ID token has to say; None takes a claim away."""
    header: dict[str, Any] = field(default_factory=dict)
    key: RSAKey | OctKey = field(default_factory=lambda: RSAKey.generate_key(2048))
    """What it signs with."""
    published: RSAKey | None = None
    """What it says that it signs with; None: the same."""
    secret: str | None = SECRET
    subject: str = "company-7"
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    def configuration(self) -> dict[str, Any]:
        ends = {"authorization_endpoint": "ask", "token_endpoint": "token", "jwks_uri": "keys"}
        return {
            "issuer": self.issuer,
            **{name: f"{self.address}/{path}" for name, path in ends.items()},
        }

    def keys(self) -> dict[str, Any]:
        shown = self.published or self.key
        return {"keys": [{**shown.as_dict(private=False), "kid": "1", "use": "sig"}]}

    def ask(self, given: dict[str, str]) -> str:
        """Sign in at once; where the browser is sent back to."""
        assert given["response_type"] == "code"
        assert given["client_id"] == CLIENT
        assert given["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = given
        return f"{given['redirect_uri']}?{urlencode({'code': code, 'state': given['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """An ID token for a code, once, for who began and who we are."""
        asked = self.codes.pop(form.get("code", ""), None)
        proof = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(proof).rstrip(b"=").decode()
        both = urlencode({"": CLIENT})[1:] + ":" + urlencode({"": self.secret or ""})[1:]
        known = f"Basic {base64.b64encode(both.encode()).decode()}"
        if self.secret is not None and authorization != known:
            return 401, {"error": "invalid_client"}
        if asked is None or asked["code_challenge"] != challenge:
            return 400, {"error": "invalid_grant"}
        if asked["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {
            "iss": self.issuer, "aud": CLIENT, "sub": self.subject, "nonce": asked["nonce"],
            "iat": now, "exp": now + 300, **self.claims,
        }  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": "RS256", "kid": "1", **self.header}
        signed = jwt.encode(header, claims, self.key, algorithms=["RS256", "HS256"])
        return 200, {"id_token": signed, "access_token": "unused", "token_type": "Bearer"}


@contextmanager
def provider() -> Iterator[SmallProvider]:
    """One that listens on loopback."""
    small = SmallProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            place = urlsplit(self.path)
            small.fetched.append(place.path)
            if place.path == "/ask":
                given = {name: values[0] for name, values in parse_qs(place.query).items()}
                self.send_response(303)
                self.send_header("Location", small.ask(given))
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif place.path == "/keys":
                self.say(200, small.keys())
            else:
                self.say(200, small.configuration())

        def do_POST(self) -> None:
            small.fetched.append(self.path)
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(sent).items()}
            self.say(*small.token(form, self.headers.get("Authorization", "")))

        def say(self, status: int, what: dict[str, Any]) -> None:
            content = json.dumps(what).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    small.address = small.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield small
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
