"""Measures of a release: of all its quasi-identifiers, wherever they are measured."""

import json
import pickle
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import people

import aggopt
from aggopt.data.table import Table
from aggopt.errors import TableError
from aggopt.job import AttributeSection, Missing
from aggopt.job.roles import Roles
from aggopt.measure import assess, sl
from aggopt.pipeline.finish.evaluate import (
    _select_complete_records,
    measure_if_varying,
    measure_release,
)
from aggopt.pipeline.review.review_release import Review, assess_release
from aggopt.release.audit.risks import replace_counted_risks
from aggopt.release.release import Release

TYPES = {
    "school": {"order": ["low", "middle", "high"]},
    "work": {"tree": {"care": ["doctor", "nurse"], "craft": ["smith"]}},
}
NAMES = ("age", "sex", "school", "work")


def mixed(n: int = 48) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "sex": rng.choice(["f", "m"], n),
            "school": rng.choice(["low", "middle", "high"], n),
            "work": rng.choice(["doctor", "nurse", "smith"], n),
            "illness": np.array(["flu", "none", "asthma"])[np.arange(n) % 3],
        }
    )


def job(names: tuple[str, ...] = NAMES, **sections: Any) -> aggopt.Job:
    rest = [name for name in NAMES if name not in names]
    roles = {"quasi-identifier": names, "confidential": ["illness"], "other": rest}
    types = {name: how for name, how in TYPES.items() if name in names}
    plain = {"roles": roles, "privacy": {"k": 4}, "attributes": types}
    return aggopt.Job(**{**plain, **sections})


@pytest.fixture(scope="module")
def release() -> Release:
    return aggopt.mask(mixed(), job())


def tables(frame: pd.DataFrame, masked: Any, **types: Any) -> tuple[Table, Table]:
    """Return numbers (or what `types` says) beside values released for them."""
    roles = Roles(**{"quasi-identifier": list(frame)})
    said = {name: AttributeSection(**how) for name, how in types.items()}
    first = Table.of(frame, roles, said)
    return first, Table.of(masked, roles, said, like=first)


def test_losses_and_distances_are_by_weight(monkeypatch) -> None:
    monkeypatch.setattr(
        "aggopt.pipeline.finish.evaluate.assess", lambda *of, **how: how
    )
    frame = pd.DataFrame({"a": [0.0, 2.0, 4.0, 6.0], "w": [1.0, 199.0, 199.0, 1.0]})
    weighed = Roles(**{"quasi-identifier": ["a"], "weight": ["w"]})
    asked = {"delta": np.ones((4, 1)), "importance": np.zeros((4, 1))}
    for roles in (weighed, Roles(**{"quasi-identifier": ["a"], "other": ["w"]})):
        table = Table.of(frame, roles)
        found = measure_release(table, table, asked, linked_at_once=7)
        assert (found["whole"], found["importance"]) == (7, 1.0)
        if roles is weighed:
            assert found["weights"].tolist() == [0.01, 1.99, 1.99, 0.01]
            assert found["delta"] == pytest.approx(np.full((4, 1), (1.04 / 5) ** 0.5))
        else:
            assert found["weights"] is None
            assert found["delta"].tolist() == [[1.0]] * 4


def test_distances_by_weight_are_of_numbers_alone(monkeypatch) -> None:
    """Of names beside them there is no standard deviation."""
    monkeypatch.setattr(
        "aggopt.pipeline.finish.evaluate.assess", lambda *of, **how: how
    )
    frame = pd.DataFrame(
        {"s": [*"xyyx"], "a": [0.0, 2.0, 4.0, 6.0], "w": [1.0, 199.0, 199.0, 1.0]}
    )
    asked = {"delta": np.ones((4, 1)), "importance": np.ones((4, 1))}
    found = []
    for names in (["s", "a"], ["a"]):
        roles = Roles(**{"quasi-identifier": names, "weight": ["w"]})
        table = Table.of(frame[[*names, "w"]], roles)
        found.append(measure_release(table, table, asked)["delta"].tolist())
    assert found[0] == found[1] != asked["delta"].tolist()


def test_a_release_has_what_assess_finds_of_the_two_tables(release) -> None:
    names = list(NAMES)
    found = assess(mixed()[names], release.table[names], TYPES)
    assert release.measures == found
    assert (found.d, found.varying) == (4, 4)
    assert found.types.kinds["work"] == "hierarchical"
    assert release.measures.types["truth"]["age"] is None
    assert release.manifest()["measures"] == found.to_dict()
    assert release.manifest()["measured"] == names


