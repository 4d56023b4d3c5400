"""Checks of every request before a route sees it, and headers of every response."""

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

COOKIE = "aggopt"
MOST = 2**20  # bytes of a request: a job has some thousand
BITS = 192  # of the token and of the cookie
READING = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
# The browser sends a strict cookie only if this page, not another, leads to the next.
ENTERED = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>aggopt app</title>'
    '<link rel="icon" href="data:,">'
    '<meta http-equiv="refresh" content="0;url=/"><a href="/">aggopt app</a></html>'
)
UNKNOWN = (
    "Open the address that `aggopt app` printed. It works once: if it was opened in "
    "another browser, start `aggopt app` again."
)


def draw_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(BITS // 8)


@dataclass
class Keys:
    """The token of the printed address, which works once, and the cookie it is for."""

    token: str = field(default_factory=draw_token, repr=False)
    cookie: str = field(default_factory=draw_token, repr=False)
    is_used: bool = False

    def exchange(self, token: str) -> bool:
        """Return whether this token is the unused one; it is used from then on."""
        is_right = hmac.compare_digest(token.encode(), self.token.encode())
        is_first = is_right and not self.is_used
        self.is_used |= is_right
        return is_first

    def has_cookie(self, header: str) -> bool:
        """Return whether a Cookie header has the cookie."""
        try:
            morsel = SimpleCookie(header).get(COOKIE)
        except CookieError:
            return False
        sent = "" if morsel is None else morsel.value
        return hmac.compare_digest(sent.encode(), self.cookie.encode())


@dataclass(frozen=True)
class Guard:
    """An application of ASGI around another, which it protects.

    It serves HTTP alone: WebSocket is refused.  `on_request` is called with each
    request that passes.
    """

    application: Application
    keys: Keys
    hosts: tuple[str, ...]
    on_request: Callable[[], None]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = _read_headers(scope)
        refused = self._find_refusal(scope, headers)
        if refused is not None:
            status, text = refused
            response: Response = PlainTextResponse(text, status)
        elif self._is_first_visit(scope):
            response = HTMLResponse(ENTERED, headers={"referrer-policy": "no-referrer"})
            response.set_cookie(
                COOKIE, self.keys.cookie, httponly=True, samesite="strict"
            )
        elif not self.keys.has_cookie(headers.get("cookie", "")):
            response = PlainTextResponse(UNKNOWN, 403)
        else:
            self.on_request()
            await self.application(scope, receive, send_with_headers)
            return
        await response(scope, receive, send_with_headers)

    def _find_refusal(
        self, scope: Message, headers: dict[str, str]
    ) -> tuple[int, str] | None:
        """Return why a request of another host, page or size is refused, with a code.

        The server reads no more of a request than the length that it states.
        """
        host = headers.get("host", "")
        if host not in self.hosts:
            return 421, "Another host is named."
        if "upgrade" in headers:
            return 400, "Nothing is upgraded."
        if scope["method"] in READING:
            return None
        length = headers.get("content-length", "")
        if not length.isdecimal() or "transfer-encoding" in headers:
            return 411, "The request states no length."
        if int(length) > MOST:
            return 413, "The request is too large."
        if not _is_from_here(headers, host):
            return 403, "The request comes from another page."
        return None

    def _is_first_visit(self, scope: Message) -> bool:
        """Return whether a request has the token, which works once."""
        if (scope["path"], scope["method"]) != ("/", "GET"):
            return False
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        return self.keys.exchange(tokens[0])


def _read_headers(scope: Message) -> dict[str, str]:
    """Return the headers by name; a name that is sent twice has no value."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        is_repeated = key in headers and key != "cookie"
        headers[key] = "" if is_repeated else value.decode("latin-1")
    return headers


def _is_from_here(headers: dict[str, str], host: str) -> bool:
    """Whether the page that sends a request is one of this server."""
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return False
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return origin is not None
