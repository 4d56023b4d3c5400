"""The screens in their order: proposals, questions, undo, cancel, comparison."""

import re
import tomllib

import numpy as np
import pandas as pd
import psutil
import pytest
from serving import HOSTILE, serve

pytest.importorskip("starlette", reason="pip install 'aggopt[app]'")

from aggopt.app.server import SUFFIXES
from aggopt.data.formats.registry import list_suffixes


@pytest.mark.smoke
def test_open_questions_must_be_answered(anew):
    page = anew.get("/roles")
    assert "Questions left: 1" in page
    assert "Decide first on: illness." in anew.post(
        "/roles", next="risk", screen="roles", policy="refuse"
    )
    assert "confidential" not in tomllib.loads(anew.job())["roles"]
    assert (
        anew.choose_roles({"illness": "confidential"}, then="risk")["task"] == "check"
    )
    assert tomllib.loads(anew.job())["roles"]["confidential"] == ["illness"]
    assert "unique" in anew.get("/risk")


def test_the_proposal_is_that_of_init_with_its_reasons(anew, tmp_path):
    from aggopt.inspection.draft import propose_job

    draft = propose_job(anew.folder / "people.csv", tmp_path / "job.toml")
    page = anew.get("/roles")
    for proposal in draft.proposed:
        assert str(proposal.look) in page
        reason = proposal.reason[1:].split(";")[0]  # it begins with a capital there
        assert reason.replace("'", "&#39;") in page
    stated = tomllib.loads(draft.text)
    for section, keys in tomllib.loads(anew.job()).items():
        for key, value in keys.items():
            assert stated[section][key] == value


def test_types_of_a_column_are_kept_and_removed(anew):
    roles = {"illness": "quasi-identifier"}
    anew.choose_roles(roles, order4="cold; flu; asthma", kind4="")
    attributes = tomllib.loads(anew.job())["attributes"]
    assert attributes["illness"]["order"] == ["cold", "flu", "asthma"]
    anew.choose_roles({"illness": "confidential"})
    assert "illness" not in tomllib.loads(anew.job())["attributes"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("k", "x"), ("k", ""), ("t", "much"), ("keep", "all"), ("method", "magic")],
)
def test_a_field_acts_or_is_refused(anew, field, value):
    before = anew.job()
    fields = {"k": "5", "screen": "protect", field: value}
    assert 'role="alert"' in anew.post("/protect", **fields)
    assert anew.job() == before


def test_an_obstacle_is_shown_with_its_remedy(anew):
    roles = {"illness": "quasi-identifier"}
    activity = anew.choose_roles(roles, then="risk", order4="cold; flu", kind4="")
    assert activity["status"] == "done"
    page = anew.get("/risk")
    assert "What prevents a release: 1" in page
    assert "illness" in page


def test_undo_and_redo_have_no_end(anew):
    jobs = [anew.job()]
    for k in range(6, 26):
        anew.post("/protect", k=k, screen="protect")
        anew.post("/cancel")
        anew.wait("done", "cancelled", "failed")
        jobs.append(anew.job())
    for job in reversed(jobs[:-1]):
        anew.post("/undo")
        assert anew.job() == job
    for job in jobs[1:]:
        anew.post("/redo")
        assert anew.job() == job


@pytest.mark.slow  # seconds: a server, or a process, starts
def test_a_cancelled_task_leaves_nothing_and_the_next_one_runs(anew):
    anew.choose_roles({"illness": "confidential"})
    before = {*anew.folder.rglob("*")}
    ks = " ".join(map(str, range(2, 40)))
    anew.post("/compare", k=ks, methods="mdav vmdav", screen="compare")
    anew.post("/cancel")
    anew.post("/cancel")
    assert anew.wait("cancelled", "done")["status"] == "cancelled"
    assert {*anew.folder.rglob("*")} == before
    assert anew.run("/protect", k=4, method="mdav")["status"] == "done"


