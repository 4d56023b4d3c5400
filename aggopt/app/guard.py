"""Checks of every request before a route sees it, and headers of every response."""

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, PlainTextResponse

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
        if not is_right or self.is_used:
            return False
        self.is_used = True
        return True

    def has_cookie(self, header: str) -> bool:
        """Return whether a Cookie header has the cookie."""
        try:
            morsel = SimpleCookie(header).get(COOKIE)
        except CookieError:
            return False
        sent = "" if morsel is None else morsel.value
        return hmac.compare_digest(sent.encode(), self.cookie.encode())


class Guard:
    """An application of ASGI around another, which it protects.

    It serves HTTP alone: WebSocket is refused.  `on_request` is called with each
    request that passes.
    """

    def __init__(
        self,
        application: Application,
        keys: Keys,
        hosts: tuple[str, ...],
        on_request: Callable[[], None] = lambda: None,
    ):
        self.application = application
        self.keys = keys
        self.hosts = hosts
        self.on_request = on_request

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.encode(), value.encode())
                        for name, value in HEADERS.items()
                        if name.encode() not in names
                    ),
                ]
            await send(message)

        headers = _read_headers(scope)
        response = self._refuse(scope, headers) or self._enter(scope, headers)
        if response is not None:
            await response(scope, receive, send_with_headers)
            return
        self.on_request()
        body = await _read_body(receive) if scope["method"] not in READING else b""
        if body is None:
            large = PlainTextResponse("The request is too large.", 413)
            await large(scope, receive, send_with_headers)
            return
        is_read = False

        async def receive_body() -> Message:
            nonlocal is_read
            if is_read:
                return await receive()  # the end of the connection
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.application(scope, receive_body, send_with_headers)

    def _refuse(
        self, scope: Message, headers: dict[str, str]
    ) -> PlainTextResponse | None:
        """Return what refuses a request of another host, page or size."""
        host = headers.get("host", "")
        if host not in self.hosts:
            return PlainTextResponse("Another host is named.", 421)
        if "upgrade" in headers:
            return PlainTextResponse("Nothing is upgraded.", 400)
        if scope["method"] in READING:
            return None
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST:
            return PlainTextResponse("The request is too large.", 413)
        if not _is_from_here(headers, host):
            return PlainTextResponse("The request comes from another page.", 403)
        return None

    def _enter(
        self, scope: Message, headers: dict[str, str]
    ) -> PlainTextResponse | HTMLResponse | None:
        """Return the response to a request without the cookie, or with the token."""
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["path"] == "/" and scope["method"] == "GET" and tokens:
            if self.keys.exchange(tokens[0]):
                page = HTMLResponse(ENTERED, headers={"referrer-policy": "no-referrer"})
                page.set_cookie(
                    COOKIE, self.keys.cookie, httponly=True, samesite="strict"
                )
                return page
            if self.keys.has_cookie(headers.get("cookie", "")):
                return None
        if self.keys.has_cookie(headers.get("cookie", "")):
            return None
        return PlainTextResponse(
            "Open the address that `aggopt app` printed. It works once: if it was "
            "opened in another browser, start `aggopt app` again.",
            403,
        )


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


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body of a request; None if it is too large."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)
