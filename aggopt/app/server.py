"""The routes of the page: GET shows what holds, POST changes it and leads back."""

import json
import re
import shlex
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from aggopt.app import forms
from aggopt.app.guard import POLICY
from aggopt.app.job_text import find_unsupported_setting, parse_roles, parse_section
from aggopt.app.rows import COLUMNS, WINDOW, read_window
from aggopt.app.session import PREVIEW, STEPS, WARNING, PageSession
from aggopt.app.texts import LANGUAGES, Texts
from aggopt.errors import AggoptError, JobError

HERE = Path(__file__).parent
BEAT = 2.0  # seconds between messages to a page if nothing changes
SUFFIXES = (  # of tables; `aggopt.data.formats` takes long to import
    *(".csv", ".parquet", ".xlsx", ".sav", ".zsav", ".por", ".dta", ".xpt"),
    *(".sas7bdat", ".rds"),
)
TEXT_FORMAT = ("separator", "decimal", "encoding")
FORM = "application/x-www-form-urlencoded"
FILES = {
    "app.css": HERE / "static" / "app.css",
    "app.js": HERE / "static" / "app.js",
    "report.css": HERE.parent / "release" / "report" / "templates" / "style.css",
}
Form = dict[str, str]


class Page:
    """The handlers of the routes of one session."""

    def __init__(self, session: PageSession, quit_server: Callable[[], None]) -> None:
        self.session = session
        self._pages = Environment(
            loader=FileSystemLoader(HERE / "pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._pages.filters["quote"] = shlex.quote
        self._changes: dict[str, Callable[[Form], str | None]] = {
            "table": self.open_table,
            "open": self.open_job,
            "roles": self.set_roles,
            "risk": lambda form: self._begin(session.run("check"), "risk"),
            "protect": self.set_protection,
            "compare": self.compute_map,
            "use": self.use_point,
            "release": self.write_release,
            "undo": lambda form: session.move(-1),
            "redo": lambda form: session.move(1),
            "stop": lambda form: session.process.end_search(),
            "cancel": lambda form: session.process.spawn(session.process.cancel()),
            "language": self.set_language,
            "quit": lambda form: quit_server(),
        }

    def list_routes(self) -> list[Route]:
        """Return the routes."""
        shown: dict[str, Any] = {
            "": partial(self.show, "roles"),
            **{step: partial(self.show, step) for step in (*STEPS, "quit")},
            "events": self.stream_events,
            "job.toml": self.download_job,
            "report": partial(self.show_private, "report.html"),
            "choices": partial(self.show_private, "choices.html"),
            **{name: partial(self.send_file, path) for name, path in FILES.items()},
        }
        routes = [Route(f"/{name}", handler) for name, handler in shown.items()]
        for name in self._changes:
            change = partial(self.change, name)
            routes.append(Route(f"/{name}", change, methods=["POST"]))
        return routes

    # what GET shows

    async def show(self, step: str, request: Request) -> Response:
        """Show a screen; the first one if no table is open."""
        if step not in ("table", "quit") and not self.session.table:
            return _go_to("table")
        column = _read_number(request, "column") // COLUMNS * COLUMNS
        is_shown = step == "table" and self.session.table
        window = await self._read_window(request, column) if is_shown else None
        return self.render(step, first_column=column, window=window)

    async def _read_window(
        self, request: Request, column: int
    ) -> dict[str, Any] | None:
        """Return the rows that a request names; None if they cannot be read."""
        table = self.session.table
        if self.session.is_changed:
            return None
        text_format = parse_section(table["job"], "input")
        try:
            path = self.session.start.find_file(table["table"])
            row = _read_number(request, "row")
            return await read_window(path, text_format, row, column)
        except AggoptError:
            return None

    def render(self, step: str, **facts: Any) -> HTMLResponse:
        """Return a screen, filled with what holds now."""
        session = self.session
        error, session.error = session.error, None
        page = self._pages.get_template(f"{step}.html").render(
            t=Texts(session.language),
            step=step,
            session=session,
            activity=session.process.activity,
            error=error,
            refusal=find_unsupported_setting(session.job),
            roles=parse_roles(session.job),
            parse_section=partial(parse_section, session.job),
            forms=forms,
            preview=PREVIEW,
            suffixes=SUFFIXES,
            shown_columns=COLUMNS,
            shown_rows=WINDOW,
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
                    facts = vars(activity) | {
                        "says": Texts(session.language).describe(activity),
                        "search": activity.is_search,
                        "pages": session.pages,
                        "ends": round(left / 60) if left < WARNING else None,
                    }
                    yield f"data: {json.dumps(facts)}\n\n"
            finally:
                session.pages -= 1

        return StreamingResponse(iterate_events(), media_type="text/event-stream")

    async def download_job(self, request: Request) -> Response:
        """Send the job as a file."""
        return Response(self.session.job, media_type="application/toml")

    async def show_private(self, name: str, request: Request) -> Response:
        """Show a whole page that a task wrote, with the policy that it states."""
        try:
            text = (self.session.private / name).read_text("utf-8")
        except OSError:
            return PlainTextResponse("There is no such page yet.", 404)
        stated = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
        policy = f"{stated[1]}; frame-ancestors 'none'" if stated else POLICY
        return HTMLResponse(text, headers={"content-security-policy": policy})

    async def send_file(self, path: Path, request: Request) -> Response:
        """Send a file of the package."""
        return FileResponse(path)

    # what POST changes

    async def change(self, name: str, request: Request) -> Response:
        """Act on a form, and lead to the next screen; after an error, to that of it."""
        if request.headers.get("content-type", FORM).partition(";")[0] != FORM:
            return PlainTextResponse("A form is expected.", 415)
        try:
            body = (await request.body()).decode()
            form = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=20_000))
        except ValueError:  # it is no form
            form = {}
        step = form.get("screen", "")
        try:
            if self.session.table or name in ("table", "language", "cancel", "quit"):
                step = self._changes[name](form) or step
        except AggoptError as error:
            self.session.error = error
        if name == "quit":
            return self.render("ended")
        return _go_to(step if step.partition("?")[0] in STEPS else "table")

    def _begin(self, work: Coroutine[Any, Any, None], step: str) -> str:
        """Begin work while the page goes on at a step."""
        self.session.process.spawn(work)
        return step

    def open_table(self, form: Form) -> str:
        """Open a table."""
        name = form.get("table", "")
        self.session.start.find_file(name)
        text_format = {key: form.get(key, "") for key in TEXT_FORMAT}
        return self._begin(self.session.open_table(name, **text_format), "table")

    def open_job(self, form: Form) -> str:
        """Open a job or a manifest."""
        name = form.get("job", "")
        self.session.start.find_file(name)
        return self._begin(self.session.open_job(name), "roles")

    def set_roles(self, form: Form) -> str:
        """Set roles and types; measure the risk if no question is open."""
        session = self.session
        columns = session.table["columns"]
        session.set_job(forms.write_form_roles(session.job, columns, form))
        following = form.get("next", "")
        if following != "risk":
            return f"roles?column={following}" if following.isdecimal() else "roles"
        if session.undecided:
            names = ", ".join(column["name"] for column in session.undecided)
            raise JobError(f"Decide first on: {names}.", fix="choose a role for each.")
        return self._begin(session.run("check"), "risk")

    def set_protection(self, form: Form) -> str:
        """Set the protection, and mask; or add the release to the comparison."""
        session = self.session
        if form.get("next") == "compare":
            session.add_to_comparison()
            return "compare"
        session.set_job(forms.write_form_fields(session.job, form))
        task = "preview" if form.get("next") == "preview" else "mask"
        return self._begin(session.run(task), "protect")

    def compute_map(self, form: Form) -> str:
        """Mask with each k and method, to compare."""
        settings = forms.read_comparison_settings(form)
        return self._begin(self.session.run("choose", **settings), "compare")

    def use_point(self, form: Form) -> str:
        """Set k and method of a point, or the job of a compared release."""
        for place, release in enumerate(self.session.compared):
            if form.get("compared") == str(place):
                self.session.set_job(release["job"])
                return "protect"
        return self.set_protection(form)

    def write_release(self, form: Form) -> str:
        """Write the release."""
        session = self.session
        names = {key: form.get(key, "") for key in ("out", "report", "saved", "keys")}
        session.start.find_new(names["out"])
        session.set_job(forms.write_form_fields(session.job, form))
        return self._begin(session.run("write", **names), "release")

    def set_language(self, form: Form) -> None:
        """Set the language."""
        if form.get("language") in LANGUAGES:
            self.session.language = form["language"]


def _read_number(request: Request, name: str) -> int:
    """Return a number of the address, which counts from 1, as one from 0."""
    written = request.query_params.get(name, "")
    return max(int(written) - 1, 0) if written.isdecimal() and len(written) < 12 else 0


def _go_to(step: str) -> RedirectResponse:
    """Return a redirect to the screen of a step."""
    return RedirectResponse(f"/{step}", 303)
