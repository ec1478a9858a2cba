"""What only a holder of a secret can make or check. For servers: a secret never goes to a browser."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import cast
from urllib.parse import urlencode

from ._types import ThumbQuery
from .errors import ReelwrightError
from .models import WebhookEvent


def playback_token(
    hash: str, key_token_secret: str, *, expires_in_sec: float | None = None, exp: int | None = None
) -> str:
    """A playback token for a hash, signed with `KEY_TOKEN_SECRET`; `exp` is a Unix time."""
    if (exp is None) == (expires_in_sec is None):
        raise ValueError("give one of expires_in_sec and exp")
    until = exp if exp is not None else int(time.time() + (expires_in_sec or 0))
    payload = _base64url(json.dumps({"hash": hash, "exp": until}, separators=(",", ":")).encode())
    return f"{payload}.{_base64url(_hmac(key_token_secret.encode(), payload))}"


def player_url(
    base_url: str, hash: str, token: str, ticket: str = "", *, title: str = "", start_sec: float = 0
) -> str:
    """The address of the page that plays a hash, from `start_sec` on.

    The token, and the ticket of a signed stream, are in the fragment, which no server sees. So is the title, which is
    shown in place of the hash, and which whoever has the address can read.
    """
    given = {"ticket": ticket, "title": title, "t": f"{start_sec:g}" if start_sec > 0 else ""}
    fragment = {"hash": hash, "token": token} | {name: value for name, value in given.items() if value != ""}
    return f"{base_url.rstrip('/')}/player/#{urlencode(fragment)}"


def stream_ticket(
    hash: str,
    stream_secret: str,
    *,
    expires_in_sec: float | None = None,
    exp: int | None = None,
    generation: int = 0,
    scope: str | None = None,
) -> str:
    """The ticket of a stream, signed with `STREAM_SECRET`: it plays at `/s/{ticket}/{hash}/master.m3u8`.

    `generation` is `playback_generation` of the media; `scope` is `audio`, a height such as `720p`, or `sid-` and the
    id of a session, which the first two may be followed by: `720p~sid-a1`.
    """
    if (exp is None) == (expires_in_sec is None):
        raise ValueError("give one of expires_in_sec and exp")
    until = exp if exp is not None else int(time.time() + (expires_in_sec or 0))
    key = stream_secret.encode()
    kid = _base64url(_hmac(key, "kid"))[:8]
    claims = f"{until}.{kid}.{generation}" + ("" if scope is None else f".{scope}")
    return f"{claims}.{_base64url(_hmac(key, f'/s/{claims}/{hash}'))}"


def signed_stream_url(base_url: str, hash: str, ticket: str) -> str:
    """The address at which a stream plays by a ticket."""
    return f"{base_url.rstrip('/')}/s/{ticket}/{hash}/master.m3u8"


def thumb_url(
    key: str,
    query: ThumbQuery | None = None,
    *,
    thumb_secret: str | None = None,
    key_token_secret: str | None = None,
    base_url: str = "",
) -> str:
    """The signed address of an image by its object key; without `base_url` the path alone.

    Takes `THUMB_SECRET`, or, where the service has none, the `KEY_TOKEN_SECRET` that it is derived from.
    """
    if thumb_secret is None:
        if key_token_secret is None:
            raise ValueError("give thumb_secret or key_token_secret")
        thumb_secret = _derived_thumb_secret(key_token_secret)
    search = urlencode(sorted((name, _written(value)) for name, value in (query or {}).items()))
    path = f"/{_base64url(key.encode())}" + (f"?{search}" if search else "")
    return f"{base_url.rstrip('/')}/thumb/{_base64url(_hmac(thumb_secret.encode(), path))}{path}"


def thumb_srcset(
    key: str,
    query: ThumbQuery | None = None,
    *,
    widths: Sequence[int] = (),
    densities: Sequence[float] = (),
    thumb_secret: str | None = None,
    key_token_secret: str | None = None,
    base_url: str = "",
) -> str:
    """The `srcset` of an image: `… 320w, … 640w` by widths, `… 1x, … 2x` by densities, which need `w` or `h`.

    A height that `query` has is of its width, and grows with it.
    """
    if bool(widths) == bool(densities):
        raise ValueError("give one of widths and densities")
    given: ThumbQuery = query or {}
    sizes: list[tuple[str, ThumbQuery]] = [(f"{_written(dpr)}x", {"dpr": dpr}) for dpr in densities]
    for width in widths:
        size: ThumbQuery = {"w": width}
        if "w" in given and "h" in given:
            size["h"] = int(given["h"] * width / given["w"] + 0.5)
        sizes.append((f"{width}w", size))
    urls = [
        thumb_url(
            key,
            cast(ThumbQuery, {**given, **size}),
            thumb_secret=thumb_secret,
            key_token_secret=key_token_secret,
            base_url=base_url,
        )
        for _, size in sizes
    ]
    return ", ".join(f"{url} {name}" for url, (name, _) in zip(urls, sizes))


def _written(value: object) -> str:
    """A value as JavaScript writes it too: 2.0 is 2."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def verify_webhook(
    headers: Mapping[str, str], body: str | bytes, secret: str, *, tolerance_sec: float = 300
) -> WebhookEvent:
    """The event of a genuine webhook (Standard Webhooks). Give it the body as it came, before any parsing.

    `secret` is `WEBHOOK_SECRET`, with or without `whsec_`. Raises ReelwrightError `invalid_signature`.
    """
    named = {name.lower(): value for name, value in headers.items()}
    event_id, sent_at, given = (named.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not (event_id and sent_at and given):
        raise _refused("webhook-id, webhook-timestamp or webhook-signature is missing")
    if not re.fullmatch(r"[0-9]{1,12}", sent_at) or abs(time.time() - int(sent_at)) > tolerance_sec:
        raise _refused(f"webhook-timestamp {sent_at} is more than {tolerance_sec:g} s from this clock")
    content = body.encode() if isinstance(body, str) else body
    signed = hmac.digest(_webhook_key(secret), f"{event_id}.{sent_at}.".encode() + content, "sha256")
    expected = b"v1," + base64.b64encode(signed)
    matches = [hmac.compare_digest(expected, each.encode()) for each in given.split(" ")]
    if not any(matches):
        raise _refused("webhook-signature does not hold")
    return cast(WebhookEvent, json.loads(content))


def _webhook_key(secret: str) -> bytes:
    encoded = re.fullmatch(r"whsec_([A-Za-z0-9+/]+={0,2})", secret)
    return base64.b64decode(encoded[1]) if encoded else secret.encode()


def _derived_thumb_secret(key_token_secret: str) -> str:
    """HKDF-SHA256 without salt (RFC 5869), in hex."""
    key = hmac.digest(bytes(32), key_token_secret.encode(), hashlib.sha256)
    return hmac.digest(key, b"thumb/v1\x01", hashlib.sha256).hex()


def _refused(detail: str) -> ReelwrightError:
    return ReelwrightError("invalid_signature", detail)


def _hmac(secret: bytes, text: str) -> bytes:
    return hmac.digest(secret, text.encode(), "sha256")


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
