"""Checks of every request before a route sees it, and headers of every response."""

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "aggopt"
MOST = 2**20  # bytes of a request: a job has some thousand
draw_token = partial(secrets.token_urlsafe, 192 // 8)  # of 192 bits
ONCE = ("host", "origin", "content-length", "sec-fetch-site")  # in a request
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


@dataclass
class Guard:
    """An application of ASGI around another, which it protects.

    It serves HTTP alone: WebSocket is refused.  `on_request` is called with each
    request that passes.  The token of the printed address works once, for the cookie.
    """

    application: ASGIApp
    hosts: tuple[str, ...]
    on_request: Callable[[], None]
    token: str = field(default_factory=draw_token, repr=False)
    cookie: str = field(default_factory=draw_token, repr=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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

        request = Request(scope)
        answer = self._find_refusal(request.headers, request.method)
        answer = answer or self._enter(request)
        if answer is None:
            self.on_request()
        await (answer or self.application)(scope, receive, send_with_headers)

    def _find_refusal(self, headers: Headers, method: str) -> Response | None:
        """Return the refusal of a request of another host, page or size, or None."""
        host, length = headers.get("host", ""), headers.get("content-length", "")
        if host not in self.hosts:
            return PlainTextResponse("Another host is named.", 421)
        if "upgrade" in headers:
            return PlainTextResponse("Nothing is upgraded.", 400)
        if any(len(headers.getlist(name)) > 1 for name in ONCE):
            return PlainTextResponse("A header is repeated.", 400)
        if method in ("GET", "HEAD"):
            return None
        if not length.isdecimal() or "transfer-encoding" in headers:
            return PlainTextResponse("The request states no length.", 411)
        if int(length) > MOST:
            return PlainTextResponse("The request is too large.", 413)
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        is_same_site = site == "same-origin" or (site is None and origin is not None)
        if origin not in (None, f"http://{host}") or not is_same_site:
            return PlainTextResponse("The request comes from another page.", 403)
        return None

    def _enter(self, request: Request) -> Response | None:
        """Exchange the token for the cookie; refuse a request that has neither."""
        token = request.query_params.get("token", "").encode()
        is_first_page = (request.scope["path"], request.method) == ("/", "GET")
        if is_first_page and hmac.compare_digest(token, self.token.encode()):
            self.token = draw_token()  # the printed one works once
            response = HTMLResponse(ENTERED, headers={"referrer-policy": "no-referrer"})
            response.set_cookie(COOKIE, self.cookie, httponly=True, samesite="strict")
            return response
        cookie = request.cookies.get(COOKIE, "").encode()
        if hmac.compare_digest(cookie, self.cookie.encode()):
            return None
        return PlainTextResponse(UNKNOWN, 403)
