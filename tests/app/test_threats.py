"""The threats to a page of this machine: a test for each row of docs/app.md."""

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import psutil
import pytest
from serving import CANARY, HOSTILE, serve

pytest.importorskip("starlette", reason="pip install 'aggopt[app]'")


from aggopt.app.server import Page
from aggopt.app.session import PageSession
from aggopt.app.texts import LANGUAGES

FOREIGN = (
    "evil.example",
    "evil.example:8765",
    "127.0.0.1.evil.example",
    "localhost",
    "0.0.0.0:8765",
    "",
)


def list_routes():
    session = PageSession(Path.cwd())
    session.end()
    return [
        (route.path, "POST" if "POST" in route.methods else "GET")
        for route in Page(session, print).list_routes()
    ]


ROUTES = list_routes()
each_route = pytest.mark.parametrize(("path", "method"), ROUTES)


def origin(client):
    return {"Origin": f"http://127.0.0.1:{client.port}"}


# 1 other machines


def test_it_listens_on_this_machine_alone(page):
    process = psutil.Process(page.process.pid)
    sockets = process.net_connections(kind="inet")
    listening = {s.laddr.ip for s in sockets if s.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}
    for addresses in psutil.net_if_addrs().values():
        for address in addresses:
            if address.family == socket.AF_INET and address.address[:4] != "127.":
                with pytest.raises(OSError, match=r"refused|unreachable"):
                    socket.create_connection((address.address, page.port), 5)


# 2 other users of the machine


@each_route
def test_no_route_answers_without_the_cookie(page, path, method):
    wrong = {"Cookie": "aggopt=" + "x" * 32, **origin(page)}
    body = "" if method == "POST" else None
    assert page.send(method, path, body, wrong)[0] == 403


def test_the_token_works_once_and_no_process_shows_it(page):
    assert (
        page.send("GET", f"/?token={page.token}", headers={"Cookie": "a=b"})[0] == 403
    )
    process = psutil.Process(page.process.pid)
    for each in (process, *process.children(recursive=True)):
        assert page.token not in " ".join(each.cmdline())
        assert page.cookie.split("=")[1] not in " ".join(each.cmdline())


@pytest.mark.slow  # seconds: a server, or a process, starts
def test_the_cookie_is_for_this_server_alone_and_no_page_passes_the_token_on(tmp_path):
    with serve(tmp_path) as client:
        _, headers, text = client.send("GET", f"/?token={client.token}")
        assert headers["referrer-policy"] == "no-referrer"
        assert client.token not in text
        assert "HttpOnly" in headers["set-cookie"]
        assert "SameSite=strict" in headers["set-cookie"]


def test_private_files_are_for_their_owner_alone(protected):
    folders = list_private(protected)
    assert folders
    for folder in folders:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        files = list(folder.iterdir())
        assert {stat.S_IMODE(f.stat().st_mode) for f in files} <= {0o600}


def list_private(client):
    return list(client.temporary.glob("aggopt-app-*"))


# 3 DNS rebinding


@each_route
def test_no_route_answers_for_another_host(page, path, method):
    for host in FOREIGN:
        body = "" if method == "POST" else None
        connection = {"Origin": f"http://{host}"}
        assert page.send(method, path, body, connection, host=host or " ")[0] == 421


# 4 requests forged by other pages


