"""An issuer of JWTs: its keys, tokens with any content, and a server with its description and its keys.

It is also a provider of OpenID Connect that checks what a client must send, with PKCE.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from jetsql.settings.identity_settings import IdentitySettings

AUDIENCE = "jetsql"


class JwtIssuer:
    """An issuer. Its keys can be changed, and its answers replaced or delayed."""

    def __init__(self) -> None:
        self.url = ""
        self.keys: dict[str, Any] = {"one": rsa.generate_private_key(public_exponent=65537, key_size=2048)}
        self.answers: dict[str, bytes] = {}  # the bodies by path, in place of the right ones
        self.redirects: dict[str, str] = {}
        self.requests: list[str] = []  # the paths
        self.codes: dict[str, tuple[dict[str, str], str]] = {}  # the request and the ID token by code
        self.client_secret: str | None = None

    def token(self, user: str = "ann", key: str = "one", algorithm: str = "RS256", **claims: Any) -> str:
        """Return a valid token. claims: replace others; None removes one."""
        return self.sign(self.claims(user, **claims), self.keys[key], algorithm, {"kid": key})

    def claims(self, user: str = "ann", **claims: Any) -> dict[str, Any]:
        now = int(time.time())
        values = {"iss": self.url, "aud": AUDIENCE, "sub": user, "iat": now, "exp": now + 300, **claims}
        return {name: value for name, value in values.items() if value is not None}

    @staticmethod
    def sign(claims: Mapping[str, Any], key: Any, algorithm: str, headers: dict[str, Any] | None = None) -> str:
        token: str = jwt.encode(dict(claims), key, algorithm, headers)
        return token

    def jwks(self) -> dict[str, Any]:
        return {"keys": [{"kid": name, "use": "sig", **public_jwk(key)} for name, key in self.keys.items()]}

    def body(self, path: str) -> bytes | None:
        if path in self.answers:
            return self.answers[path]
        if path == "/.well-known/openid-configuration":
            paths = {"jwks_uri": "keys", "authorization_endpoint": "authorize", "token_endpoint": "token"}
            return json.dumps(
                {"issuer": self.url, **{name: f"{self.url}/{path}" for name, path in paths.items()}}
            ).encode()
        return json.dumps(self.jwks()).encode() if path == "/keys" else None

    def authorize(self, url: str, user: str = "ann", **claims: Any) -> tuple[str, str]:
        """Log a user in who was sent to a URL. Return the redirect URI, and the code. claims: of the ID token"""
        asked = query_of(url)
        assert url.startswith(f"{self.url}/authorize?")
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        code = secrets.token_urlsafe()
        own = {"aud": asked["client_id"], "nonce": asked["nonce"], **claims}
        self.codes[code] = (asked, self.token(user, **own))
        return asked["redirect_uri"], code

    def redeem(self, form: Mapping[str, str], login: str) -> dict[str, str] | None:
        """Return the tokens for a code, once; None for another client or without the verifier."""
        asked, token = self.codes.pop(form.get("code", ""), ({}, ""))
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        secret = f"{form.get('client_id')}:{quote_plus(self.client_secret or '')}"
        expected = "" if self.client_secret is None else f"Basic {base64.b64encode(secret.encode()).decode()}"
        names = ("client_id", "redirect_uri")
        is_same = bool(asked) and all(form.get(name) == asked[name] for name in names)
        if not is_same or asked["code_challenge"] != challenge or login != expected:
            return None
        return {"access_token": "x", "token_type": "Bearer", "id_token": token}

    def settings(self, **changes: Any) -> IdentitySettings:
        return IdentitySettings(**{"jwt_issuer": self.url, "jwt_audience": (AUDIENCE,), **changes})


def query_of(url: str) -> dict[str, str]:
    """Return the parameters in a URL."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def public_jwk(key: Any) -> dict[str, Any]:
    """Return the public part of a private key as a JWK."""
    public = key.public_key()
    if isinstance(key, rsa.RSAPrivateKey):
        return dict(RSAAlgorithm.to_jwk(public, as_dict=True))
    kind = ECAlgorithm if isinstance(key, ec.EllipticCurvePrivateKey) else OKPAlgorithm
    return dict(kind.to_jwk(public, as_dict=True))


def further_key(kind: str) -> Any:
    """Return a new private key: EC, OKP or RSA."""
    if kind == "OKP":
        return ed25519.Ed25519PrivateKey.generate()
    return ec.generate_private_key(ec.SECP256R1()) if kind == "EC" else rsa.generate_private_key(65537, 2048)


@contextmanager
def running_issuer() -> Iterator[JwtIssuer]:
    """Serve the description and the keys of a new issuer."""
    issuer = JwtIssuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.requests.append(self.path)
            if self.path in issuer.redirects:
                self.send_response(302)
                self.send_header("Location", issuer.redirects[self.path])
                self.end_headers()
                return
            body = issuer.body(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"")

        def do_POST(self) -> None:
            issuer.requests.append(self.path)
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            login = self.headers.get("Authorization", "")
            tokens = issuer.redeem({name: values[0] for name, values in form.items()}, login)
            self.send_response(400 if tokens is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps({"error": "invalid_grant"} if tokens is None else tokens).encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
