"""The start of the page: a free port of this machine, its address, its end."""

import asyncio
import os
import shutil
import socket
import time
import webbrowser
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from aggopt.app.guard import Guard
from aggopt.app.server import Page
from aggopt.app.session import IDLE, PageSession
from aggopt.app.start_folder import write_private
from aggopt.errors import PlaceError, TableError

PORTS = 100  # that are tried
TICK = 1.0  # seconds between looks at whether anybody is there


class _Server(uvicorn.Server):
    """A server that ends by a signal without raising it again."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End."""
        self.should_exit = True


def run_page(
    table: Path | None,
    job: Path | None,
    print_line: Callable[[str], None],
    print_address: Callable[[str], None],
    *,
    port: int = 8765,
    opens_browser: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Serve the page until it is quit, interrupted or forgotten."""
    session = PageSession(Path.cwd(), clock)
    try:
        first = [_find_name(session, path) for path in (table, job) if path is not None]
        with closing(bind_port(port)) as listening:
            server, address = _make_server(session, listening)
            print_line("The page of aggopt is at")
            print_address(address)
            print_line(_explain_address(listening.getsockname()[1]))
            if opens_browser:
                _open_browser(session, address)
            with closing(_serve(session, server, listening, first)) as serving:
                asyncio.run(serving)  # within a running loop, none can run
    finally:
        session.end()
    reason = f": {IDLE / 60:.0f} minutes without a request"
    print_line(f"The page has ended{reason if session.seconds_left <= 0 else ''}.")


def _find_name(session: PageSession, path: Path) -> str:
    """Return the name of a file of the command line, seen from the start folder."""
    absolute = Path(os.path.abspath(path))
    if not absolute.is_relative_to(session.start.path):
        raise TableError(
            f"{path} is outside the folder where the page starts.",
            fix=f"start it there: cd {absolute.parent} && aggopt app {absolute.name}",
        )
    return session.start.name(session.start.find_file(str(absolute)))


def bind_port(port: int) -> socket.socket:
    """Return a listening socket of this machine alone: at a port, or the next free."""
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        for number in range(port, port + PORTS):
            with suppress(OSError):
                return socket.create_server((address, number), family=family)
    raise PlaceError(
        f"No port from {port} to {port + PORTS - 1} is free.",
        fix="end another program that serves pages, or name another --port.",
    )


def _make_server(session: PageSession, listening: socket.socket) -> tuple[_Server, str]:
    """Return the server of a session, and its address with the token."""
    port = listening.getsockname()[1]
    hosts = tuple(f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]"))

    def quit_server() -> None:
        server.should_exit = True

    routes = Page(session, quit_server).list_routes()
    guard = Guard(Starlette(routes=routes), hosts, session.note_request)
    config = uvicorn.Config(
        guard,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # a traceback may quote records
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    host = hosts[0] if listening.family == socket.AF_INET else hosts[-1]
    return server, f"http://{host}/?token={guard.token}"


async def _serve(
    session: PageSession, server: _Server, listening: socket.socket, first: list[str]
) -> None:
    """Serve the page until it ends, with the table and the job of the command line."""
    await session.process.start()
    opening = asyncio.create_task(_open_first(session, *first))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not serving.done():
        await asyncio.wait([serving], timeout=TICK)
        server.should_exit = server.should_exit or session.seconds_left <= 0
    opening.cancel()
    await session.process.close()
    await serving


async def _open_first(session: PageSession, table: str = "", job: str = "") -> None:
    if table:
        await session.open_table(table, separator="", decimal="", encoding="")
    if session.table and job:
        await session.open_job(job)


def _explain_address(port: int) -> str:
    """Return how to reach the address, and how to end the page."""
    end = "It works once, on this machine alone. Ctrl-C ends the page."
    if "SSH_CONNECTION" not in os.environ:
        return end
    return (
        f"{end} Over SSH, forward the port on your own machine first: "
        f"ssh -L {port}:127.0.0.1:{port} {socket.gethostname()}"
    )


def _open_browser(session: PageSession, address: str) -> None:
    """Open a private file that leads to the address, which no process list shows."""
    has_screen = any(os.environ.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY"))
    has_screen |= os.name == "nt" or bool(shutil.which("open"))
    if not has_screen or "SSH_CONNECTION" in os.environ:
        return
    page = write_private(
        session.private / "start.html",
        f'<!doctype html><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0;url={address}"><title>aggopt</title>',
    )
    with suppress(webbrowser.Error):
        webbrowser.open(page.as_uri())