@pytest.mark.parametrize("path", [p for p, method in ROUTES if method == "POST"])
def test_no_route_changes_anything_for_another_page(page, path):
    forged = (
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://localhost:{page.port}"},
        {**origin(page), "Sec-Fetch-Site": "cross-site"},
        {**origin(page), "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    )
    for headers in forged:
        assert page.send("POST", path, "k=9", headers)[0] == 403


def test_reading_changes_nothing(page):
    page.choose_roles({"illness": "other"})
    page.choose_roles({"illness": "confidential"})  # two can be undone
    before = page.job(), page.activity()["number"]
    for path, method in ROUTES:
        if method == "GET" and path != "/events":
            page.send("GET", path)
    assert (page.job(), page.activity()["number"]) == before
    page.post("/undo")
    assert page.job() != before[0]
    page.post("/undo")


# 5 WebSocket


@each_route
def test_no_route_is_upgraded(page, path, method):
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version": "13",
    }
    assert page.send("GET", path, headers=upgrade)[0] == 400


# 6 script in names: tests/browser/test_app.py opens all screens in Chromium


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_hostile_name_is_text_on_every_screen(protected, language):
    protected.post("/language", language=language)
    for path, method in ROUTES:
        if method == "GET" and "." not in path and path != "/events":
            assert HOSTILE not in protected.send("GET", path)[2], path
    protected.post("/language", language="en")


# 7 paths


@pytest.fixture
def outside(tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n3,4\n")
    return secret


@pytest.mark.parametrize("field", ["table", "job", "out"])
@pytest.mark.parametrize(
    "name",
    [
        *("../people.csv", "/etc/passwd", "a\0b.csv", "", ".", "sub/../../people.csv"),
        pytest.param("x" * 5000, id="long"),
        pytest.param("x/" * 3000, id="deep"),
    ],
)
def test_no_name_leads_out_of_the_folder(page, field, name):
    path = {"table": "/table", "job": "/open", "out": "/release"}[field]
    number = page.activity()["number"]
    text = page.post(path, **{field: name}, screen="table")
    assert 'role="alert"' in text
    assert page.activity()["number"] == number  # no task began


def test_links_and_pipes_are_refused(page, outside):
    link, pipe = page.folder / "link.csv", page.folder / "pipe.csv"
    inner = page.folder / "inner"
    link.symlink_to(outside)
    inner.symlink_to(outside.parent)
    os.mkfifo(pipe)
    for name in (link.name, pipe.name, "inner/secret.csv"):
        assert 'role="alert"' in page.post("/table", table=name, screen="table")
        assert f"<option>{name}" not in page.get("/table")
    for path in (link, inner, pipe):
        path.unlink()


def test_a_link_that_is_swapped_in_is_refused(page, outside):
    table = page.folder / "people.csv"
    kept = page.folder / "kept.csv"
    table.rename(kept)
    try:
        table.symlink_to(outside)
        assert page.run("/protect", k=2)["status"] == "failed"
        assert "was changed since" in page.get("/protect")
        assert 'id="rows"' not in page.get("/table")
    finally:
        table.unlink()
        kept.rename(table)


def test_the_input_is_not_overwritten(protected):
    before = (protected.folder / "people.csv").read_bytes()
    text = protected.post(
        "/release", out="people.csv", saved="j.toml", screen="release"
    )
    assert "overwrites nothing" in text
    fields = {"out": "new.csv", "saved": "people.csv", "keys": "private"}
    assert protected.run("/release", **fields)["status"] == "failed"
    assert (protected.folder / "people.csv").read_bytes() == before
    assert not (protected.folder / "new.csv").exists()


# 8 traces


@pytest.mark.slow  # seconds: a server, or a process, starts
def test_nothing_is_left_behind_and_no_message_has_a_value(folder, tmp_path):
    table = (folder / "people.csv").read_bytes()
    (tmp_path / "people.csv").write_bytes(table)
    with serve(tmp_path) as client:
        client.enter()
        client.wait("idle")
        client.open("people.csv")
        client.choose_roles({"illness": "confidential"}, then="risk")
        assert client.run("/protect", k=4, method="mdav")["status"] == "done"
        assert CANARY not in client.get("/protect") + client.job()
        (private,) = list_private(client)
        assert client.post("/quit")
        assert client.process.wait(60) == 0
        printed = client.process.stdout.read() + client.process.stderr.read()
        assert not private.exists()
    assert CANARY not in printed
    assert {*tmp_path.iterdir()} == {tmp_path / "people.csv"}


# 9 framing and sniffing


@each_route
def test_every_response_has_the_headers(page, path, method):
    body = "" if method == "POST" else None
    refused = page.send(method, path, body, host="evil.example")[1]
    answers = [refused]
    if method == "GET" and path != "/events":
        answers.append(page.send("GET", path)[1])
    for headers in answers:
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-opener-policy"] == "same-origin"


def test_the_report_has_the_policy_that_it_states(protected):
    _, headers, text = protected.send("GET", "/report")
    policy = headers["content-security-policy"]
    stated, _, framing = policy.rpartition("; ")
    assert f'content="{stated}"' in text
    assert framing == "frame-ancestors 'none'"
    assert "default-src 'none'" in stated
    assert "unsafe" not in stated


# 10 going online

ALONE = """
import fcntl, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:  # the loopback is up
    fcntl.ioctl(s, 0x8914, struct.pack("16sH14s", b"lo", 0x41, b""))
sys.path.insert(0, sys.argv[1])
from serving import serve
with serve(sys.argv[2]) as client:
    client.enter().wait("idle")
    client.open("people.csv")
    client.choose_roles({"illness": "confidential"}, then="risk")
    print(client.run("/protect", k=4, method="mdav")["status"])
"""


@pytest.mark.slow  # seconds: a server, or a process, starts
def test_a_release_needs_no_network(folder):
    unshared = ["unshare", "--user", "--map-root-user", "--net"]
    try:
        subprocess.run([*unshared, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the kernel lets nobody make an empty network namespace")
    tests = str(Path(__file__).parents[1])
    words = [*unshared, sys.executable, "-c", ALONE, tests, str(folder)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.stdout.strip() == "done", ended.stderr


# 11 code in a job


@pytest.mark.parametrize(
    "section",
    [
        '[partition]\nmethod = "own.py:groups"\n',
        '[aggregation]\nmethod = "own.py"\n',
        '[measures]\nown = ["own.py:loss"]\n',
    ],
)
def test_code_that_a_job_names_does_not_run(page, section):
    code = page.folder / "own.py"
    code.write_text("open('ran', 'w')\n")
    roles = '[roles]\nquasi-identifier = ["age", "bmi"]\n[privacy]\nk = 4\n'
    (page.folder / "own.toml").write_text(roles + section)
    before = page.job()
    try:
        assert page.run("/open", job="own.toml")["status"] == "done"
        assert "--trust" in page.get("/roles")
        assert page.job() == roles + section  # it is shown
        assert page.run("/protect", k=4)["status"] == "failed"
        assert not (page.folder / "ran").exists()
    finally:
        while page.job() != before:
            page.post("/undo")
        code.unlink()


def test_a_tree_outside_the_folder_is_refused(page, outside):
    roles = '[roles]\nquasi-identifier = ["illness", "bmi"]\n[privacy]\nk = 4\n'
    text = f'{roles}[attributes.illness]\ntree = "{outside}"\n'
    (page.folder / "tree.toml").write_text(text)
    before = page.job()
    try:
        page.run("/open", job="tree.toml")
        activity = page.run("/protect", k=4)
        assert activity["status"] == "failed"
        assert "leads out of the folder" in activity["problem"]
    finally:
        while page.job() != before:
            page.post("/undo")


# 12 exhaustion


def test_a_large_request_is_refused_before_it_is_read(page):
    large = {**origin(page), "Content-Length": str(10 * 2**20)}
    assert page.send("POST", "/roles", b"x" * 1000, large)[0] == 413


def test_a_large_request_of_unknown_length_is_refused(page):
    chunk = b"%x\r\n" % 2**20 + b"x" * 2**20 + b"\r\n"
    with socket.create_connection(("127.0.0.1", page.port), 60) as connection:
        head = (
            f"POST /roles HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n"
            f"Cookie: {page.cookie}\r\nOrigin: http://127.0.0.1:{page.port}\r\n"
            "Transfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(head.encode() + chunk + chunk[:100])
        assert b" 411 " in connection.recv(200)


@pytest.mark.slow  # seconds: a server, or a process, starts
def test_two_hundred_requests_at_once_are_answered(page):
    with ThreadPoolExecutor(200) as many:
        answers = list(many.map(lambda _: page.send("GET", "/roles")[0], range(200)))
    assert answers == [200] * 200


@pytest.mark.slow  # seconds: a server, or a process, starts
def test_a_killed_process_is_said_and_what_was_set_is_kept(protected):
    job = protected.job()
    children = psutil.Process(protected.process.pid).children()
    (child,) = [c for c in children if "aggopt.app.worker" in " ".join(c.cmdline())]
    before = {*protected.folder.rglob("*")}
    ended = threading.Timer(0.05, os.kill, (child.pid, signal.SIGKILL))
    ended.start()
    protected.post("/compare", k=" ".join(map(str, range(2, 40))), methods="mdav")
    assert protected.wait("died", "done")["status"] == "died"
    assert 'role="alert"' in protected.get("/protect")
    assert protected.job() == job
    assert {*protected.folder.rglob("*")} == before
    assert protected.run("/protect", k=4, method="mdav")["status"] == "done"


def test_one_task_runs_at_a_time(protected):
    many = " ".join(map(str, range(2, 40)))
    protected.post("/compare", k=many, methods="mdav", screen="compare")
    protected.post("/risk", screen="risk")  # it does not begin, now or later
    assert protected.activity()["task"] == "choose"
    protected.post("/cancel")
    assert protected.wait("cancelled", "done")["task"] == "choose"


# 13 a forgotten tab


HOUR = """
from aggopt.app.start import run_page
hours = iter([0.0, 0.0, 3599.0])
nothing = {"print_address": str, "opens_browser": False}
run_page(None, None, print, **nothing, clock=lambda: next(hours, 3600.0))
"""


@pytest.mark.smoke
@pytest.mark.slow  # seconds: a server, or a process, starts
def test_it_ends_after_an_hour_without_a_request(forked, tmp_path):
    import_module("aggopt.app.start")  # tests/touched.py looks at this process
    ended = forked(HOUR, cwd=tmp_path)
    assert "60 minutes" in ended.stdout.splitlines()[-1], ended.stderr


def read_first_event(session):
    """Return what a page shows first, by a loop in a thread of its own."""

    async def read():
        response = await Page(session, print).stream_events(None)
        event = await anext(response.body_iterator)
        return json.loads(event.removeprefix("data: "))

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, read()).result()


def test_it_says_so_five_minutes_before(tmp_path):
    now = [0.0]
    session = PageSession(tmp_path, lambda: now[0])
    now[0] = 3301.0
    assert session.seconds_left == 299.0
    assert read_first_event(session)["ends"] == 5
    session.note_request()
    assert session.seconds_left == 3600.0
    assert read_first_event(session)["ends"] is None
    session.end()
    assert not session.private.exists()
