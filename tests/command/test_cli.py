"""The command, as a user runs it: what it prints, leaves behind and returns."""

import ctypes
import json
import re
import runpy
import signal
import sys
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pytest
import typer
from tables import ROLES_AND_K, people, put_partitioner, smallest

from aggopt import __version__
from aggopt import job as job_module
from aggopt.command import cli, show
from aggopt.command.common_options import VARIABLES
from aggopt.pipeline.finish import evaluate
from aggopt.pipeline.partition import partition_table as partition_step
from aggopt.release import release as release_module
from aggopt.release.files import staging
from aggopt.solvers import SOLVERS

JOB = f"""{ROLES_AND_K}[aggregation]
method = "p3m"
"""
UNO = f'{JOB}solver = "uno"\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table and a job, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


# loads little, which counts in a process of its own
MEANS = JOB.split("[aggregation]")[0] + '[partition]\nmethod = "mdav"\n'


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
GIVEN = {"people.csv", "job.toml"}
MASK = ("mask", "people.csv", "job.toml", "--out", "masked.csv")


@pytest.mark.smoke
def test_mask_writes_an_audited_release(here, aggopt):
    (here / "job.toml").write_text(UNO)
    code, out, err = aggopt(*MASK)
    assert (code, err) == (0, "")
    assert "k = 4 holds on the masked attributes, but " in out
    assert "cvxpy:uno" in out
    assert smallest(pd.read_csv("masked.csv")) >= 4
    names = {path.name for path in here.iterdir()}
    assert names == {
        "people.csv",
        "job.toml",
        "masked.csv",
        "masked.manifest.json",
        "masked.private.csv",
    }


def test_mask_as_json(here, aggopt):
    (here / "job.toml").write_text(UNO)
    code, out, _ = aggopt(*MASK, "--json")
    stated = json.loads(out)
    assert code == 0
    assert stated["files"]["table"] == "masked.csv"
    assert stated["audit"]["smallest"] >= 4
    assert stated["certificates"]["income"]["bound"] is None


def test_assess_finds_what_mask_measured(here, aggopt):
    _, out, _ = aggopt(*MASK, "--json")
    masked = json.loads(out)["measures"]
    code, out, _ = aggopt("assess", "people.csv", "masked.csv", "job.toml", "--json")
    again = json.loads(out)
    assert code == 0
    assert again["audit"]["holds"] is True
    for measure in ("il", "dld", "sdid", "pil", "sl"):
        assert again["measures"][measure] == pytest.approx(masked[measure])


def test_assess_prints_for_people(here, aggopt):
    aggopt(*MASK)
    code, out, _ = aggopt("assess", "people.csv", "masked.csv", "job.toml")
    assert code == 0
    assert "k = 4 holds" in out
    assert "PIL" in out


def test_risk_that_people_know_is_printed_first(here, aggopt):
    aggopt(*MASK)
    _, out, _ = aggopt(*ASSESS)
    figures = ("highest risk", "average risk", "re-identified", "linkage", "DLD")
    figures = (*figures, "SDID", "IL ", "DR", "PIL", "SI ", "SL")
    places = [out.index(f"\n  {figure}") for figure in figures]
    assert places == sorted(places)


def test_assess_of_an_unmasked_table_says_that_the_promise_fails(here, aggopt):
    people().drop(columns="name").to_csv("copy.csv", index=False)
    words = ("assess", "people.csv", "copy.csv", "job.toml", "--same-order")
    code, out, _ = aggopt(*words)
    assert code == 1
    assert "k = 4 DOES NOT HOLD" in out
    code, out, _ = aggopt(*words, "--json")
    assert code == 1
    assert json.loads(out)["measures"]["dld"] == 1


def test_assess_reports_an_identifier_that_is_left(here, aggopt):
    people().assign(age=1, income=2.0).to_csv("copy.csv", index=False)
    code, out, _ = aggopt(
        "assess", "people.csv", "copy.csv", "job.toml", "--same-order", "--json"
    )
    assert code == 1
    assert json.loads(out)["audit"]["identifiers"] == ["name"]


