"""A running page, and requests to it as a browser sends them."""

import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import aggopt

CANARY = "Xylophone-4711"  # a value that must be in no message
HOSTILE = "<script>document.title='broken'</script>"  # the name of a column
LONGEST = 240.0  # seconds that a task may take on a loaded machine


@dataclass
class Client:
    """A browser without a screen: it keeps the cookie and follows redirects."""

    port: int
    token: str
    folder: Path
    temporary: Path | None = None  # where it makes its private folder
    process: subprocess.Popen | None = None
    cookie: str = ""
    headers: dict = field(default_factory=dict)

    def send(self, method, path, body=None, headers=None, host=None):
        """Return status, headers and text of one response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {"Host": host or f"127.0.0.1:{self.port}", **(headers or {})}
        if self.cookie and "Cookie" not in sent:
            sent["Cookie"] = self.cookie
        connection.putrequest(method, path, skip_host=True)
        data = body.encode() if isinstance(body, str) else body
        if data is not None and "Content-Length" not in sent:
            sent["Content-Length"] = str(len(data))
            sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
        for name, value in sent.items():
            connection.putheader(name, value)
        with suppress(BrokenPipeError, ConnectionResetError):  # refused halfway
            connection.endheaders(data)
        answer = connection.getresponse()
        text = answer.read().decode()
        result = answer.status, {k.lower(): v for k, v in answer.getheaders()}, text
        connection.close()
        return result

    def enter(self):
        """Exchange the token for the cookie."""
        status, headers, _ = self.send("GET", f"/?token={self.token}")
        assert status == 200
        self.cookie = headers["set-cookie"].split(";")[0]
        return self

    def get(self, path):
        """Return the text of a page."""
        status, _, text = self.send("GET", path)
        assert status == 200, (path, status, text[:200])
        return text

    def post(self, path, **fields):
        """Send a form, and return the text of the page that it leads to."""
        origin = {"Origin": f"http://127.0.0.1:{self.port}"}
        status, headers, text = self.send("POST", path, urlencode(fields), origin)
        assert status in (200, 303), (path, status, text[:200])
        return self.get(headers["location"]) if status == 303 else text

    def activity(self):
        """Return what the process does now."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/events", headers={"Cookie": self.cookie})
        line = connection.getresponse().readline()
        connection.close()
        return json.loads(line.removeprefix(b"data: "))

    def wait(self, *statuses):
        """Return the activity once the process is in one of these states."""
        begun = time.monotonic()
        while time.monotonic() < begun + LONGEST:
            activity = self.activity()
            if activity["status"] in (statuses or ("done", "idle", "failed")):
                return activity
            time.sleep(0.05)
        raise AssertionError(activity)

    def run(self, path, **fields):
        """Send a form, wait for its task, and return the outcome."""
        before = self.activity()["number"]
        self.post(path, **fields)
        begun = time.monotonic()
        while (activity := self.wait())["number"] <= before:
            assert time.monotonic() < begun + LONGEST, activity
        return activity

    def open(self, table):
        """Open a table."""
        activity = self.run("/table", table=table, screen="table")
        assert activity["status"] == "done", activity
        return self.get("/roles")

    def job(self):
        """Return the text of the job."""
        return self.get("/job.toml")

    def choose_roles(self, roles, then="", **more):
        """Choose roles by the names of columns; the others stay."""
        page = self.get("/roles")
        names = re.findall(r'<tr id="column-(.*?)">', page)
        fields = {"screen": "roles", "next": then, **more}
        for number, row in enumerate(page.split("<tr id=")[1:]):
            chosen = re.search(r'<option value="([^"]*)" selected', row)
            fields[f"role{number}"] = roles.get(names[number], chosen[1])
            kind = re.search(
                rf'name="kind{number}".*?<option value="([^"]*)" sel', row, re.DOTALL
            )
            fields.setdefault(f"kind{number}", kind[1] if kind else "")
            for key in ("format", "order", "tree", "lower"):
                value = re.search(rf'name="{key}{number}" value="([^"]*)"', row)
                if value:
                    fields.setdefault(f"{key}{number}", value[1])
            if re.search(rf'name="rare{number}" value="avoid" checked', row):
                fields.setdefault(f"rare{number}", "avoid")
        policy = re.search(r'name="policy">.*?value="(\w+)" selected', page, re.DOTALL)
        fields.setdefault("policy", policy[1])
        return self.run("/roles", **fields) if then else self.post("/roles", **fields)


@contextmanager
def serve(folder, *words, environment=None) -> Iterator[Client]:
    """Serve the page in a folder, on a free port, for as long as it is needed."""
    root = str(Path(aggopt.__file__).parents[1])
    command = [sys.executable, "-m", "aggopt", "app", "--no-browser", *words]
    known = {**os.environ, "PYTHONPATH": root, **(environment or {})}
    with (
        TemporaryDirectory() as temporary,
        subprocess.Popen(
            command,
            cwd=folder,
            env=known | {"TMPDIR": temporary},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        line = process.stdout.readline() + process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", line)
        if not found:
            process.kill()
            raise AssertionError(line + process.stderr.read())
        try:
            port, place = int(found[1]), Path(temporary)
            yield Client(port, found[2], Path(folder), place, process)
        finally:
            process.terminate()
            process.wait(60)