def test_no_note_says_that_something_is_not_measured(release) -> None:
    assert not any("measured" in note for note in release.notes)


def test_linkage_is_of_the_whole_combination(release) -> None:
    age, rest = mixed()[["age"]], list(NAMES[1:])
    alone = assess(age, release.table[["age"]])
    assert release.measures.linkage > alone.linkage
    categories = assess(
        mixed()[rest], release.table[rest], {n: TYPES[n] for n in TYPES}
    )
    assert release.measures.linkage > categories.linkage


def test_it_prints_a_row_for_each_attribute_wherever_it_is_shown(release) -> None:
    text = str(release.measures)
    for name in NAMES:
        assert f"\n{name} " in text
    assert "<summary>Measures</summary>" in release._repr_html_()
    assert "Cramer&#x27;s V" in release._repr_html_()


def test_a_pickle_of_the_measures_has_no_value_of_a_record() -> None:
    frame = mixed().replace({"sex": {"f": "SECRET", "m": "HIDDEN"}})
    made = aggopt.mask(frame, job())
    stored = pickle.dumps(made.measures)
    assert pickle.loads(stored) == made.measures
    for text in (
        stored,
        str(made.measures).encode(),
        json.dumps(made.manifest()).encode(),
    ):
        assert b"SECRET" not in text
        assert b"HIDDEN" not in text


def test_a_table_of_categories_alone_is_measured() -> None:
    made = aggopt.mask(mixed(), job(("sex", "school")))
    found = made.measures
    assert found == assess(
        mixed()[["sex", "school"]],
        made.table[["sex", "school"]],
        {"school": TYPES["school"]},
    )
    assert (found.sl, found.il1s, found.pil_parts.means) == (None, None, None)
    assert 0 < found.linkage <= found.linkage_limit


def test_what_does_not_vary_is_not_counted_among_what_does() -> None:
    made = aggopt.mask(mixed().assign(school="low"), job(("sex", "school")))
    assert (made.measures.d, made.measures.varying) == (2, 1)


def test_weights_of_the_job_are_not_those_of_the_measures() -> None:
    """So that two releases of one table are measured alike."""
    first = pd.DataFrame({"x": [1.0, 2.0, 3.0, 9.0], "y": list("aabb")})
    after = first.assign(x=[1.5, 1.5, 6.0, 6.0], y=list("abbb"))
    plain, heavy = {"kind": "nominal"}, {"kind": "nominal", "weight": 9.0}
    found = [
        measure_release(*tables(first, after, y=how), {}) for how in (plain, heavy)
    ]
    assert found[0] == found[1] == assess(first, after, {"y": plain})
    assert found[0] != assess(first, after, {"y": heavy})


def test_the_measures_of_a_release_take_what_the_records_ask_for() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    Y = X + np.linspace(0, 0.2, 60).reshape(30, 2)
    delta, ranks = np.full((30, 2), 0.12), np.arange(60.0).reshape(30, 2)
    asked = {"delta": delta, "importance": ranks}
    of = partial(sl, X, Y, delta=delta)
    both = tables(
        pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(Y, columns=["a", "b"])
    )
    assert measure_release(*both, asked).sl == of(importance=ranks) != of()
    assert measure_release(*both, asked | {"importance": 0 * ranks}).sl == of()
    assert of() != of(delta=0.1)  # which is the measure's own
    assert measure_release(*both, asked, linked_at_once=20).linkage_blocks == 2
    assert measure_release(*both, {}, linked_at_once=20).linkage_blocks == 2
    assert measure_release(*both, {}) == measure_if_varying(*both, {}) == assess(X, Y)
    assert measure_if_varying(*both, asked).sl == of(importance=ranks)


def test_numbers_beside_categories_are_asked_for_their_distances() -> None:
    frame = pd.DataFrame({"s": list("abab"), "x": [1.0, 2.0, 3.0, 9.0]})
    after = frame.assign(x=[1.0, 2.5, 3.5, 8.0])
    asked = {
        "delta": np.full((4, 1), 0.2),
        "importance": np.array([[1], [2], [3], [4]]),
    }
    found = measure_release(*tables(frame, after), asked)
    assert found.sl == sl(
        frame[["x"]], after[["x"]], delta=0.2, importance=[[1], [2], [3], [4]]
    )
    assert found.delta is None