def test_assess_without_the_key_cannot_tell_who_is_who(here, aggopt):
    aggopt(*MASK)
    (here / "masked.private.csv").unlink()
    code, _, err = aggopt("assess", "people.csv", "masked.csv", "job.toml")
    assert code == 2
    assert "--same-order" in err


def test_repeat_gives_the_same_bytes_or_nothing(here, aggopt):
    aggopt(*MASK)
    words = ("repeat", "masked.manifest.json", "people.csv", "--out", "again.csv")
    code, out, _ = aggopt(*words)
    assert code == 0
    assert "again.private.csv" in out
    assert (here / "again.csv").read_bytes() == (here / "masked.csv").read_bytes()
    people(seed=1).to_csv("people.csv", index=False)
    code, _, err = aggopt(*words, "--overwrite")
    assert code == 2
    assert "The table is not the one that masked.manifest.json describes" in err


def test_manifest_and_key_in_a_folder_of_their_own(here, aggopt):
    (here / "keep").mkdir()
    private = ("--private", "keep")
    code, out, _ = aggopt(*MASK, *private)
    assert code == 0
    assert "keep/masked.private.csv" in out
    assert not (here / "masked.private.csv").exists()
    assert aggopt(*ASSESS, *private)[0] == 0
    assert aggopt(*ASSESS)[0] == 2


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("masked.private.csv", "group,released_record\n0,0\n", "is not the file that"),
        ("masked.private.csv", "nonsense", "is not the file that"),
        ("masked.manifest.json", '{"output": {"sha256": "0"}}', "is not the file that"),
        ("masked.manifest.json", "nonsense", "is not the file that"),
    ],
)
def test_assess_refuses_files_that_do_not_belong_together(
    here, aggopt, name, text, message
):
    aggopt(*MASK)
    (here / name).write_text(text)
    code, _, err = aggopt("assess", "people.csv", "masked.csv", "job.toml")
    assert code == 2
    assert message in err


def test_assess_refuses_another_original(here, aggopt):
    aggopt(*MASK)
    people().iloc[::-1].to_csv("people.csv", index=False)
    code, _, err = aggopt("assess", "people.csv", "masked.csv", "job.toml")
    assert code == 2
    assert "people.csv is not the file that masked.manifest.json describes" in err


def test_assess_refuses_a_key_that_does_not_fit_without_a_manifest(here, aggopt):
    aggopt(*MASK)
    (here / "masked.manifest.json").unlink()
    (here / "masked.private.csv").write_text("group,released_record\n0,0\n")
    code, _, err = aggopt("assess", "people.csv", "masked.csv", "job.toml")
    assert code == 2
    assert "is not the key of these two tables" in err


def test_assess_refuses_tables_of_different_length(here, aggopt):
    people(7).to_csv("other.csv", index=False)
    code, _, err = aggopt("assess", "people.csv", "other.csv", "job.toml")
    assert code == 2
    assert "40 records and other.csv 7" in err


def test_a_broken_promise_has_exit_code_1_and_writes_nothing(here, aggopt, monkeypatch):
    def alone(X, k, **_):
        return X[:, 0].argsort()

    put_partitioner(monkeypatch, "local_search", alone)
    code, _, err = aggopt(*MASK[:3], "--out", "m.csv")
    assert code == 1
    assert "k = 4 was promised" in err
    assert not (here / "m.csv").exists()


BLOCKS = JOB.replace("k = 4", 'k = 4\nscope = "blocks"').replace(
    "[aggregation]", '[partition]\nmethod = "individual_ranking"\n[aggregation]'
)
ASSESS = ("assess", "people.csv", "masked.csv", "job.toml")