def test_a_search_is_stopped_and_its_best_groups_are_released(anew):
    roles = '[roles]\nidentifier = ["name"]\nquasi-identifier = ["age", "bmi"]\n'
    drop = f"drop = {[HOSTILE, 'illness', 'progression']}\n"
    endless = '[partition]\nmethod = "local_search"\ntime_limit = 300\n'
    text = f"{roles}{drop}[privacy]\nk = 4\n{endless}"
    (anew.folder / "endless.toml").write_text(text)
    anew.run("/open", job="endless.toml")
    anew.post("/protect", screen="protect")
    while not (activity := anew.activity())["search"]:
        assert activity["status"] == "running", activity
    assert "Stop and keep the best so far" in anew.get("/protect")
    anew.post("/stop", screen="protect")
    assert anew.wait("done", "failed", "cancelled")["status"] == "done"
    for screen in ("protect", "release"):
        page = anew.get(f"/{screen}")
        assert "You stopped the search" in page
        assert "stopped at a limit, best point kept" in page
        assert 'class="verdict green"' in page
    assert anew.job() == text
    places = {"out": "stopped.csv", "keys": "stopped", "saved": "stopped.toml"}
    assert anew.run("/release", **places)["status"] == "done"
    released = pd.read_csv(anew.folder / "stopped.csv")
    assert released.value_counts(["age", "bmi"]).min() >= 4


def test_a_job_keeps_what_no_form_shows(anew):
    text = f"""# of our office
[roles]
identifier = ["name"]
quasi-identifier = ["age", "bmi"]
confidential = ["illness"]  # not known to others
other = ["progression", {HOSTILE!r}]

[attributes.age]
cuts = [18, 45, 65]
kind = "ordinal"
cost = {{ node = 0.5 }}

[attributes.illness]
groups = {{ lung = ["asthma", "flu"] }}

[privacy]
k = 3
keys = [["age"], ["bmi"]]
repair = "swap"

[partition]
method = "local_search"
bound = "lagrangian"

[aggregation]
method = "median"
"""
    (anew.folder / "more.toml").write_text(text)
    anew.run("/open", job="more.toml")
    page = anew.get("/roles")
    assert "cuts = [18, 45, 65]" in page
    anew.choose_roles({}, policy="")
    anew.post("/protect", **read_fields(anew.get("/protect")), next="mask")
    anew.wait("done", "failed")
    assert anew.job() == text
    anew.choose_roles({"bmi": "drop"}, policy="")
    assert tomllib.loads(anew.job()) == tomllib.loads(
        text.replace(', "bmi"]\nconf', "]\ndrop = ['bmi']\nconf")
    )


def read_fields(page):
    """Return the fields of the form of a screen, as it shows them."""
    form = page[page.index("<main") :]
    texts = re.findall(r'<input[^>]*name="(\w+)"[^>]*value="([^"]*)"', form)
    lists = re.findall(
        r'<select name="(\w+)">.*?<option value="([^"]*)" selected', form, re.DOTALL
    )
    return dict(texts) | dict(lists)


def test_four_releases_are_side_by_side_and_each_can_be_used(anew):
    anew.choose_roles({"illness": "confidential"})
    for k in (2, 3, 4, 5, 6):
        assert anew.run("/protect", k=k, method="mdav")["status"] == "done"
        text = anew.post("/protect", next="compare")
    shown = re.findall(r'<th scope="row">k = (\d+), mdav', text)
    assert shown == ["3", "4", "5", "6"]
    anew.post("/use", compared=1)
    assert tomllib.loads(anew.job())["privacy"]["k"] == 4


def test_each_screen_of_a_release_names_what_remains_at_risk(protected):
    protected.post("/protect", next="compare")
    risks = re.findall(r'<p class="open">(.*?)</p>', protected.get("/protect"))
    assert risks
    for screen in ("roles", "risk", "protect", "compare", "release"):
        page = protected.get(f"/{screen}")
        assert "What remains at risk" in page
        assert all(risk in page for risk in risks)


def test_a_german_page_has_no_english_sentence(protected):
    protected.post("/protect", next="compare")
    protected.post("/language", language="de")
    for screen in ("table", "roles", "risk", "protect", "compare", "release"):
        page = protected.get(f"/{screen}")
        assert re.findall(r'<span lang="en">(.*?)</span>', page) == []
        assert ("Verteilung von" in page) == (
            screen in ("protect", "compare", "release")
        )
        assert "Distribution of" not in page
        assert not re.search(r"<bdi>(below|[\d.-]+ (to|and))", page)
    protected.post("/language", language="en")


def test_a_page_of_many_columns_is_small_and_shows_each(page):
    names = [f"x{number}" for number in range(120)]
    entries = np.random.default_rng(0).integers(0, 40, (60, 120))
    pd.DataFrame(entries, columns=names).to_csv(page.folder / "wide.csv", index=False)
    page.open("wide.csv")
    seen = []
    for first in (1, 51, 101):
        for screen in ("table", "roles"):
            assert len(page.get(f"/{screen}?column={first}")) <= 150_000
        seen += re.findall(
            r'<tr id="column-(.*?)">', page.get(f"/roles?column={first}")
        )
        assert f'<th scope="col"><bdi>x{first - 1}<' in page.get(
            f"/table?column={first}"
        )
    assert seen == names
    chosen = {"role119": "confidential", "next": "101"}
    following = page.post("/roles", **chosen, screen="roles")
    assert '<tr id="column-x100">' in following
    assert tomllib.loads(page.job())["roles"]["confidential"] == ["x119"]


