"""Published statements: true of each group, by a slow copy of each way."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.errors import JobError, TableError, UnknownNameError
from aggopt.measure.types import generalised_loss

TREE = {"craft": ["smith", "turner"], "care": ["nurse", "doctor"]}
ORDER = ["low", "middle", "high"]
CUTS = [0, 20, 30, 40, 50, 60, 80]
STATED = {
    "age": {"publish": "interval", "cuts": CUTS},
    "income": {"publish": "range"},
    "rooms": {"publish": "suppress"},
    "job": {"tree": TREE, "publish": "ancestor"},
    "town": {"publish": "suppress"},
    "school": {"order": ORDER, "publish": "range"},
    "code": {"kind": "nominal", "publish": "suppress"},
}
FAST = {"method": "generalising", "effort": "fast"}


def people(n=30, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 81, n),
            "income": rng.gamma(2, 1e4, n).round(-4) + 0.5,
            "rooms": rng.integers(1, 4, n),
            "job": rng.choice(["smith", "turner", "nurse", "doctor"], n),
            "town": rng.choice(list("abc"), n),
            "school": rng.choice(ORDER, n),
            "code": rng.integers(1, 4, n),
            "illness": rng.choice(list("xyz"), n),
        }
    )


def mask(frame=None, attributes=STATED, roles=None, **sections):
    frame = people() if frame is None else frame
    names = [*STATED]
    roles = {"quasi-identifier": names, "confidential": ["illness"], **(roles or {})}
    sections = {"privacy": {"k": 3}, "partition": FAST, **sections}
    job = aggopt.Job(roles=roles, attributes=attributes, **sections)
    return aggopt.mask(frame, job)


def state(name, values):
    """Return what a group with these values publishes, by the definition."""
    least, greatest = min(values), max(values)
    if name == "job":
        kinds = {kind for kind, jobs in TREE.items() if {*jobs} & {*values}}
        single = len({*values}) == 1
        return values[0] if single else kinds.pop() if len(kinds) == 1 else "*"
    if name == "school":
        ranks = sorted(map(ORDER.index, values))
        low, high = ORDER[ranks[0]], ORDER[ranks[-1]]
        return low if low == high else f"{low} .. {high}"
    if least == greatest:
        return f"{least:g}" if name == "income" else str(least)
    if name == "age":
        low = max(c for c in CUTS[:-1] if c <= least)
        high = min((c for c in CUTS if c > greatest), default=CUTS[-1])
        return f"[{low}, {high}{']' if high == CUTS[-1] else ')'}"
    return f"[{least:.15g}, {greatest:.15g}]" if name == "income" else "*"


def cost(name, text, frame):
    """Return the loss of a statement, by the definition."""
    if name == "age" and text.startswith("["):
        low, high = map(float, text.strip("[])").split(", "))
        return (high - low) / (CUTS[-1] - CUTS[0])
    if name == "income" and text.startswith("["):
        low, high = map(float, text.strip("[])").split(", "))
        return (high - low) / (frame.income.max() - frame.income.min())
    if name == "school" and " .. " in text:
        low, high = map(ORDER.index, text.split(" .. "))
        return (high - low) / 2
    return {"*": 1.0, "craft": 1 / 3, "care": 1 / 3}.get(text, 0.0)


@pytest.mark.parametrize("method", ["mdav", "generalising"])
def test_each_group_publishes_what_is_true_of_all_its_records(method) -> None:
    frame = people()
    partition = FAST if method == "generalising" else {"method": method}
    release = mask(frame, partition=partition)
    for name in STATED:
        for group, values in frame.groupby(release.labels)[name]:
            (text,) = {*release.table[name][release.labels == group]}
            assert text == state(name, values.tolist())
    counts = release.table.groupby([*STATED]).size()
    assert counts.min() >= 3
    losses = {n: [cost(n, text, frame) for text in release.table[n]] for n in STATED}
    for name in STATED:
        proof = release.certificates[name]
        assert proof.objective == pytest.approx(sum(losses[name]))
        assert proof.bound == proof.objective
    mean = np.mean([*losses.values()])
    assert release.measures.types["generalised_loss"] == pytest.approx(mean)
    if method == "generalising":
        (proof,) = release.blocks[0].partition.evidence
        assert proof.settled or release.blocks[0].certificate.bound is not None
        total = sum(map(sum, losses.values()))
        assert release.blocks[0].certificate.objective == pytest.approx(total)


def test_a_file_is_read_back_with_its_statements(tmp_path) -> None:
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    release = mask(tmp_path / "people.csv")
    release.write(tmp_path / "masked.csv", report=tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "which are those of two members" in text
    from aggopt.pipeline.review.review_release import assess_release

    paths = tmp_path / "people.csv", tmp_path / "masked.csv"
    review = assess_release(*paths, release.job)
    assert review.holds
    again = review.measures.types["generalised_loss"]
    assert again == pytest.approx(release.measures.types["generalised_loss"])
    assert review.measures.il == pytest.approx(release.measures.il)


def test_a_job_with_l_needs_no_repair_and_its_certificate_is_of_the_same_loss() -> None:
    for privacy in ({"k": 3, "l": 2}, {"k": 3, "l": 2, "diversity": "entropy"}):
        release = mask(privacy=privacy)
        assert release.audit.holds
        certificate = release.blocks[0].certificate
        assert certificate.solver == "generalising"
        assert 0 < certificate.bound <= certificate.objective
    frame = people().assign(wage=np.arange(30.0))
    roles = {"confidential": ["wage"], "other": ["illness"]}
    assert mask(frame, roles=roles, privacy={"k": 3, "t": 0.3}).audit.holds


def test_units_strata_and_weights_reach_the_search() -> None:
    frame = people().assign(home=np.arange(30) // 2, sex=["f", "m"] * 15)
    release = mask(frame.drop(columns="sex"), roles={"unit": ["home"]})
    pairs = pd.DataFrame({"group": release.labels, "home": frame["home"]})
    assert pairs.groupby("group")["home"].nunique().min() >= 3
    assert release.blocks[0].certificate.solver == "generalising"
    release = mask(frame.drop(columns="home"), roles={"stratum": ["sex"]})
    assert pd.Series(frame["sex"]).groupby(release.labels).nunique().max() == 1
    losses = [cost(n, text, frame) for n in STATED for text in release.table[n]]
    assert release.blocks[0].certificate.objective == pytest.approx(sum(losses))
    weighed = people().assign(weight=[1.0] * 27 + [60.0] * 3)
    release = mask(weighed, roles={"weight": "weight"})
    certificate = release.blocks[0].certificate
    assert certificate.solver == "generalising, then merge"  # for dominance
    by_weight = sum(
        cost(n, text, weighed) * weight
        for n in STATED
        for text, weight in zip(release.table[n], weighed["weight"], strict=True)
    )
    assert certificate.objective == pytest.approx(by_weight / weighed.weight.mean())


def test_some_attributes_publish_statements_and_others_means() -> None:
    some = {name: STATED[name] for name in ("town", "income")}
    frame = people()
    release = mask(frame, {**some, "job": {"tree": TREE}, "school": {"order": ORDER}})
    means = frame.groupby(release.labels)["age"].mean()[release.labels].to_numpy()
    assert np.abs(release.table["age"] - means).max() < 1e-3
    assert {*release.table["town"]} <= {*"abc", "*"}
    losses = [cost(n, text, frame) for n in some for text in release.table[n]]
    found = release.measures.types["generalised_loss"]
    assert found == pytest.approx(np.mean(losses))


def test_recoded_numbers_publish_ranges_of_cells_and_true_bounds() -> None:
    cells = {"publish": "range", "cuts": [30, 60]}
    release = mask(attributes={**change("income", top=50000), "age": cells})
    assert {*release.table["age"]} <= {
        *("below 30", "30 to 59", "60 and more"),
        *("below 30 .. 30 to 59", "below 30 .. 60 and more", "30 to 59 .. 60 and more"),
    }
    highest = release.table["income"].str.extract(r"([0-9.]+)\]?$")[0].astype(float)
    assert highest.max() == 50000
    losses = [release.certificates[name].objective for name in STATED]
    found = release.measures.types["generalised_loss"]
    assert found == pytest.approx(sum(losses) / 30 / len(STATED))


def test_a_tree_with_padding_as_arx_writes_it_publishes_its_nodes() -> None:
    padded = [
        *(["smith", "smith", "craft", "*"], ["turner", "turner", "craft", "*"]),
        *(["nurse", "care", "care", "*"], ["doctor", "doctor", "care", "*"]),
    ]
    one, other = mask(attributes=change("job", tree=padded)), mask()
    assert one.table["job"].tolist() == other.table["job"].tolist()


def test_a_value_in_the_middle_of_its_range_is_not_published_unchanged() -> None:
    frame = pd.DataFrame({"age": [20, 25, 30, 60, 65, 70, 90, 90, 90]})
    roles = {"quasi-identifier": ["age"]}
    job = {"roles": roles, "attributes": {"age": {"publish": "range"}}}
    release = aggopt.mask(frame, aggopt.Job(**job, privacy={"k": 3}))
    assert release.table["age"].tolist()[::3] == ["[20, 30]", "[60, 70]", "90"]
    assert release.audit.unchanged.cells == {"age": 3}
    assert release.measures.types["unchanged"]["age"] == pytest.approx(3 / 9)


def test_a_hole_is_a_level_of_its_own() -> None:
    frame = people()
    frame.loc[::5, "town"] = None
    own = {**STATED, "town": {"publish": "suppress", "missing": "own value"}}
    release = mask(frame, own)
    for group, values in frame.groupby(release.labels)["town"]:
        texts = {*release.table["town"][release.labels == group].fillna("none")}
        distinct = {*values.fillna("none")}
        assert texts == (distinct if len(distinct) == 1 else {"*"})
    frame.loc[::7, "income"] = np.nan
    release = mask(frame, STATED, missing={"policy": "patterns"})
    blank = release.table["income"].isna()
    assert (blank >= frame["income"].isna()).all()


def test_the_loss_of_a_statement_that_is_not_true_is_all() -> None:
    frame = pd.DataFrame({"age": [20, 30, 60, 70], "job": list("aabb")})
    types = {"age": {"publish": "range"}, "job": {"publish": "suppress"}}
    released = pd.DataFrame(
        {"age": ["[20, 30]", "20", "[60, 70]", "*"], "job": ["a", "b", "*", "b"]}
    )
    expected = (np.mean([0.2, 1, 0.2, 1]) + np.mean([0, 1, 1, 0])) / 2
    assert generalised_loss(frame, released, types) == pytest.approx(expected)
    assert generalised_loss(frame[["job"]], frame[["job"]]) is None
    released["age"] = ["[20, 30]", "twenty", "[60, 70]", "*"]
    with refused(TableError, "1 of 5"):
        generalised_loss(frame, released, types)


def change(name, **keys):
    return {**STATED, name: {**STATED[name], **keys}}


OF_JOB = {
    "ancestors without a tree": ({"town": {"publish": "ancestor"}}, "'town'"),
    "intervals without cuts": ({"age": {"publish": "interval"}}, "cuts"),
    "bounds": (change("income", lower=0.0), "lower"),
    "rare": (change("town", rare="avoid"), "rare"),
    "costs of no tree": (change("town", cost="height"), "cost"),
    "falling costs": (
        change("job", cost={"craft": 0.3, "care": 0.2, "*": 0.25}),
        "fall",
    ),
    "costs of no node": (change("job", cost={"craft": 0.3}), "leave out"),
    "cuts that fall": (change("age", cuts=[0, 80, 30]), "increase"),
    "a name of two nodes": (
        change("job", tree={**TREE, "top": ["smith", "mason"]}),
        "twice",
    ),
}


@pytest.mark.parametrize("case", OF_JOB)
def test_a_statement_that_cannot_be_made_is_refused(case) -> None:
    attributes, word = OF_JOB[case]
    with refused(JobError, word.strip("'")):
        mask(attributes=attributes)


def test_ranges_of_names_are_refused() -> None:
    with refused(UnknownNameError, "'town'"):
        mask(attributes=change("town", publish="range"))


OF_TABLE = {
    "values beyond the cuts": change("age", cuts=[30, 80]),
    "labels that the tree lacks": change("job", tree={"craft": ["smith", "turner"]}),
}


@pytest.mark.parametrize("case", OF_TABLE)
def test_a_table_that_does_not_fit_is_refused(case) -> None:
    with refused(TableError, "Column"):
        mask(attributes=OF_TABLE[case])


WITH = {
    "keep": {"aggregation": {"method": "mean", "keep": "variance"}},
    "p3m": {"aggregation": {"method": "p3m"}},
    "frequencies": {"aggregation": {"categories": {"method": "frequencies"}}},
    "cross": {
        "aggregation": {
            "categories": {"method": "frequencies", "cross": [["job", "town"]]}
        }
    },
    "fill": {"missing": {"policy": "fill"}},
}


@pytest.mark.parametrize("case", WITH)
def test_what_computes_other_values_is_refused(case) -> None:
    with refused(JobError, "publish"):
        mask(**WITH[case])


def test_wishes_and_dates_are_refused() -> None:
    wish = people().assign(wish=0.1)
    with refused(JobError, "wish"):
        mask(wish, roles={"wish": ["wish"]})
    dated = people().assign(age=pd.date_range("2020-01-01", periods=30))
    with refused(JobError, "'range'"):
        mask(dated, change("age", publish="range", cuts=None))
    with refused(JobError, "'fill'"):
        types = {"job": {"tree": TREE}, "school": {"order": ORDER}}
        mask(attributes=types, missing={"policy": "fill"})


def test_a_level_called_as_a_statement_is_refused() -> None:
    frame = people().replace({"town": {"c": "*"}})
    with refused(JobError, "'town'"):
        mask(frame)
    order = [*ORDER, "low .. high"]
    with refused(JobError, "'school'"):
        mask(attributes=change("school", order=order))
    with refused(JobError, "5050 ranges"):
        mask(attributes=change("school", order=[*ORDER, *map(str, range(98))]))