def test_blocks_are_shown_with_what_they_leave_open(here, aggopt):
    (here / "job.toml").write_text(BLOCKS)
    code, out, err = aggopt(*MASK)
    assert (code, err) == (0, "")
    rare = pd.read_csv("masked.csv").groupby(["age", "income"]).size()
    alone = int((rare == 1).sum())
    warning = "WARNING: NOT 4-anonymous on the combination of all 2 quasi-identifiers"
    assert (
        "k = 4 holds on the masked attributes, in each of 2 blocks of attributes, but "
        in out
    )
    assert out.count("NOT 4-anonymous") == 1
    assert warning in out.splitlines()[1]
    assert (
        f"{alone} of 40 records are unique; all 40 are in groups smaller than 4" in out
    )
    assert "\ngroups of age " in out
    assert "\ngroups of income " in out
    code, out, _ = aggopt(*ASSESS)
    assert code == 0
    assert warning in out.splitlines()[1]
    risks = out.split("Risk (lower is better)")[1].split("Both")[0]
    assert f"records unique with their combination ({alone})" in risks
    columns = ["age", "income", "note", "illness"]
    for size, known in ((3, "other"), (4, "confidential")):
        both = pd.read_csv("masked.csv")[columns[:size]]
        alone = int((both.value_counts() == 1).sum())
        assert f"records unique, {known} columns known too ({alone})" in risks
    assert "DLD" in risks


def test_blocks_as_json(here, aggopt):
    (here / "job.toml").write_text(BLOCKS)
    code, out, _ = aggopt(*MASK, "--json")
    stated = json.loads(out)
    assert code == 0
    assert [part["attributes"] for part in stated["partition"]] == [["age"], ["income"]]
    assert stated["partition"][0]["certificate"]["bound"] >= 0
    code, out, _ = aggopt(*ASSESS, "--json")
    audit = json.loads(out)["audit"]
    assert code == 0
    assert audit == stated["audit"]
    assert (audit["scope"], audit["holds"]) == ("blocks", True)
    assert audit["combination"] < 4 <= audit["smallest"]
    assert audit["unique"] > 0


def test_blocks_that_promise_the_combination_have_exit_code_2(here, aggopt):
    (here / "job.toml").write_text(BLOCKS.replace('scope = "blocks"', ""))
    code, out, err = aggopt(*MASK)
    assert (code, out) == (2, "")
    assert "not for the combination of all of them, which the job promises" in err
    assert not (here / "masked.csv").exists()


def test_a_broken_promise_of_a_block_has_exit_code_1(here, aggopt, monkeypatch):
    (here / "job.toml").write_text(
        BLOCKS.replace("individual_ranking", "cbfs").replace(
            "[aggregation]", 'attributes = "one by one"\n[aggregation]'
        )
    )
    put_partitioner(monkeypatch, "cbfs", lambda X, k, **_: X[:, 0].argsort())
    code, _, err = aggopt(*MASK)
    assert code == 1
    assert "of the block 'age' stands in" in err
    assert not list(here.glob("masked*"))


def test_assess_says_that_a_broken_block_fails(here, aggopt):
    (here / "job.toml").write_text(BLOCKS)
    people().drop(columns="name").assign(age=1).to_csv("masked.csv", index=False)
    code, out, _ = aggopt(*ASSESS, "--same-order")
    assert code == 1
    assert "k = 4 DOES NOT HOLD on the masked attributes, in each of 2 blocks" in out


