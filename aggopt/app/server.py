"""The routes of the page: GET shows what holds, POST changes it and leads back."""

import json
import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from functools import partial
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
from aggopt.app.job_text import parse_roles, parse_section
from aggopt.app.rows import COLUMNS, RowWindow
from aggopt.app.session import PREVIEW, STEPS, WARNING, PageSession
from aggopt.app.texts import LANGUAGES, Texts
from aggopt.errors import AggoptError

HERE = Path(__file__).parent
REPORT_STYLE = HERE.parent / "release" / "report" / "templates" / "style.css"
BEAT = 2.0  # seconds between messages to a page if nothing changes
SUFFIXES = (  # of tables; `aggopt.data.formats` takes long to import
    *(".csv", ".parquet", ".xlsx", ".sav", ".zsav", ".por", ".dta", ".xpt"),
    *(".sas7bdat", ".rds"),
)
FORM = "application/x-www-form-urlencoded"
FILES = {
    "app.css": (HERE / "static" / "app.css", "text/css"),
    "app.js": (HERE / "static" / "app.js", "text/javascript"),
    "report.css": (REPORT_STYLE, "text/css"),
}
Form = dict[str, str]
Handler = Callable[[Request], Awaitable[Response]]


class Page:
    """The handlers of the routes of one session."""

    def __init__(self, session: PageSession, quit_server: Callable[[], None]) -> None:
        self.session = session
        self.rows = RowWindow()
        self._pages = Environment(
            loader=FileSystemLoader(HERE / "pages"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._changes: dict[str, Callable[[Form], Any]] = {
            "table": self.open_table,
            "open": self.open_job,
            "roles": self.set_roles,
            "risk": lambda form: self._begin("check", "risk"),
            "protect": self.set_protection,
            "compare": self.compute_map,
            "use": self.use_point,
            "release": self.write_release,
            "undo": lambda form: session.history.undo(),
            "redo": lambda form: session.history.redo(),
            "stop": lambda form: session.process.end_search(),
            "cancel": lambda form: session.process.cancel(),
            "language": self.set_language,
            "quit": lambda form: quit_server(),
        }

    def list_routes(self) -> list[Route]:
        """Return the routes."""
        shown: dict[str, Handler] = {
            "": self.show_first,
            **{step: partial(self.show, step) for step in (*STEPS, "quit")},
            "events": self.stream_events,
            "job.toml": self.download_job,
            "report": partial(self.show_private, "report.html"),
            "choices": partial(self.show_private, "choices.html"),
            **{name: partial(self.send_file, name) for name in FILES},
        }
        return [
            *(Route(f"/{name}", handler) for name, handler in shown.items()),
            *(
                Route(f"/{name}", partial(self.change, name), methods=["POST"])
                for name in self._changes
            ),
        ]

    # what GET shows

    async def show_first(self, request: Request) -> Response:
        """Lead to the first screen, or to the second if a table is open."""
        return _go_to("table" if self.session.table is None else "roles")

    async def show(self, step: str, request: Request) -> Response:
        """Show a screen."""
        session = self.session
        if step not in ("table", "quit") and session.table is None:
            return _go_to("table")
        facts: dict[str, Any] = {}
        names = [] if session.table is None else session.table["columns"]
        column = min(_read_number(request, "column"), max(len(names) - 1, 0))
        facts["first_column"] = column - column % COLUMNS
        if step == "table":
            facts["files"] = session.start.list_files(SUFFIXES)
            facts["jobs"] = session.start.list_files((".toml", ".manifest.json"))
            facts["window"] = await self._read_window(request, facts["first_column"])
        return self.render(step, **facts)

    async def _read_window(
        self, request: Request, first_column: int
    ) -> dict[str, Any] | None:
        """Return the rows that a request names; None without a table."""
        session = self.session
        if session.table is None or session.is_changed:
            return None
        row = _read_number(request, "row")
        path = session.start.find_file(session.table["table"])
        text_format = dict(parse_section(session.table["job"], "input"))
        try:
            return await self.rows.read(path, text_format, row, first_column)
        except AggoptError:
            return None

    def render(self, step: str, **facts: Any) -> HTMLResponse:
        """Return a screen, filled with what holds now."""
        session = self.session
        problem, fix = session.message
        session.message = ("", "")
        job = session.job
        names = _name_files(session.table or {"table": "", "released_as": ""})
        page = self._pages.get_template(f"{step}.html").render(
            t=Texts(session.language),
            languages=LANGUAGES,
            step=step,
            steps=STEPS,
            session=session,
            activity=session.process.activity,
            problem=problem,
            fix=fix,
            roles=parse_roles(job),
            parse_section=partial(parse_section, job),
            forms=forms,
            preview=PREVIEW,
            shown_columns=COLUMNS,
            names=names,
            command=_write_command(names),
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
        disposition = {"content-disposition": 'attachment; filename="job.toml"'}
        return Response(
            self.session.job, media_type="application/toml", headers=disposition
        )

    async def show_private(self, name: str, request: Request) -> Response:
        """Show a whole page that a task wrote, with a policy of its own."""
        try:
            text = (self.session.private / name).read_text("utf-8")
        except OSError:
            return PlainTextResponse("There is no such page yet.", 404)
        policy = {"content-security-policy": _read_policy(text)}
        return HTMLResponse(text, headers=policy)

    async def send_file(self, name: str, request: Request) -> Response:
        """Send a file of the package."""
        path, kind = FILES[name]
        return Response(path.read_bytes(), media_type=kind)

    # what POST changes

    async def change(self, name: str, request: Request) -> Response:
        """Change what a form says, and lead to a screen: that of the form, or another.

        An error leads to the screen of the form, which shows it.
        """
        if request.headers.get("content-type", FORM).partition(";")[0] != FORM:
            return PlainTextResponse("A form is expected.", 415)
        form = _read_form(await request.body())
        step = form.get("screen", "")
        try:
            changed = self._changes[name](form)
            if isinstance(changed, Coroutine):
                changed = await changed
            step = changed or step
        except AggoptError as error:
            self.session.message = (error.problem, error.fix)
        if name == "quit":
            return self.render("ended")
        return _go_to(step if step.partition("?")[0] in STEPS else "table")

    def _begin(self, task: str, step: str, **arguments: Any) -> str:
        """Run a task while the page goes on at a step."""
        self.session.process.keep(self.session.run(task, **arguments))
        return step

    def open_table(self, form: Form) -> None:
        """Open a table."""
        session = self.session
        separator = form.get("separator")
        session.start.find_file(form.get("table", ""))
        session.process.keep(
            session.open_table(
                form["table"],
                separator="\t" if separator == "tab" else separator or None,
                decimal=form.get("decimal") or None,
                encoding=form.get("encoding") or "utf-8",
            )
        )

    def open_job(self, form: Form) -> str | None:
        """Open a job or a manifest."""
        session = self.session
        session.start.find_file(form.get("job", ""))
        if session.table is None:
            return None
        session.process.keep(session.open_job(form["job"]))
        return "roles"

    def set_roles(self, form: Form) -> str:
        """Set roles and types; measure the risk if no question is open."""
        session = self.session
        if session.table is None:
            return "table"
        text = forms.write_form_roles(session.job, session.table["columns"], form)
        session.history.set(text)
        following = form.get("next", "")
        if following != "risk":
            return f"roles?column={following}" if following.isdecimal() else "roles"
        if session.undecided:
            names = ", ".join(column["name"] for column in session.undecided)
            session.message = (f"Decide first on: {names}.", "")
            return "roles"
        return self._begin("check", "risk")

    def set_protection(self, form: Form) -> str:
        """Set the protection, and mask; or add the release to the comparison."""
        session = self.session
        if form.get("next") == "compare":
            session.add_to_comparison()
            return "compare"
        session.history.set(forms.apply_protection(session.job, form))
        is_preview = form.get("next") == "preview"
        return self._begin("preview" if is_preview else "mask", "protect")

    def compute_map(self, form: Form) -> str:
        """Mask with each k and method, to compare."""
        return self._begin("choose", "compare", **forms.read_comparison_settings(form))

    def use_point(self, form: Form) -> str:
        """Set k and method of a point, or the job of a compared release."""
        session = self.session
        places = {str(place): each for place, each in enumerate(session.compared)}
        if form.get("compared") in places:
            session.history.set(places[form["compared"]]["job"])
            return "protect"
        session.history.set(forms.apply_protection(session.job, form))
        return self._begin("mask", "protect")

    def write_release(self, form: Form) -> str:
        """Write the release."""
        names = {name: form.get(name, "") for name in ("out", "report", "saved")}
        session = self.session
        session.start.find_new(names["out"])
        session.set_output(forms.apply_output(session.job, form))
        return self._begin("write", "release", keys=form.get("keys") or ".", **names)

    def set_language(self, form: Form) -> None:
        """Set the language."""
        if form.get("language") in LANGUAGES:
            self.session.language = form["language"]


def _read_form(body: bytes) -> Form:
    """Return the fields of a form; what is no form has none."""
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20_000)
    except ValueError:
        return {}
    return dict(fields)


def _read_number(request: Request, name: str) -> int:
    """Return a number of the address, which counts from 1, as one from 0."""
    written = request.query_params.get(name, "")
    return max(int(written) - 1, 0) if written.isdecimal() and len(written) < 12 else 0


def _go_to(step: str) -> RedirectResponse:
    return RedirectResponse(f"/{step}", 303)


def _name_files(table: Mapping[str, Any]) -> dict[str, str]:
    """Return the proposed names of the files of a release, by purpose."""
    stem = Path(table["table"]).stem
    return {
        "table": table["table"],
        "saved": f"{stem}.job.toml",
        "out": f"{stem}.masked{table['released_as']}",
        "keys": f"{stem}.private",
        "report": f"{stem}.report.html",
    }


def _write_command(names: dict[str, str]) -> str:
    """Return the command that makes a release without the page."""
    words = ["aggopt", "mask", names["table"], names["saved"], "--out", names["out"]]
    return shlex.join([*words, "--private", names["keys"], "--report", names["report"]])


def _read_policy(page: str) -> str:
    """Return the policy that a whole page states for its own style and script."""
    stated = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    return POLICY if stated is None else f"{stated[1]}; frame-ancestors 'none'"


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
