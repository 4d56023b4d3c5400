"""Which aggregation keeps what: taken as the page says, or refused in words."""

from pathlib import Path

import numpy as np
import pytest
from refusals import refused
from tables import job

from aggopt.aggregate import AGGREGATORS
from aggopt.aggregate.kept_statistics import STATISTICS
from aggopt.errors import JobError

PAGE = Path(__file__).parents[2] / "docs" / "mathematics" / "joint.md"


def stated() -> dict[tuple[str, str], str]:
    """Return what the page's table says of each method and statistic."""
    lines = PAGE.read_text("utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| `keep`"))
    cells = [[c.strip() for c in line.split("|")[1:-1]] for line in lines[first:]]
    methods = [name.strip("`") for name in cells[0][1:]]
    rows = {
        row[0].split("`")[1].strip('"'): row[1:]
        for row in cells[2 : 2 + len(STATISTICS)]
    }
    return {
        (method, statistic): said
        for statistic, row in rows.items()
        for method, said in zip(methods, row, strict=True)
    }


def test_the_page_has_every_method_and_statistic():
    assert set(stated()) == {(m, s) for m in AGGREGATORS for s in STATISTICS}


@pytest.mark.parametrize(("method", "keep"), stated())
def test_what_the_page_says_is_kept_is_taken_and_all_else_refused(method, keep):
    said = stated()[method, keep]
    section = {"method": method, "keep": keep}
    if method == "median" or said == "no":
        with pytest.raises(JobError):
            job(aggregation=section)
        return
    taken = job(aggregation=section).aggregation
    assert taken.keeps == set(STATISTICS[1 : STATISTICS.index(keep) + 1])
    if said in ("default", "always"):
        assert job(aggregation={"method": method}).aggregation == taken


@pytest.mark.parametrize("method", [m for m in AGGREGATORS if m != "median"])
@pytest.mark.parametrize("keep", STATISTICS)
def test_functions_refuse_what_jobs_refuse_in_the_same_words(method, keep):
    def called():
        AGGREGATORS[method].function([[0.0], [2], [5], [9]], [0, 0, 1, 1], keep=keep)

    if stated()[method, keep] != "no":
        called()
        return
    with pytest.raises(JobError) as of_job:
        job(aggregation={"method": method, "keep": keep})
    with pytest.raises(JobError) as of_function:
        called()
    assert str(of_job.value) == str(of_function.value)
    assert str(of_job.value).startswith(f'{method} with keep = "{keep}": ')


@pytest.mark.parametrize(
    ("method", "keep"),
    [
        ("mean", "nothing"),
        ("p3m", "mean"),
        ("p3m", "nothing"),
        ("satisfaction", "mean"),
    ],
)
def test_a_refusal_says_why_and_what_there_is(method, keep):
    with refused(JobError):
        job(aggregation={"method": method, "keep": keep})


@pytest.mark.parametrize("method", [m for m in AGGREGATORS if m != "median"])
def test_an_unknown_statistic_names_those_that_the_method_keeps(method):
    able = {keep for keep in STATISTICS if stated()[method, keep] != "no"}
    with refused(JobError, "everything") as of_job:
        job(aggregation={"method": method, "keep": "everything"})
    with refused(JobError, "everything") as of_function:
        AGGREGATORS[method].function([[0.0], [2]], [0, 0], keep="everything")
    named = of_job.value.fix.partition(", {")[0]
    assert {keep for keep in STATISTICS if f'"{keep}"' in named} == able
    _, _, known = of_function.value.fix.rstrip(".").partition("The known names are ")
    assert set(known.split(", ")) == able


def test_keep_is_of_numbers_not_of_categories():
    section = {"categories": {"method": "plurality", "keep": "mean"}}
    with refused(JobError, "[aggregation.categories]"):
        job(aggregation=section)
    with refused(JobError, "No key"):
        job(aggregation={"categories": {"method": "plurality", "kept": "mean"}})


def test_values_of_each_statistic_keep_it_and_lose_more_than_those_of_less():
    rng = np.random.default_rng(1)
    X = rng.gamma(2.0, size=(30, 3))
    labels = rng.permutation(np.arange(30) // 5)
    lost = []
    for keep in STATISTICS[1:]:
        made = AGGREGATORS["mean"].function(X, labels, keep=keep)
        lost.append(sum(c.objective for c in made.certificates))
        values = made.values
        assert values.mean(axis=0) == pytest.approx(X.mean(axis=0))
        same = np.allclose(values.std(axis=0), X.std(axis=0))
        assert same == (keep != "mean")
        correlated = np.allclose(np.corrcoef(values.T), np.corrcoef(X.T))
        assert correlated == (keep == "covariance")
    assert lost == sorted(lost)