REFUSED = {
    ("mask", "none.csv", "job.toml", "--out", "m.csv"): "There is no file none.csv",
    ("mask", "people.csv", "none.toml", "--out", "m.csv"): "none.toml cannot be read",
    ("mask", "people.csv", "job.toml", "--out", "m.txt"): "ends in none of .csv",
    ("mask", "people.csv", "job.toml", "--out", "no/m.csv"): "no folder no",
    ("mask", "people.csv", "job.toml", "--out", "people.csv"): "over the input itself",
    ("mask", "people.csv", "none.toml", "--out", "people.csv"): "none.toml cannot be",
    (
        "mask", "people.csv", "job.toml", "--out", "people.csv", "--overwrite"
    ): "would be written over the input itself",
    ("init", "people.csv", "--out", "n.toml", "--separator", ";;"): "separator is ';;'",
    ("init", "none.csv", "--out", "n.toml"): "There is no file none.csv",
    ("init", "people.csv"): "job.toml would be overwritten",
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_bad_input_has_exit_code_2_and_a_way_out(here, aggopt, words):
    before = (here / "people.csv").read_bytes()
    code, out, err = aggopt(*words)
    assert (code, out) == (2, "")
    assert REFUSED[words] in err
    assert "To fix:" in err
    assert (here / "people.csv").read_bytes() == before


def test_init_by_another_separator_is_told_the_option_that_it_has(here, aggopt):
    (here / "de.csv").write_text("a;b\n1;2\n")
    code, _, err = aggopt("init", "de.csv", "--out", "n.toml", "--separator", ",")
    assert code == 2
    assert "--separator ';' of `aggopt init`" in " ".join(err.split())


def test_refusals_as_json(here, aggopt):
    code, out, _ = aggopt("assess", "none.csv", "x.csv", "job.toml", "--json")
    assert code == 2
    assert json.loads(out) == {
        "error": "There is no file none.csv.",
        "fix": "check the path.",
        "exit": 2,
    }


def test_an_edited_template_is_a_job(here, aggopt):
    aggopt("init", "people.csv", "--out", "new.toml")
    text = (here / "new.toml").read_text()
    for role, column in {"confidential": "illness", "other": "note"}.items():
        text = re.sub(rf'^    "{column}",.*\n', "", text, flags=re.MULTILINE)
        text = text.replace(f"\n{role} = []", f'\n{role} = ["{column}"]')
    text = text.replace("quasi-identifier = [", 'quasi-identifier = ["income",')
    (here / "new.toml").write_text(text)
    assert job_module.Job.read("new.toml").privacy.k == 5
    assert aggopt("mask", "people.csv", "new.toml", "--out", "m.csv")[0] == 0


def test_individual_ranking_stands_ready_in_the_template(here, aggopt):
    aggopt("init", "people.csv", "--out", "new.toml")
    text = (here / "new.toml").read_text()
    assert 'With individual_ranking, delete the line "attributes"' in text
    ways = ("# cost = ", "# centroids = ")
    ready = "\n".join(line[2:] for line in text.splitlines() if line.startswith(ways))
    ready += '\nmethod = "individual_ranking"\nsolver = "dynamic"\n'
    (here / "job.toml").write_text(
        BLOCKS.split("[partition]")[0] + "[partition]\n" + ready
    )
    partition = job_module.Job.read("job.toml").partition
    assert (partition.cost, partition.centroids) == ("sse", "any")
    assert aggopt(*MASK)[0] == 0


def test_solvers_says_what_is_here_and_how_to_get_the_rest(aggopt):
    code, out, _ = aggopt("solvers", "--json")
    table = json.loads(out)
    assert code == 0
    assert table["cvxpy:uno"]["installed"] is True
    assert table["cvxpy:uno"]["takes"] == ["NLP"]
    assert "coinor-libipopt-dev" in table["cvxpy:ipopt"]["install"]
    code, out, _ = aggopt("solvers")
    for name, solver in SOLVERS.items():
        assert f"{name}: {solver.when}." in out.splitlines()
        assert table[name]["when"] == solver.when


def test_solvers_says_the_version_of_each_package(aggopt):
    table = json.loads(aggopt("solvers", "--json")[1])
    _, out, _ = aggopt("solvers")
    for name in ("cvxpy:highs", "pyomo:highs"):
        assert table[name]["versions"] == {"highspy": version("highspy")}
        assert f"{name}: highspy {version('highspy')}" in out.splitlines()
    assert table["procrustes"]["versions"] == {}


def test_the_version_is_that_of_the_package(aggopt):
    assert aggopt("--version") == (0, f"aggopt {version('aggopt')}\n", "")
    assert __version__ == version("aggopt")


def test_a_misspelt_variable_is_named_with_the_nearest(aggopt, monkeypatch):
    monkeypatch.setenv("AGGOPT_DAAT", "x")
    code, out, err = aggopt("solvers", "--json")
    assert code == 0
    assert json.loads(out)
    assert "the variable AGGOPT_DAAT. Did you mean AGGOPT_DATA?" in err
    assert aggopt("solvers", "--quiet") == (0, "", "")


def test_every_variable_that_is_read_is_known():
    files = [*Path(cli.__file__).parents[1].rglob("*.py")]
    files += Path(__file__).parents[1].rglob("*.py")
    read = {
        name
        for file in files
        for name in re.findall(r'environ[^\n]*"(AGGOPT_\w+)"', file.read_text("utf-8"))
    }
    assert {"AGGOPT_DATA", "AGGOPT_REQUIRE_IPOPT"} <= read <= VARIABLES.keys()


def test_demo_masks_patients_and_leaves_three_files_and_a_picture(here, aggopt):
    code, out, _ = aggopt("demo", "--folder", "shown")
    assert code == 0
    assert "k = 5 holds on the masked attributes: 442 records" in out
    assert smallest(pd.read_csv("shown/patients.csv"), ("age", "sex", "bmi", "bp")) >= 5
    assert (here / "shown/original-against-masked.png").read_bytes()[:4] == b"\x89PNG"
    assert (here / "shown/patients.manifest.json").exists()
    rows = [
        re.split("  +", line)
        for line in out.split("before and after\n")[1].splitlines()[1:]
    ]
    assert [row[1] for row in rows[:5]] == ["100.00"] * 2 + ["442"] + ["100.00"] * 2
    assert rows[0][0] == "highest re-identification risk (1 / smallest group)"
    assert rows[0][2:] == ["20.00", "20.00"]
    assert rows[2][0] == "expected re-identifications, records"
    assert rows[1][3] == rows[3][3] == f"{100 * int(rows[2][3]) / 442:.2f}"


def test_a_defect_shows_its_place_and_not_its_message(here, aggopt, monkeypatch):
    def defect(*_, **__):
        raise KeyError("Ms Secret")

    monkeypatch.setattr(evaluate, "audit_release", defect)
    code, out, err = aggopt(*MASK)
    assert code == 5
    assert "Ms Secret" not in out + err
    assert "KeyError at test_cli.py" in err


def test_usage_errors_have_exit_code_2_and_can_be_json(aggopt):
    code, out, err = aggopt("mask", "people.csv")
    assert (code, out) == (2, "")
    assert "Missing argument" in err
    code, out, _ = aggopt("mask", "people.csv", "--json")
    assert code == 2
    assert "Missing argument" in json.loads(out)["error"]


@pytest.mark.parametrize(
    ("words", "order"),
    [
        (("mask", "job.toml", "people.csv", "--out", "m.csv"), "mask TABLE JOB"),
        (("assess", "job.toml", "m.csv", "people.csv"), "assess TABLE MASKED JOB"),
        (("compare-solvers", "job.toml", "PEOPLE.CSV"), "compare-solvers TABLE JOB"),
        (("sweep", "job.toml", "people.csv", "--alpha", "0.5"), "sweep TABLE JOB"),
    ],
)
def test_a_table_in_the_place_of_the_job_is_refused_with_their_order(
    here, aggopt, words, order
):
    code, _, err = aggopt(*words)
    assert code == 2
    assert "stands where the job is expected" in err
    assert f"write them in this order: aggopt {order}." in err
    assert {path.name for path in here.iterdir()} == GIVEN


def test_an_interrupt_has_exit_code_130(here, aggopt, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    put_partitioner(monkeypatch, "local_search", interrupted)
    code, _, err = aggopt(*MASK)
    assert code == 130
    assert "Interrupted" in err
    assert not list(here.glob(".*"))


def lost() -> None:
    """Press Ctrl-C where what is raised within is printed and forgotten."""
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (partition_step, "partition_blocks"),
        (release_module, "compute_sha256"),
        (staging.Staging, "write"),
    ],
)
def test_an_interrupt_that_is_lost_on_the_way_is_heard(
    here, aggopt, monkeypatch, module, name
):
    real, forgotten = getattr(module, name), []

    def press(*given, **named):
        if not forgotten:
            lost()
        return real(*given, **named)

    (here / "job.toml").write_text(MEANS)
    monkeypatch.setattr(module, name, press)
    monkeypatch.setattr(sys, "unraisablehook", forgotten.append)
    code, _, err = aggopt(*MASK)
    assert code == 130
    assert [each.exc_type for each in forgotten] == [KeyboardInterrupt]
    assert "Interrupted.\n" in err
    assert "no release was written" in err
    assert {path.name for path in here.iterdir()} == GIVEN