def test_numbers_alone_have_the_manifest_that_they_had() -> None:
    made = aggopt.mask(
        people(),
        aggopt.Job(
            roles={
                "identifier": ["name"],
                "quasi-identifier": ["age", "income"],
                "confidential": ["illness"],
                "other": ["note"],
            },
            privacy={"k": 3},
        ),
    )
    assert made.measures.types is None
    assert tuple(made.manifest()["measures"]) == (
        *("highest_risk", "average_risk", "reidentifications", "linkage"),
        *(
            "linkage_limit",
            "linkage_chance",
            "linkage_blocks",
            "dld",
            "sdid",
            "sdid_chance",
            "sse",
            "sst",
        ),
        *("il", "il1s", "pil", "pil_parts"),
        *("correlation_error", "mean_correlation_error"),
        *("dr", "si", "sl", "n", "d", "varying"),
        *("safety", "delta"),
    )
    assert tuple(made.manifest()["measures"]["pil_parts"]) == (
        *("quantiles", "means", "variances", "covariances", "correlations"),
    )


def incomplete(ages: int, sexes: int) -> Release:
    """Return a release of 40 records: so many have an age, from the first, or a sex."""
    frame = mixed(40)[["age", "sex", "illness"]]
    frame["age"] = frame["age"].where(frame.index < ages)
    frame["sex"] = frame["sex"].where(frame.index >= 40 - sexes)
    roles = {"quasi-identifier": ["age", "sex"], "confidential": ["illness"]}
    asked = {"roles": roles, "privacy": {"k": 4}, "missing": {"policy": "patterns"}}
    return aggopt.mask(frame, aggopt.Job(**asked))


def test_what_misses_nothing_is_measured_and_a_note_says_how_much() -> None:
    made = incomplete(28, 32)
    rest = "certificates are of all values that are there."
    what = "Linkage, disclosure, loss and satisfaction are"
    assert made.measures.n == 20
    assert (
        f"{what} measured on the 20 of 40 records of which nothing is missing, before "
        f"and after; {rest}"
    ) in made.notes
    names = ["age", "sex"]
    both = (table[names][8:28] for table in (mixed(40), made.table))
    alone = assess(*both)
    assert made.measures.linkage == alone.linkage
    assert made.measures.types["il"] == alone.types["il"]
    none = incomplete(20, 20)
    assert none.measures is None
    assert (
        f"{what} not measured: there are 0 of 40 records of which nothing is missing, "
        f"before and after; {rest}"
    ) in none.notes
    assert not any(what in note for note in incomplete(40, 40).notes)


def test_what_misses_a_value_before_or_after_is_left_out() -> None:
    holes = {"a": [1.0, None, 3.0, 4.0], "b": [5.0, 6.0, 7.0, 8.0]}
    roles, missing = Roles(**{"quasi-identifier": ["a", "b"]}), Missing(policy="fill")
    first = Table.of(pd.DataFrame(holes), roles, missing=missing)
    masked = pd.DataFrame({"a": [2.0, 2.0, 3.0, None], "b": [5.5, 5.5, 7.5, 7.5]})
    asked = {"delta": np.arange(8.0).reshape(4, 2)}
    one, other, wish = _select_complete_records(
        first, Table.of(masked, roles, like=first), asked
    )
    assert one.matrix().tolist() == [[1.0, 5.0], [3.0, 7.0]]
    assert other.matrix().tolist() == [[2.0, 5.5], [3.0, 7.5]]
    assert wish["delta"].tolist() == [[0.0, 1.0], [4.0, 5.0]]


def test_measures_of_the_users_are_found_beside_the_others() -> None:
    frame = pd.DataFrame({"a": [1.0, 3.0, 5.0]})
    extra = {"first": lambda original, released: original[0, 0] - released[0, 0]}
    one, other = tables(frame, frame + 0.5)
    found = measure_if_varying(one, other, {}, extra)
    assert found.own == (("first", -0.5),)


# a second look


def written(
    release: Release, folder: Path, frame: pd.DataFrame | None = None
) -> tuple[Path, Path]:
    original = folder / "people.csv"
    (mixed() if frame is None else frame).to_csv(original, index=False)
    files = release.write(folder / "masked.csv")
    files.manifest.unlink()  # which names the table in memory
    return original, files.table


