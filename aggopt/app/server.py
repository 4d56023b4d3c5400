"""The routes of the page: GET shows what holds, POST changes it and leads back."""

import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from aggopt.app import forms
from aggopt.app.guard import POLICY, Guard, Keys
from aggopt.app.job_text import format_json, read_roles, read_section, show_command
from aggopt.app.rows import RowWindow
from aggopt.app.session import PREVIEW, STEPS, WARNING, PageSession
from aggopt.app.texts import LANGUAGES, Texts
from aggopt.errors import AggoptError

HERE = Path(__file__).parent
REPORT_STYLE = HERE.parent / "release" / "report" / "templates" / "style.css"
BEAT = 2.0  # seconds between messages to a page if nothing changes
SUFFIXES = (".csv", ".parquet", ".xlsx", ".sav", ".dta", ".sas7bdat", ".xpt")
FORM = "application/x-www-form-urlencoded"
Handler = Callable[[Request], Awaitable[Response]]


class Page:
    """The handlers of the routes of one session."""

    def __init__(self, session: PageSession, quit_server: Callable[[], None]) -> None:
        self.session = session
        self.quit_server = quit_server
        self.rows = RowWindow()
        self._work: set[asyncio.Task[Any]] = set()
        self._pages = Environment(
            loader=FileSystemLoader(HERE / "pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def list_routes(self) -> list[Route]:
        """Return the routes."""
        shown = [Route(f"/{step}", self.show(step)) for step in STEPS]
        submitted = {
            "table": self.submit_table,
            "roles": self.submit_roles,
            "risk": self.submit_risk,
            "protect": self.submit_protect,
            "compare": self.submit_compare,
            "release": self.submit_release,
            "open": self.submit_open,
            "undo": self.submit_undo,
            "redo": self.submit_redo,
            "cancel": self.submit_cancel,
            "language": self.submit_language,
            "use": self.submit_use,
            "quit": self.submit_quit,
        }
        return [
            Route("/", self.show_first),
            *shown,
            Route("/quit", self.show("quit")),
            Route("/events", self.stream_events),
            Route("/job.toml", self.download_job),
            Route("/report", self.show_private("report.html")),
            Route("/choices", self.show_private("choices.html")),
            Route("/app.css", self.send_file(HERE / "static" / "app.css", "text/css")),
            Route("/report.css", self.send_file(REPORT_STYLE, "text/css")),
            Route(
                "/app.js", self.send_file(HERE / "static" / "app.js", "text/javascript")
            ),
            *(
                Route(f"/{name}", self.read_form(handler), methods=["POST"])
                for name, handler in submitted.items()
            ),
        ]

    # what GET shows

    async def show_first(self, request: Request) -> Response:
        """Lead to the first screen, or to the second if a table is open."""
        return _go_to("table" if self.session.table is None else "roles")

    def show(self, step: str) -> Handler:
        """Return the handler that shows a screen."""

        async def show_step(request: Request) -> Response:
            session = self.session
            if step not in ("table", "quit") and session.table is None:
                return _go_to("table")
            facts: dict[str, Any] = {"window": None, "files": [], "jobs": []}
            if step == "table":
                facts["files"] = session.start.list_files(SUFFIXES)
                facts["jobs"] = session.start.list_files((".toml", ".manifest.json"))
                facts["window"] = await self._read_window(request)
            return self.render(step, **facts)

        return show_step

    async def _read_window(self, request: Request) -> dict[str, Any] | None:
        """Return the rows that a request names; None without a table."""
        session = self.session
        if session.table is None or session.is_changed:
            return None
        written = request.query_params.get("row", "1")
        first = int(written) - 1 if written.isdecimal() and len(written) < 12 else 0
        path = session.start.find_file(session.table["table"])
        text_format = read_section(session.table["job"], "input")
        try:
            return await self.rows.read(path, text_format, first)
        except AggoptError:
            return None

    def render(self, step: str, **facts: Any) -> HTMLResponse:
        """Return a screen, filled with what holds now."""
        session = self.session
        problem, fix = session.message
        session.message = ("", "")
        activity = session.process.activity
        job = session.job
        table = "" if session.table is None else session.table["table"]
        stem, suffix = Path(table).stem, Path(table).suffix
        page = self._pages.get_template(f"{step}.html").render(
            t=Texts(session.language),
            languages=LANGUAGES,
            step=step,
            steps=STEPS,
            session=session,
            activity=activity,
            problem=problem,
            fix=fix,
            roles=read_roles(job),
            read_section=lambda name: read_section(job, name),
            forms=forms,
            preview=PREVIEW,
            names={
                "out": f"{stem}.masked{suffix}",
                "keys": f"{stem}.private",
                "report": f"{stem}.report.html",
                "job": f"{stem}.job.toml",
            },
            command=show_command(
                table,
                f"{stem}.job.toml",
                f"{stem}.masked{suffix}",
                f"{stem}.private",
                f"{stem}.report.html",
            ),
            **facts,
        )
        return HTMLResponse(page)

    async def stream_events(self, request: Request) -> Response:
        """Send what the process does, as Server-Sent Events."""
        session = self.session

        async def iterate_events() -> AsyncIterator[str]:
            session.pages += 1
            number = -1
            try:
                while True:
                    activity = await session.process.wait_for_change(number, BEAT)
                    number = activity.number
                    left = session.seconds_left
                    facts = activity.to_dict() | {
                        "pages": session.pages,
                        "ends": round(left / 60) if left < WARNING else None,
                    }
                    yield f"data: {format_json(facts)}\n\n"
            finally:
                session.pages -= 1

        return StreamingResponse(iterate_events(), media_type="text/event-stream")

    async def download_job(self, request: Request) -> Response:
        """Send the job as a file."""
        disposition = {"content-disposition": 'attachment; filename="job.toml"'}
        return Response(
            self.session.job, media_type="application/toml", headers=disposition
        )

    def show_private(self, name: str) -> Handler:
        """Return the handler of a whole page that a task wrote, with its own policy."""

        async def show_page(request: Request) -> Response:
            try:
                text = (self.session.private / name).read_text("utf-8")
            except OSError:
                return PlainTextResponse("There is no such page yet.", 404)
            return HTMLResponse(
                text, headers={"content-security-policy": _allow_inline(text)}
            )

        return show_page

    def send_file(self, path: Path, kind: str) -> Handler:
        """Return the handler of a file of the package."""

        async def send_text(request: Request) -> Response:
            return Response(path.read_bytes(), media_type=kind)

        return send_text

    # what POST changes

    def read_form(self, handler: Callable[[dict[str, str]], Awaitable[str]]) -> Handler:
        """Return a handler that reads a form, and leads to the screen it names."""

        async def answer(request: Request) -> Response:
            kind = request.headers.get("content-type", FORM).partition(";")[0]
            if kind != FORM:
                return PlainTextResponse("A form is expected.", 415)
            fields = dict(_parse_form(await request.body()))
            try:
                step = await handler(fields)
            except AggoptError as error:
                self.session.message = (error.problem, error.fix)
                step = fields.get("screen", "table")
            if step == "":
                return self.render("ended", window=None, files=[], jobs=[])
            return _go_to(step if step in STEPS else "table")

        return answer

    def _start(self, work: Any) -> None:
        """Run a task while the page goes on."""
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def submit_table(self, form: dict[str, str]) -> str:
        """Open a table."""
        separator = {"": None, "tab": "\t"}.get(
            form.get("separator", ""), form.get("separator")
        )
        self.session.start.find_file(form.get("table", ""))
        opened = self.session.open_table(
            form.get("table", ""),
            separator,
            form.get("decimal") or None,
            form.get("encoding") or "utf-8",
        )
        self._start(opened)
        return "table"

    async def submit_open(self, form: dict[str, str]) -> str:
        """Open a job or a manifest."""
        if self.session.table is None:
            return "table"
        self.session.start.find_file(form.get("job", ""))
        self._start(self.session.open_job(form.get("job", "")))
        return "roles"

    async def submit_roles(self, form: dict[str, str]) -> str:
        """Set roles and types; compute the risk if no question is open."""
        session = self.session
        if session.table is None:
            return "table"
        text = forms.apply_roles(session.job, session.table["columns"], form)
        session.history.set(text)
        if form.get("next") != "risk":
            return "roles"
        if session.undecided:
            texts = Texts(session.language)
            names = ", ".join(column["name"] for column in session.undecided)
            session.message = (texts("questions left", names=names), "")
            return "roles"
        return await self.submit_risk(form)

    async def submit_risk(self, form: dict[str, str]) -> str:
        """Check the job, and measure the risk before masking."""
        if self.session.find_result("check") is None:
            self._start(self.session.run("check"))
        return "risk"

    async def submit_protect(self, form: dict[str, str]) -> str:
        """Set the protection, and mask; or add the release to the comparison."""
        session = self.session
        if form.get("next") == "compare":
            session.add_to_comparison()
            return "compare"
        session.history.set(forms.apply_protection(session.job, form))
        task = "preview" if form.get("next") == "preview" else "mask"
        self._start(session.run(task))
        return "protect"

    async def submit_compare(self, form: dict[str, str]) -> str:
        """Mask with each k and method, to compare."""
        self._start(self.session.run("choose", **forms.read_choice(form)))
        return "compare"

    async def submit_use(self, form: dict[str, str]) -> str:
        """Set k and method of a point, or the job of a compared release."""
        session = self.session
        if form.get("compared", "").isdecimal():
            place = int(form["compared"])
            if place < len(session.compared):
                session.history.set(session.compared[place]["job"])
            return "protect"
        keys = {n: value for n, value in form.items() if n in ("k", "method")}
        section = read_section(session.job, "privacy")
        kept = {n: str(v) for n, v in section.items() if n in ("l", "t", "repair")}
        session.history.set(forms.apply_protection(session.job, {**kept, **keys}))
        self._start(session.run("mask"))
        return "protect"

    async def submit_release(self, form: dict[str, str]) -> str:
        """Write the release."""
        start = self.session.start
        start.find_new(form.get("out", ""))
        self._start(
            self.session.run(
                "write",
                out=form.get("out", ""),
                keys=form.get("keys", "") or ".",
                report=form.get("report", ""),
                saved=form.get("saved", ""),
            )
        )
        return "release"

    async def submit_undo(self, form: dict[str, str]) -> str:
        """Return to the job before."""
        self.session.history.undo()
        return form.get("screen", "table")

    async def submit_redo(self, form: dict[str, str]) -> str:
        """Return to the job that was undone."""
        self.session.history.redo()
        return form.get("screen", "table")

    async def submit_cancel(self, form: dict[str, str]) -> str:
        """End the task that runs."""
        await self.session.process.cancel()
        return form.get("screen", "table")

    async def submit_language(self, form: dict[str, str]) -> str:
        """Set the language."""
        if form.get("language") in LANGUAGES:
            self.session.language = form["language"]
        return form.get("screen", "table")

    async def submit_quit(self, form: dict[str, str]) -> str:
        """End the page: its private files are removed."""
        self.quit_server()
        return ""


def _parse_form(body: bytes) -> list[tuple[str, str]]:
    """Return the fields of a form; what is no form has none."""
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20_000)
    except ValueError:
        return []


def _go_to(step: str) -> RedirectResponse:
    return RedirectResponse(f"/{step}", 303)


def _allow_inline(page: str) -> str:
    """Return the policy of a whole page: only its own style and script, by hash."""
    allowed = {"style": "'self'", "script": "'self'"}
    for name in allowed:
        texts = re.findall(rf"<{name}>(.*?)</{name}>", page, re.DOTALL)
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        allowed[name] = (
            " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests)
            or "'none'"
        )
    policy = POLICY.replace("script-src 'self'", f"script-src {allowed['script']}")
    return policy.replace("style-src 'self'", f"style-src {allowed['style']}")


def make_application(
    session: PageSession,
    keys: Keys,
    hosts: tuple[str, ...],
    quit_server: Callable[[], None] = lambda: None,
) -> Guard:
    """Return the application of ASGI: the routes of a session behind their guard."""
    page = Page(session, quit_server)

    async def explain_defect(request: Request, error: Exception) -> Response:
        return PlainTextResponse("The page has a defect; its message is withheld.", 500)

    application = Starlette(
        routes=page.list_routes(), exception_handlers={Exception: explain_defect}
    )
    return Guard(application, keys, hosts, session.note_request)
