"""Grids: every row is what a release says, groups are made once, cells are kept."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from inspect import getsource
from pathlib import Path
from types import ModuleType

import cvxpy as cp
import numpy as np
import psutil
import pytest
from refusals import refused
from tables import ROLES, job, people, put_partitioner, wide

from aggopt import experiment, mask
from aggopt.core.randomness import derive_secret
from aggopt.errors import (
    AggoptError,
    JobError,
    TableError,
    TimeLimitError,
    UntrustedCodeError,
)
from aggopt.experiments import _cache, grid_run
from aggopt.experiments._cell import limit_aggregation, run_within
from aggopt.experiments.grid import _make_columns, list_cells
from aggopt.partition import Partition, mdav
from aggopt.solvers import Certificate, Status

FRAME = people(24)
P3M = {"method": "p3m", "solver": "lagrangian"}
GRID = {"k": [3, 5], "partition": ["mdav", "cbfs"]}


def found(grid=GRID, tables=FRAME, **how):
    return experiment(tables, grid, **{"roles": ROLES, **how})


def timeless(rows):
    return [{n: v for n, v in row.items() if "seconds" not in n} for row in rows]


def test_a_row_says_what_the_release_says():
    grid = {"k": 3, "aggregation": [P3M, "mean"], "partition": "mdav"}
    rows = iter(found(grid, seeds=[7]))
    for how in (P3M, {"method": "mean"}):
        release = mask(FRAME, job(aggregation=how), secret=derive_secret(7))
        measures = release.measures.to_dict()
        for name, certificate in release.certificates.items():
            row = next(rows)
            assert (row["attribute"], row["seed"], row["error"]) == (name, 7, None)
            assert row["aggregation"] == how["method"]
            for part in ("objective", "bound", "gap", "violation", "solver", "status"):
                assert row[part] == certificate.to_dict()[part]
            grouped = release.blocks[0]
            assert row["groups"] == grouped.groups
            assert row["groups.objective"] == grouped.certificate.objective
            assert row["groups.bound"] == grouped.certificate.bound
            assert row["smallest"] == release.audit.smallest
            for part in ("linkage", "pil", "sl", "il", "n"):
                assert row[part] == measures[part]
            assert row["pil_means"] == measures["pil_parts"]["means"]
    assert next(rows, None) is None


def test_each_row_has_the_groups_of_its_own_attribute():
    roles = {"quasi-identifier": ["age", "height", "weight", "income", "debt"]}
    roles["confidential"] = ["illness"]
    blocks = [["height", "weight"], ["age", "income", "debt"]]
    grid = {
        "privacy": {"k": 3, "scope": "blocks"},
        "partition": {"method": "mdav", "attributes": blocks},
    }
    rows = {row["attribute"]: row for row in found(grid, wide(30), roles=roles)}
    assert list(rows) == roles["quasi-identifier"]
    lost = {name: row["groups.objective"] for name, row in rows.items()}
    assert lost["height"] == lost["weight"] != lost["age"] == lost["debt"]


def test_cells_stand_in_the_order_of_the_grid():
    grid = {**GRID, "aggregation": ["mean", "median"]}
    rows = found(grid, {"b": FRAME, "a": people(20, 1)}).rows
    cells = dict.fromkeys(
        (r["table"], r["k"], r["partition"], r["aggregation"]) for r in rows
    )
    assert list(cells) == [
        (table, k, split, how)
        for table in ("b", "a")
        for k in (3, 5)
        for split in ("mdav", "cbfs")
        for how in ("mean", "median")
    ]


def test_settings_of_which_several_are_listed_are_columns():
    grid = {
        "k": 3,
        "partition": {"method": "mdav", "weights": "range"},
        "aggregation": [P3M, {"method": "mean", "keep": "mean"}],
        "output": [{"digits": np.int64(3)}, {"decimals": 0}],
    }
    first, *_, last = found(grid)
    assert type(first["output.digits"]) is int
    assert first["aggregation.solver"] == "lagrangian"
    assert first["output.digits"] == 3
    assert last["output.decimals"] == 0
    assert last["aggregation.keep"] == "mean"
    assert "partition.weights" not in first
    assert "aggregation.method" not in first
    assert first["output.decimals"] is last["output.digits"] is None
    cell = ["table", "k", "partition", "aggregation"]
    said = ["aggregation.solver", "aggregation.keep", "output.digits"]
    assert list(first)[:8] == [*cell, *said, "output.decimals"]


def counting(monkeypatch, fails=()):
    """Let mdav count its calls, and raise what `fails` names for a k."""
    calls = []

    def counted(X, k, *, ending="3k"):
        calls.append(k)
        if k in dict(fails):
            raise dict(fails)[k]
        return mdav(X, k, ending=ending)

    put_partitioner(monkeypatch, "mdav", counted)
    return calls


def test_groups_are_made_once_for_all_cells_that_share_them(monkeypatch):
    calls = counting(monkeypatch)
    both = {"aggregation": ["mean", "median"], "output": [{"digits": 4}, {"digits": 5}]}
    rows = found({"k": [3, 5], "partition": "mdav", **both}, seeds=[0, 1]).rows
    assert len(rows) == 2 * 2 * 2 * 2 * 2
    assert calls == [3, 5]
    made = {(row["k"], row["groups.seconds"]) for row in rows}
    assert len(made) == 2


def test_cells_that_differ_in_more_do_not_share_groups(monkeypatch):
    calls = counting(monkeypatch)
    weights = [{"method": "mdav", "weights": w} for w in ("variance", "range")]
    missing = [{"policy": "refuse"}, {"policy": "fill"}]
    found({"k": 3, "partition": weights, "missing": missing}, [FRAME, people(20)])
    assert len(calls) == 2 * 2 * 2


def test_the_next_cell_makes_the_groups_where_the_first_one_could_not(monkeypatch):
    calls = counting(monkeypatch)
    absent = {"method": "p3m", "solver": "gams"}
    grid = {"k": 3, "partition": "mdav", "aggregation": [absent, "mean", "median"]}
    rows = found(grid, on_error="row").rows
    assert [row["error"] for row in rows] == ["SolverError", *[None] * 4]
    assert calls == [3]


@pytest.mark.slow
def test_processes_find_what_one_finds(code):
    how = {"seeds": range(2), "on_error": "row", "trust": [code]}
    splits = [f"{code}:halves", "local_search"]
    grid = {"k": [3, 99], "partition": splits, "aggregation": [P3M]}
    one, two = (found(grid, jobs=jobs, **how) for jobs in (1, 2))
    assert timeless(one.rows) == timeless(two.rows)
    assert one.columns == two.columns
    assert len(one.failures) == 4


def test_seeds_go_where_something_is_random():
    grid = {
        "k": 3,
        "partition": ["local_search", "mdav"],
        "aggregation": [{"method": "p3m", "solver": "uno", "starts": 2}, "p3m"],
    }
    cells = list_cells({"t": ROLES}, grid, [4, 5])
    seeds = [
        (getattr(c.job.partition, "seed", None), c.job.aggregation.seed) for c in cells
    ]
    assert seeds == [
        *[(4, 4), (5, 5), (4, None), (5, None)],
        *[(None, 4), (None, 5), (None, None), (None, None)],
    ]
    assert [c.seed for c in cells] == [4, 5] * 4


def test_seeds_draw_the_margins_anew_and_jobs_share_those_of_a_seed():
    grid = {"k": 3, "partition": "mdav", "aggregation": [P3M, {**P3M, "alpha": 0.4}]}
    rows = found(grid, seeds=[1, 2, 3]).rows
    lost = {(r["seed"], r.get("aggregation.alpha"), r["attribute"]): r for r in rows}
    assert len({lost[s, 0.4, "age"]["objective"] for s in (1, 2, 3)}) == 3
    again = found({"k": 3, "partition": "mdav", "aggregation": P3M}, seeds=[2]).rows
    assert again[0]["objective"] == lost[2, None, "age"]["objective"]


# failures

VALUE = "Person 3 has 987654"


def test_failures_are_rows_and_their_words_hold_no_values(monkeypatch):
    counting(monkeypatch, {5: ValueError(VALUE), 7: TableError("Too few.", fix="add.")})
    rows = found({"k": [3, 5, 7], "partition": "mdav"}, on_error="row").rows
    kept, lost, refused = rows[0], *rows[2:]
    assert kept["error"] is kept["message"] is None
    assert (lost["k"], lost["error"]) == (5, "ValueError")
    assert VALUE not in lost["message"]
    assert "not kept" in lost["message"]
    assert refused["error"] == "TableError"
    assert refused["message"] == "Attributes 'age', 'income': Too few. To fix: add."


def test_the_first_failure_is_raised_with_the_name_of_its_cell():
    with refused(AggoptError, "'0'", "k = 99") as error:
        found({"k": [3, 99], "partition": "mdav"})
    assert error.value.fix


def test_a_table_that_cannot_be_used_fails_in_each_of_its_cells(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    files = [tmp_path / "people.csv", tmp_path / "none.csv"]
    grid = {"k": [3, 5], "partition": "mdav"}
    rows = found(grid, files, on_error="row").rows
    assert [(r["table"], r["error"]) for r in rows] == [
        *[("people", None)] * 4,
        *[("none", "TableError")] * 2,
    ]
    with refused(TableError, "none.csv", "k = 3"):
        found(grid, files)


# limits of time


@pytest.fixture
def short_turns():
    """Let threads change turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_cells_that_wait_for_groups_fail_with_them_for_want_of_time(monkeypatch):
    calls = counting(monkeypatch, {3: TimeLimitError("Late.", fix="wait.")})
    grid = {"k": [3, 5], "partition": "mdav", "aggregation": ["mean", "median"]}
    rows = found(grid, on_error="row").rows
    assert [r["error"] for r in rows] == ["TimeLimitError"] * 2 + [None] * 4
    assert rows[1]["message"] == rows[0]["message"]
    assert calls == [3, 5]