LOST_TWICE = """
import ctypes, signal, sys
from aggopt.command import cli
from aggopt.release.files import staging

def press(*_):
    for _ in range(2):
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()

staging.Staging.write = press
sys.argv = ["aggopt", *{words!r}]
cli.run_app()
"""


def test_the_second_of_two_that_are_lost_ends_at_once(here, forked):
    (here / "job.toml").write_text(MEANS)
    found = forked(LOST_TWICE.format(words=MASK))
    assert found.returncode == 130
    assert "Exception ignored on calling ctypes callback" in found.stderr
    assert "Interrupted twice" in found.stderr
    assert "no release was written" in found.stderr
    assert {path.name for path in here.iterdir()} == GIVEN


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((*MASK[:-1], "x" * 250 + ".csv"), "cannot be written: File name too long"),
        (("demo", "--folder", "people.csv/x"), "cannot be made: Not a directory"),
        (("demo", "--folder", "x" * 300), "cannot be made: File name too long"),
        (("assess", "x" * 300 + ".csv", "m.csv", "job.toml"), "File name too long"),
    ],
)
def test_places_that_cannot_be_are_refused_in_words(here, aggopt, words, says):
    code, _, err = aggopt(*words)
    assert code == 3
    assert says in err
    assert "look there" not in err
    assert {path.name for path in here.iterdir()} == GIVEN


