"""What is asked of a group beside all records is kept and counted in folders."""

import numpy as np
import pandas as pd
import pytest
from folders import QUASI, job, masked, persons, put, read
from refusals import refused

from aggopt.engine import run
from aggopt.engine.state.split_tree import merge_leaves
from aggopt.engine.steps import global_confidential as whole
from aggopt.engine.validate.supported_settings import require_supported_job
from aggopt.errors import PrivacyError
from aggopt.privacy import distinct_l, t_closeness
from aggopt.privacy.value_levels import assign_levels

CLOSE = {"t": 0.2, "repair": "merge"}


def paid(n, seed=0):
    """Persons, of whom it is confidential what goes with their income."""
    rng = np.random.default_rng(seed)
    table = persons(n, seed)
    return table.assign(ill=np.rint(table["income"] * rng.uniform(0.5, 1.5, n)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files of them."""
    return put(tmp_path_factory.mktemp("whole") / "in", paid(130), paid(90, seed=1))


@pytest.fixture(scope="module")
def release(folder, tmp_path_factory):
    """The release of that folder, in blocks, whose groups are close."""
    asked = job(privacy=CLOSE, engine={"block": 55})
    return masked(folder, asked, tmp_path_factory.mktemp("close") / "out")


def test_t_is_kept_in_blocks_against_the_distribution_of_all(release):
    written = read(release.path)
    (check,) = release.audit.promises
    assert check.holds
    assert release.manifest["blocks"] > 1
    assert check.found == t_closeness(written[QUASI], written["ill"]) <= 0.2
    assert check.groups == release.audit.groups == len(written.groupby(QUASI))
    assert check.promise == "t (ordered)"


def test_levels_are_those_of_all_records(folder, tmp_path):
    levels = {"confidential": {"ill": {"levels": 3}}}
    asked = job(privacy={"l": 3, "repair": "merge"} | levels)
    found = masked(folder, asked, tmp_path / "out")
    written = read(found.path)
    level = assign_levels(written["ill"].to_numpy(), 3)
    groups = written.groupby(QUASI).ngroup().to_numpy()
    (check,) = found.audit.promises
    assert check.found == distinct_l(groups, level) == 3
    values = written["ill"].nunique()
    assert check.promise == f"distinct l of 3 levels of {values} values"


def test_names_are_compared_with_those_of_all(tmp_path):
    folder = put(tmp_path / "in", persons(120), persons(60, seed=1))
    asked = job(privacy=CLOSE | {"distance": "equal", "p": 2}, engine={"block": 60})
    found = masked(folder, asked, tmp_path / "out")
    written = read(found.path)
    t, p = sorted(found.audit.promises, key=lambda check: check.promise, reverse=True)
    assert t.found == t_closeness(written[QUASI], written["ill"], distance="equal")
    assert p.found == distinct_l(written[QUASI], written["ill"]) >= 2


def test_blocks_whose_values_lie_apart_go_together(tmp_path):
    table = persons(160)
    by = np.argsort(np.argsort(table["income"].to_numpy()))
    folder = put(tmp_path / "in", table.assign(ill=by // 80, height=0.0, age=3))
    asked = job(privacy={"t": 0.1, "repair": "merge"}, engine={"block": 40})
    found = masked(folder, asked, tmp_path / "out")
    assert found.manifest["blocks"] == 1
    assert found.audit.promises[0].found <= 0.1


def test_the_audit_counts_what_is_written(folder, tmp_path, monkeypatch):
    each = run._Run.each

    def meddled(self, step, count, config):
        found = each(self, step, count, config)
        if step == "write":
            part = config.part(0)
            table = pd.read_parquet(part).sort_values("income")
            table["ill"] = np.sort(table["ill"])
            table.to_parquet(part, index=False)
        return found

    monkeypatch.setattr(run._Run, "each", meddled)
    with refused(PrivacyError, "t (ordered)"):
        masked(folder, job(privacy=CLOSE), tmp_path / "out")


def test_leaves_go_together_until_they_keep_what_is_asked():
    sizes = np.full(6, 4)

    def keep(leaves):
        return sum(leaf in (0, 5) for leaf in leaves) % 2 == 0

    assert merge_leaves(sizes, 4, keep) == [(0, 1, 2, 3, 4, 5)]
    assert merge_leaves(
        sizes[:5], 8, lambda leaves: 0 not in leaves or 3 in leaves
    ) == [(0, 1, 2, 3, 4)]
    assert merge_leaves(sizes, 8, lambda leaves: True) == [(0, 1), (2, 3), (4, 5)]


def test_nothing_of_all_records_is_asked_of_values_that_groups_count():
    assert not whole.needs_global_values(
        job(privacy={"l": 2, "p": 2, "repair": "merge"})
    )
    assert whole.needs_global_values(job(privacy=CLOSE))
    require_supported_job(job(privacy=CLOSE))