def test_a_second_look_finds_the_same(release, tmp_path) -> None:
    found = assess_release(*written(release, tmp_path), job())
    assert found.measures == release.measures
    assert (found.warning, found.unmeasured) == (None, None)
    assert found.to_dict()["measures"] == release.measures.to_dict()


def test_what_no_original_has_is_said_and_the_audit_stands(release, tmp_path) -> None:
    original, masked = written(release, tmp_path)
    table = pd.read_csv(masked)
    table["work"] = table["work"].replace("smith", "SECRET")
    changed = int((table["work"] == "SECRET").sum())
    table.to_csv(masked, index=False)
    found = assess_release(original, masked, job())
    assert found.measures is None
    assert found.audit.holds
    assert found.warning == found.unmeasured
    assert found.warning.startswith(
        f"Nothing but equal records was measured. Column 'work': {changed} of 48 "
    )
    assert "SECRET" not in found.warning
    assert found.to_dict()["warning"] == found.warning


def reviewed(
    before: dict[str, Any], after: dict[str, Any], same: bool = True
) -> Review:
    found = assess(pd.DataFrame(before), pd.DataFrame(after))
    return Review(None, found, same)  # type: ignore[arg-type]


ENDING = (
    ", as of records in different orders: if these are, no measure here but the counts "
    "of equal records means anything."
)


def test_numbers_beyond_the_variance_are_as_of_another_order() -> None:
    one, two = {"x": [0.0, 2.0]}, {"x": [2.0, 0.0]}
    loss = "The loss is 400 % of the variance" + ENDING
    assert reviewed(one, two).warning == loss
    assert reviewed(one, {"x": [1.0, 1.0]}).warning is None  # 100 %, as of their mean
    assert reviewed(one, two, same=False).warning is None
    name = {"s": ["a", "b"]}
    assert reviewed(one | name, two | name).warning == loss
    half = "The loss is 200 % of the variance" + ENDING
    assert (
        reviewed(one | {"y": [1.0, 5.0]} | name, two | {"y": [1.0, 5.0]} | name).warning
        == half
    )
    assert reviewed(one | {"s": ["a", "b"]}, one | {"s": ["b", "a"]}).warning is None


def test_categories_by_chance_are_as_of_another_order() -> None:
    own = "Categories are the records' own no more often than by chance" + ENDING
    s, t = list("aabb"), list("abab")
    assert reviewed({"s": s}, {"s": t}).warning == own  # kappa = 0
    assert reviewed({"s": s}, {"s": list("aaab")}).warning is None  # kappa = 1/2
    assert reviewed({"s": s, "t": t}, {"s": t, "t": t}).warning is None
    assert reviewed({"s": s}, {"s": t}, same=False).warning is None
    half = ["a"] * 20 + ["b"] * 20  # 21 of 40 as they were, 20 by chance: kappa = .05
    luck = ["a"] * 10 + ["b"] * 10 + ["a"] * 9 + ["b"] * 11
    assert reviewed({"s": half}, {"s": luck}).warning is None
    luck[39] = "a"
    assert reviewed({"s": half}, {"s": luck}).warning == own


def test_a_review_without_measures_has_no_such_warning() -> None:
    assert Review(None, None, True).warning is None  # type: ignore[arg-type]


def test_a_table_of_which_nothing_varies_is_refused_where_it_is_asked_for() -> None:
    flat = pd.DataFrame({"s": list("aaaa")})
    both = tables(flat, flat)
    assert measure_if_varying(*both, {}) is None
    with refused(TableError):
        measure_release(*both, {})


def test_groups_are_those_that_the_audit_counted(release) -> None:
    found, audit = release.measures, release.audit
    counted = (1 / audit.combination, audit.groups / audit.records, audit.groups)
    for figures in (found, found.types):
        risks = figures.highest_risk, figures.average_risk, figures.reidentifications
        assert risks == counted
    whole = SimpleNamespace(total=48, average_risk=3 / 48)
    shifted = SimpleNamespace(combination=9, groups=3, whole=whole)
    again = replace_counted_risks(found, shifted)  # type: ignore[arg-type]
    for figures in (again, again.types):
        risks = figures.highest_risk, figures.average_risk, figures.reidentifications
        assert risks == (1 / 9, 3 / 48, 3)
    assert (
        replace_counted_risks(assess([[1.0], [2.0]], [[1.0], [2.0]]), shifted).types
        is None
    )  # type: ignore[arg-type]