FILES = {"masked.csv", "masked.manifest.json", "masked.private.csv"}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "place",
    [(staging, "_rename_file"), (staging, "_sync_folder"), (show, "print_release")],
)
def test_an_interrupt_of_what_is_written_does_not_say_that_it_is_not(
    here, aggopt, monkeypatch, place, number
):
    step = getattr(*place)

    def interrupted(*args, **how):
        signal.raise_signal(number)
        step(*args, **how)

    monkeypatch.setattr(*place, interrupted)
    code, out, err = aggopt(*MASK)
    assert (code, err) == (0, "")
    assert "k = 4 holds on the masked attributes, but " in out
    assert {path.name for path in here.iterdir()} == FILES | GIVEN
    signal.raise_signal(number)  # as it might while the interpreter shuts down


@pytest.mark.parametrize("number", SIGNALS)
def test_signals_that_the_caller_ignores_stay_ignored(
    here, aggopt, monkeypatch, number
):
    monkeypatch.setattr(show, "print_release", lambda *_: signal.raise_signal(number))
    signal.signal(number, signal.SIG_IGN)
    monkeypatch.setattr(sys, "argv", ["aggopt", *MASK])
    with pytest.raises(SystemExit) as ended:
        cli.run_app()
    assert ended.value.code == 0
    assert signal.getsignal(number) is signal.SIG_IGN


ENDED = """
import hashlib, os, signal, sys, threading
from functools import partial
from aggopt.command import cli
from aggopt.pipeline.partition import partition_table as partition_step

def partition_blocks(*_, **__):
    told = os.getpid(), signal.{name}
    threading.Timer(0.1, os.kill, told).start()
    {work}

cli.monitor_signals = partial(cli.monitor_signals, grace=0.2)
partition_step.partition_blocks = partition_blocks
sys.argv = ["aggopt", *{words!r}]
cli.run_app()
"""
# does not return to Python, as solvers' libraries do not
DEAF = "hashlib.pbkdf2_hmac('sha256', b'', b'', 10**8)"