def test_time_is_kept_even_where_ctrl_c_is_ignored(monkeypatch):
    put_partitioner(monkeypatch, "mdav", lambda X, k, *, ending: time.sleep(20))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        (row,) = found({"k": 3, "partition": "mdav"}, time_limit=0.3, on_error="row")
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert row["error"] == "TimeLimitError"
    assert row["message"].startswith("It was not done within 0.3 seconds.")


def test_work_that_is_done_in_time_is_not_disturbed():
    before = signal.getsignal(signal.SIGINT)
    assert run_within(60.0, lambda: 7) == 7
    assert signal.getsignal(signal.SIGINT) is before
    assert run_within(None, lambda: 8) == 8


def test_an_alarm_at_the_end_of_work_leaves_handler_and_threads(short_turns):
    before, threads = signal.getsignal(signal.SIGINT), threading.active_count()

    def work():
        while time.perf_counter() < begin + limit:
            pass

    for limit in np.linspace(0, 4e-4, 100):
        begin = time.perf_counter()
        with suppress(TimeLimitError):
            run_within(limit, work)
        assert signal.getsignal(signal.SIGINT) is before
        assert threading.active_count() == threads


def test_ctrl_c_within_a_limit_is_ctrl_c():
    with pytest.raises(KeyboardInterrupt):
        run_within(60.0, lambda: signal.raise_signal(signal.SIGINT))