@pytest.mark.slow  # seconds: a server, or a process, starts
def test_a_point_of_the_map_can_be_used(anew):
    anew.choose_roles({"illness": "confidential"})
    assert anew.run("/compare", k="3 4", methods="mdav")["status"] == "done"
    assert "<svg" in anew.get("/choices")
    assert anew.run("/use", k=4, method="mdav")["status"] == "done"
    job = tomllib.loads(anew.job())
    assert (job["privacy"]["k"], job["partition"]["method"]) == (4, "mdav")


def test_the_private_folder_may_be_the_start_folder_but_needs_a_short_name(protected):
    names = {"out": "beside.csv", "saved": "beside.toml", "screen": "release"}
    refused = protected.run("/release", keys="x" * 5000, **names)
    assert (refused["status"], "too long" in refused["problem"]) == ("failed", True)
    assert not (protected.folder / "beside.csv").exists()
    assert protected.run("/release", keys=".", **names)["status"] == "done"
    assert (protected.folder / "beside.manifest.json").exists()


def test_all_formats_are_listed_and_some_are_released_in_another(page):
    assert {*SUFFIXES} == {*list_suffixes()}
    stats = pytest.importorskip("pyreadstat", reason="pip install 'aggopt[stats]'")
    numbers = np.random.default_rng(0).integers(0, 30, (60, 2))
    table = pd.DataFrame(numbers, columns=["A", "B"])
    stats.write_por(table, str(page.folder / "table.por"))
    assert "<option>table.por" in page.get("/table")
    page.open("table.por")
    assert 'value="table.masked.sav"' in page.get("/release")


def test_a_window_of_rows_is_never_the_table(anew):
    page = anew.get("/table?row=41")
    assert "Rows 41 to 60 of 80" in page
    assert page.count('<tr><th scope="row">') == 20
    assert "Rows 80 to 80 of 80" in anew.get("/table?row=999999")


def test_a_changed_table_is_said(protected):
    table = protected.folder / "people.csv"
    before = table.read_bytes()
    try:
        table.write_bytes(before + b"\n")
        assert "changed since it was opened" in protected.get("/protect")
        activity = protected.run("/protect", k=4)
        assert activity["status"] == "failed"
        assert "was changed since it was opened" in activity["problem"]
    finally:
        table.write_bytes(before)


@pytest.mark.slow  # seconds: a server, or a process, starts
def test_a_table_and_a_job_of_the_command_line_are_opened(folder):
    roles = '[roles]\nidentifier = ["name"]\nquasi-identifier = ["age"]'
    text = f"# my comment\n{roles}\n[privacy]\nk = 3\n"
    (folder / "mine.toml").write_text(text)
    with serve(folder, "people.csv", "mine.toml") as client:
        client.enter()
        while client.wait()["task"] != "read job":
            pass
        assert client.job() == text
        client.run("/protect", k=4)
        assert client.job() == text.replace("k = 3", "k = 4")  # comments stay


@pytest.mark.slow  # seconds: a server, or a process, starts
def test_a_busy_port_takes_the_next_and_ssh_shows_how_to_forward_it(page, tmp_path):
    by_ssh = {"SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22"}
    words = "--port", str(page.port)
    with serve(tmp_path, *words, environment=by_ssh) as client:
        assert client.port > page.port
        printed = client.process.stdout.readline()
    assert f"ssh -L {client.port}:127.0.0.1:{client.port} " in printed


@pytest.mark.slow  # seconds: a server, or a process, starts
def test_the_server_ends_its_process(tmp_path):
    with serve(tmp_path) as client:
        client.enter()
        children = psutil.Process(client.process.pid).children(recursive=True)
        client.post("/quit")
        assert client.process.wait(60) == 0
    assert psutil.wait_procs(children, 60)[1] == []


@pytest.mark.slow  # seconds: a server, or a process, starts
def test_a_table_elsewhere_is_refused(tmp_path, folder):
    outside = serve(tmp_path, str(folder / "people.csv"))
    with pytest.raises(AssertionError, match="outside the folder"), outside:
        pass