@pytest.mark.parametrize(
    ("number", "work"),
    [
        (signal.SIGTERM, "while True: pass"),
        pytest.param(signal.SIGTERM, DEAF, marks=pytest.mark.slow),
        (signal.SIGHUP, DEAF),
        (signal.SIGINT, DEAF),
    ],
)
def test_who_is_told_to_end_ends_and_leaves_nothing(here, forked, number, work):
    found = forked(ENDED.format(name=number.name, work=work, words=MASK))
    assert (found.returncode, found.stdout) == (128 + number, "")
    message = {
        (signal.SIGINT, DEAF): "Interrupted: ended at once, no release was written.\n",
        (signal.SIGTERM, "while True: pass"): (
            "Error: Ended by SIGTERM.\nTo fix: run it again; no release was written.\n"
        ),
    }
    assert found.stderr == message.get((number, work), "")
    assert {path.name for path in here.iterdir()} == GIVEN


def test_an_interrupt_of_what_cannot_be_written_says_so(here, aggopt, monkeypatch):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(staging, "_sync_folder", interrupted)
    code, _, err = aggopt(*MASK)
    assert code == 130
    assert "no release was written" in err
    assert {path.name for path in here.iterdir()} == GIVEN


def test_what_certificates_of_categories_count_is_said(here, aggopt):
    people().assign(income=["low", "high"] * 20).to_csv("people.csv", index=False)
    wish = '[aggregation.categories]\nmethod = "wish"\nbudget = 1.5\nslack = 9\n'
    (here / "job.toml").write_text(JOB + wish)
    code, out, _ = aggopt(*MASK)
    assert code == 0
    assert "Of categories: importance of records nearer than they ask, and what" in out


def test_names_that_look_like_markup_are_shown_as_they_are(here, aggopt):
    people().rename(columns={"age": "[bold]", "income": "[/x]"}).to_csv(
        "people.csv", index=False
    )
    text = JOB.replace('"age", "income"', '"[bold]", "[/x]"')
    (here / "job.toml").write_text(text)
    code, out, _ = aggopt(*MASK)
    assert code == 0
    assert "[bold]" in out
    assert "[/x]" in out


def test_the_disk_refusing_is_not_a_defect(here, aggopt, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(release_module, "write_table", full)
    code, _, err = aggopt(*MASK)
    assert code == 3
    assert "masked.csv cannot be written: No space left on device" in err
    assert {p.name for p in here.iterdir()} == {"people.csv", "job.toml"}


def test_a_reader_that_stops_reading_does_not_turn_success_into_failure(here, forked):
    (here / "job.toml").write_text(MEANS)
    code = f'import sys\nsys.argv = ["aggopt", *{MASK!r}]\n{MAIN}'
    ended = forked(code, read=False)
    assert ended.returncode == 0, ended.stderr
    assert (here / "masked.csv").exists()


MAIN = "from aggopt.command.cli import run_app\nrun_app()"


def test_demo_overwrites_nothing_unasked(here, aggopt):
    (here / "shown").mkdir()
    (here / "shown" / "patients.csv").write_text("mine")
    code, _, err = aggopt("demo", "--folder", "shown")
    assert code == 2
    assert "patients.csv would be overwritten" in err
    assert (here / "shown" / "patients.csv").read_text() == "mine"


@pytest.mark.parametrize("words", [("--help",), ("mask", "--help")])
def test_help_teaches(aggopt, words):
    code, out, _ = aggopt(*words)
    assert code == 0
    assert "aggopt init" in out or "manifest" in out


COMMANDS = typer.main.get_command(cli.app).commands


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_has_no_markup_to_swallow_and_no_type_for_a_default(name):
    command = COMMANDS[name]
    said = [command.help, *(getattr(each, "help", None) for each in command.params)]
    assert not any(re.search(r"\[[a-z]+\]", text) for text in said if text)
    made = [each for each in command.params if callable(each.default)]
    assert not any(each.show_default for each in made)


def test_the_package_runs_as_the_command(here, monkeypatch, capsys):
    words = ["aggopt", "assess", "none.csv", "x.csv", "job.toml"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("aggopt", run_name="__main__")
    assert ended.value.code == 2
    assert "There is no file none.csv." in capsys.readouterr().err