def test_solvers_share_the_time_and_end_with_their_best_point():
    two = limit_aggregation(job(aggregation=P3M), 10.0).aggregation.time_limit
    both = limit_aggregation(
        job(aggregation={"method": "p3m", "keep": "covariance"}), 10.0
    )
    assert two == pytest.approx(0.8 * 10 / 2)
    assert both.aggregation.time_limit == pytest.approx(0.8 * 10)
    for untouched in (job(), job(aggregation={**P3M, "time_limit": 3.0})):
        assert limit_aggregation(untouched, 10.0) == untouched
    assert limit_aggregation(job(aggregation=P3M), None) == job(aggregation=P3M)


def test_another_thread_cannot_keep_time_itself():
    raised = []

    def call():
        try:
            found({"k": 3}, time_limit=1.0)
        except JobError as error:
            raised.append(error.fix)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert raised == ["give the cells processes of their own: jobs=2, or -1."]


# code of the user's


def halves(X, k, *, reverse=False):
    rank = np.argsort(np.argsort(-X[:, 0] if reverse else X[:, 0]))
    return np.minimum(rank // k, len(X) // k - 1)


@pytest.fixture
def code(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(f"import numpy as np\n{getsource(halves)}")
    return file


def test_own_methods_stand_in_a_grid_as_objects_and_files(code):
    asked = ["mdav", halves, {"method": f"{code}:halves", "reverse": True}]
    rows = found({"k": 3, "partition": asked}, trust=[code]).rows[::2]
    assert [row["partition"] for row in rows] == ["mdav", "halves", "mine.py:halves"]
    assert rows[2]["partition.reverse"] is True
    for row, reverse in ((rows[1], False), (rows[2], True)):
        how = {"method": halves, "reverse": reverse}
        (block,) = mask(FRAME, job(partition=how)).blocks
        assert row["groups.objective"] == block.certificate.objective
        assert row["groups.bound"] == block.certificate.bound


def test_files_are_named_without_their_folders() -> None:
    asked = {"method": "mdav", "solver": "/home/me/mine.py:own", "inner": "cbfs"}
    assert _make_columns("partition", asked) == {
        "partition.method": "mdav",
        "partition.solver": "mine.py:own",
        "partition.inner": "cbfs",
    }
    typed = {"city": {"tree": "/home/me/cities.csv"}, "job": {"tree": {"a": ["b"]}}}
    assert _make_columns("attributes", typed) == {
        "attributes.city.tree": "cities.csv",
        "attributes.job.tree.a": ["b"],
    }


def test_a_file_that_is_not_trusted_is_not_run(code):
    with refused(UntrustedCodeError, "mine"):
        found({"k": 3, "partition": f"{code}:halves"}, on_error="row")


def test_what_own_code_raises_is_a_row_without_its_words():
    def fails(X, k):
        raise ValueError(VALUE)

    (row,) = found({"k": 3, "partition": fails}, on_error="row")
    assert row["error"] == "JobError"
    assert "fails fails with a ValueError" in row["message"]
    assert VALUE not in row["message"]


def test_a_bound_that_own_code_states_is_a_claim():
    def states(X, k):
        labels = halves(X, k)
        proof = Certificate(Status.OPTIMAL, 1.0, 0.5, 0.0, "mine", 0.0)
        return Partition(labels, proof)

    row = found({"k": 3, "partition": states}).rows[0]
    assert row["groups.claimed"] == 0.5
    assert row["groups.bound"] != 0.5
    assert "claimed" not in row


def test_own_code_that_changes_is_run_again(tmp_path, code):
    grid, cells = {"k": 3, "partition": f"{code}:halves"}, tmp_path / "cells"
    for change in ("", "", "# another byte\n"):
        code.write_text(code.read_text() + change)
        found(grid, trust=[code], cache=cells)
    assert len(list(cells.iterdir())) == 2
    found({"k": 3, "partition": halves}, cache=cells)
    found({"k": 3, "partition": halves}, cache=cells)
    assert len(list(cells.iterdir())) == 3


def holding(value):
    def own(X, k):
        return halves(X, k + value)

    return own


@pytest.mark.parametrize(
    "own",
    [holding(0), partial(halves, reverse=True), eval("lambda X, k: halves(X, k)")],
)
def test_a_cache_refuses_code_that_it_cannot_tell_from_other_code(tmp_path, own):
    grid = {"k": 3, "partition": own}
    with refused(JobError):
        found(grid, cache=tmp_path, on_error="row")
    assert not found(grid, on_error="row").failures


LOADED = """import numpy as np
def rank(X): return np.argsort(np.argsort(X[:, 0]))
def split(X, k, *, least=None): return np.minimum(rank(X) // k, len(X) // k - 1)
"""


@pytest.fixture
def loaded(tmp_path):
    path = tmp_path / "loaded.py"
    path.write_text(LOADED)
    module = ModuleType("loaded")
    exec(compile(LOADED, str(path), "exec", dont_inherit=True), vars(module))
    return path, module


@pytest.mark.parametrize(
    "change", [("// k,", "// (k + 0),"), ("X[:, 0]", "-X[:, 0]"), ("import", "imprt")]
)
def test_a_cache_refuses_code_whose_file_has_changed(tmp_path, loaded, change):
    path, module = loaded
    grid, cells = {"k": 3, "partition": module.split}, tmp_path / "cells"
    found(grid, cache=cells)
    path.write_text(LOADED + "# another byte\n")
    found(grid, cache=cells)
    assert len(list(cells.iterdir())) == 2
    path.write_text(LOADED.replace(*change))
    with refused(JobError):
        found(grid, cache=cells, on_error="row")


def test_defaults_of_a_function_tell_it_from_another(tmp_path, loaded):
    split, cells = loaded[1].split, tmp_path / "cells"
    grid = {"k": 3, "partition": split}
    for default in (None, 1.0, 2.0, 2.0):
        split.__kwdefaults__["least"] = default
        found(grid, cache=cells)
    assert len(list(cells.iterdir())) == 3
    split.__kwdefaults__["least"] = np.zeros(2)
    with refused(JobError):
        found(grid, cache=cells)


def capped(x, labels, sizes, *, cap=1.0):
    c = cp.Variable(len(sizes), name="c")
    away = cp.abs(c[labels] - x)
    return cp.Problem(cp.Minimize(cp.sum_squares(away)), [away <= cap])


def means(model, data):
    return np.bincount(data.labels, data.x) / data.sizes


def test_own_models_and_solvers_stand_in_a_grid(tmp_path):
    asked = [{"model": capped, "cap": cap, "solver": means} for cap in (4.0, 5.0)]
    grid = {"k": 3, "partition": "mdav", "aggregation": asked}
    first = found(grid, cache=tmp_path, time_limit=60.0)
    for row, cap in zip(first.rows[::2], (4.0, 5.0), strict=True):
        assert (row["aggregation"], row["aggregation.model"]) == ("by_model", "capped")
        assert (row["aggregation.cap"], row["aggregation.solver"]) == (cap, "means")
        assert row["solver"] == "means"
    assert found(grid, cache=tmp_path, time_limit=60.0) == first
    assert len(list(tmp_path.iterdir())) == 2


def gap(original, released):
    return np.abs(original - released).max()


def test_own_measures_are_columns():
    asked = [{"extra": [gap]}, {"extra": []}]
    first, _, last, _ = found({"k": 3, "partition": "mdav", "measures": asked}).rows
    release = mask(FRAME, job(measures={"extra": [gap]}))
    assert first["measures.gap"] == release.measures["gap"]
    assert first["gap"] == next(iter(release.certificates.values())).gap
    assert (first["measures.extra"], last["measures.extra"]) == (["gap"], [])
    assert "measures.gap" not in last


def test_own_measures_have_their_columns_where_nothing_can_be_measured():
    age = np.where(np.arange(24) < 6, 3.0, np.arange(24))
    flat = FRAME.assign(age=age, income=np.where(age == 3.0, 4.0, np.nan))
    grid = {"k": 3, "partition": "mdav", "missing": {"policy": "patterns"}}
    rows = found({**grid, "measures": {"extra": [gap]}}, flat).rows
    assert {row["measures.gap"] for row in rows} == {None}
    assert "il" not in rows[0]


# the cache


@pytest.fixture
def nothing_runs(monkeypatch):
    def refuse():
        def run(works):
            raise AssertionError(f"{[work.called for work in works]} ran")

        monkeypatch.setattr(grid_run, "run_cells", run)

    return refuse


def test_what_is_done_is_found_again(tmp_path, nothing_runs):
    first = found(cache=tmp_path / "cells")
    assert len(list((tmp_path / "cells").iterdir())) == 4
    nothing_runs()
    assert found(cache=str(tmp_path / "cells")) == first
    part = found({**GRID, "k": 5, "partition": "cbfs"}, cache=tmp_path / "cells")
    assert timeless(part.rows) == timeless(
        r for r in first if (r["k"], r["partition"]) == (5, "cbfs")
    )
    renamed = found(tables={"other": FRAME}, cache=tmp_path / "cells")
    assert {row["table"] for row in renamed} == {"other"}


CHANGES = [
    {"tables": FRAME.assign(income=FRAME["income"] + 1)},
    {"grid": {"k": 4, "partition": "mdav"}},
    {"grid": {"k": 3, "partition": "mdav", "output": {"digits": 9}}},
    {"roles": {**ROLES, "confidential": [], "other": ["note", "illness"]}},
    {"seeds": [3]},
    {"time_limit": 60.0},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_what_anything_else_would_find_is_sought_anew(tmp_path, change):
    grid = {"k": 3, "partition": "mdav"}
    found(grid, cache=tmp_path)
    found(**{"grid": grid, "cache": tmp_path, **change})
    assert len(list(tmp_path.iterdir())) == 2


def test_another_version_is_sought_anew(tmp_path, monkeypatch):
    grid = {"k": 3, "partition": "mdav"}
    found(grid, cache=tmp_path)
    monkeypatch.setattr(_cache, "list_versions", lambda names: {"aggopt": "99"})
    found(grid, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_cell_is_for_its_owner_alone_and_holds_figures_alone(tmp_path):
    marked = FRAME.assign(age=np.arange(24) + 31_415_000, income=np.arange(24.0) ** 2)
    found({"k": 3, "partition": "mdav"}, marked, cache=tmp_path)
    (cell,) = tmp_path.iterdir()
    assert cell.stat().st_mode & 0o777 == 0o600
    text = cell.read_text()
    assert "31415" not in text
    assert not [name for name in FRAME["name"] if name in text]
    assert json.loads(text)["cell"] == cell.stem


@pytest.mark.parametrize("spoilt", [b"", b"{", b'{"cell": "x", "rows": []}', b"[1]"])
def test_a_damaged_cell_is_made_again(tmp_path, spoilt):
    grid = {"k": 3, "partition": "mdav"}
    first = found(grid, cache=tmp_path)
    (cell,) = tmp_path.iterdir()
    cell.write_bytes(spoilt)
    assert timeless(found(grid, cache=tmp_path)) == timeless(first)
    assert json.loads(cell.read_bytes())["cell"] == cell.stem


MEASURED = {"k": 3, "partition": "mdav", "measures": {"extra": [gap]}}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return the rows of a cell, the name of its file, and what that holds."""
    folder = tmp_path_factory.mktemp("cells")
    first = found(MEASURED, cache=folder)
    (cell,) = folder.iterdir()
    return first, cell.name, json.loads(cell.read_bytes())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rows: [],
        lambda rows: [{}],
        lambda rows: [*rows, 3],
        lambda rows: rows[0],
        *(
            lambda rows, name=name: [rows[0], {**rows[1], name: "x"}]
            for name in ("table", "k", "partition", "seed", "error", "message")
        ),
        *(
            lambda rows, name=name: [{n: v for n, v in rows[0].items() if n != name}]
            for name in ("attribute", "status", "groups.bound", "measures.gap")
        ),
        lambda rows: [{**rows[0], "il": [1.0]}],
    ],
)
def test_rows_that_a_cell_cannot_have_are_made_again(tmp_path, spoil, measured):
    first, name, whole = measured
    cell = tmp_path / name
    rows = spoil(whole["rows"])
    check = _cache._compute_checksum(cell.stem, rows)
    cell.write_text(json.dumps({**whole, "rows": rows, "checksum": check}))
    assert timeless(found(MEASURED, cache=tmp_path)) == timeless(first)
    assert timeless(json.loads(cell.read_bytes())["rows"]) == timeless(whole["rows"])


@pytest.mark.parametrize("column", ["objective", "bound", "linkage", "groups"])
def test_a_figure_that_was_edited_is_not_believed(tmp_path, column):
    grid = {"k": 3, "partition": "mdav"}
    first = found(grid, cache=tmp_path)
    (cell,) = tmp_path.iterdir()
    whole = json.loads(cell.read_bytes())
    whole["rows"][0][column] += 1
    cell.write_text(json.dumps(whole))
    assert timeless(found(grid, cache=tmp_path)) == timeless(first)


def test_failures_are_tried_again(tmp_path, monkeypatch):
    grid = {"k": 3, "partition": "mdav"}
    with monkeypatch.context() as once:
        counting(once, {3: ValueError(VALUE)})
        assert len(found(grid, cache=tmp_path, on_error="row").failures) == 1
    assert list(tmp_path.iterdir()) == []
    assert not found(grid, cache=tmp_path, on_error="row").failures


def test_an_interrupt_keeps_what_is_done_and_says_so(tmp_path, monkeypatch):
    grid = {"k": [3, 5, 4], "partition": "mdav"}
    with monkeypatch.context() as once:
        counting(once, {5: KeyboardInterrupt()})
        with pytest.raises(KeyboardInterrupt) as stopped:
            found(grid, cache=tmp_path)
    (note,) = stopped.value.__notes__
    assert note.startswith(f"1 of 3 cells is done, and kept in {tmp_path}")
    assert len(list(tmp_path.iterdir())) == 1
    calls = counting(monkeypatch)
    found(grid, cache=tmp_path)
    assert calls == [5, 4]


def test_an_interrupt_without_a_cache_says_that_nothing_is_kept(monkeypatch):
    counting(monkeypatch, {3: KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt) as stopped:
        found({"k": 3, "partition": "mdav"}, on_error="row")
    assert stopped.value.__notes__[0].startswith("0 of 1 cell are done, and not kept")


STOPPED = """
import aggopt, sys
from tables import ROLES, people

searches = [{"method": "local_search", "time_limit": s} for s in (0.2, 600.0, 601.0)]
grid = {"k": 3, "partition": searches}
aggopt.experiment(people(40), grid, roles=ROLES, jobs=2, cache=sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.alone
def test_ctrl_c_ends_all_processes_before_their_work_is_done(tmp_path):
    command = [sys.executable, "-c", STOPPED, str(tmp_path)]
    paths = [str(Path(__file__).parent.parent), *sys.path]
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    run = subprocess.Popen(command, env=known, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob("[!.]*.json")):
        assert run.poll() is None
        time.sleep(0.1)
    workers = psutil.Process(run.pid).children(recursive=True)
    assert workers
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=300)
    assert psutil.wait_procs(workers, timeout=300)[1] == []
    assert "1 of 3 cells is done, and kept in" in said
    assert len(list(tmp_path.iterdir())) == 1


def test_progress_is_the_share_of_cells_that_are_done(tmp_path):
    shares = []
    found(progress=lambda step, share: shares.append((step, share)), cache=tmp_path)
    assert shares == [("cells", j / 4) for j in range(5)]
    shares.clear()
    found(progress=lambda step, share: shares.append((step, share)), cache=tmp_path)
    assert shares == [("cells", 1.0)]


# refusals, before any work

REFUSED = [
    ({"grid": {"k": 3, "partitoin": "mdav"}}, "did you mean 'partition'"),
    ({"grid": {"k": 3, "partition": ["mdva"]}}, "did you mean 'mdav'"),
    (
        {"grid": {"k": 3, "partition": {"method": "mdav", "wieghts": "range"}}},
        "weights",
    ),
    ({"grid": {"k": [], "partition": "mdav"}}, "k of the grid lists nothing"),
    ({"grid": [("k", 3)]}, "The grid is a list"),
    ({"grid": {"k": [3, 3]}}, "same job: k = 3; and k = 3"),
    ({"grid": {"k": 3, "partition": ["mdav", {"method": "mdav"}]}}, "same job"),
    ({"grid": {"k": 3, "privacy": {"k": 5}}}, "names k, and so does its privacy"),
    ({"grid": {"k": 3, "output": "full"}}, "output of the grid lists a str"),
    ({"grid": {"partition": "mdav"}}, "privacy"),
    ({"grid": {"k": ["five", 3]}}, "Cell k = 'five': "),
    ({"seeds": []}, "seeds name none"),
    ({"seeds": [1, 1]}, "seeds name one twice"),
    ({"seeds": [-1]}, "seed = -1"),
    ({"seeds": 5}, "seeds = 5"),
    ({"grid": {"k": 3, "partition": {"method": "local_search", "seed": 1}}}, "seeds"),
    ({"jobs": 0}, "jobs = 0"),
    ({"jobs": 1.5}, "jobs = 1.5"),
    ({"on_error": "rows"}, "did you mean 'row'"),
    ({"time_limit": 0}, "time_limit = 0"),
    ({"tables": {}}, "There are no tables"),
    ({"tables": {3: FRAME}}, "a name that is no text"),
    ({"tables": ["a/people.csv", "b/people.csv"]}, "Two tables are called 'people'"),
    ({"tables": {"a": FRAME, "b": FRAME}, "roles": {"a": ROLES}}, "'b' has no roles"),
    ({"tables": {"abc": FRAME}, "roles": {"abd": ROLES}}, "did you mean 'abc'"),
    ({"cache": __file__}, "is no folder"),
    ({"progress": 3}, "progress"),
]


@pytest.mark.parametrize(("change", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_makes_no_grid_is_refused_before_work(change, said, nothing_runs):
    nothing_runs()
    asked = {"tables": FRAME, "grid": {"k": 3}, "roles": ROLES, "seeds": [1], **change}
    with pytest.raises(JobError) as error:
        experiment(asked.pop("tables"), asked.pop("grid"), **asked)
    assert said in str(error.value)


def test_roles_are_given_once_or_by_table():
    other = {
        "quasi-identifier": ["income"],
        "other": ["name", "age", "illness", "note"],
    }
    tables = {"a": FRAME, "b": FRAME}
    grid = {"k": 3, "partition": "mdav"}
    names = [
        [(r["table"], r["attribute"]) for r in found(grid, tables, roles=roles)]
        for roles in (other, {"a": ROLES, "b": other})
    ]
    assert names[0] == [("a", "income"), ("b", "income")]
    assert names[1] == [("a", "age"), ("a", "income"), ("b", "income")]


def test_a_file_is_read_as_mask_reads_it(tmp_path):
    path = tmp_path / "people.csv"
    FRAME.to_csv(path, index=False)
    (row, _) = found({"k": 3, "partition": "mdav"}, path)
    assert row["table"] == "people"
    assert row["il"] == mask(path, job()).measures.il
