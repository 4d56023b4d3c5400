"""Laws that every privacy model obeys, on the line that its template has of it."""

import tomllib

import numpy as np
import pytest
from tables import promising, salaried

import aggopt
from aggopt.errors import JobError, UnknownNameError
from aggopt.input.confidential import confidential_of, requirements_of
from aggopt.input.table import Table
from aggopt.privacy._model import REQUIREMENTS
from aggopt.privacy._requirement import members

OF_VALUES = [name for name, model in REQUIREMENTS.items() if model.requirement]


def paid():
    frame = salaried(40)
    return frame.assign(salary=frame["salary"] // 4000 * 4000)


def asked(name):
    """The keys of a model that its template shows, as [privacy] has them."""
    lines = REQUIREMENTS[name].template.splitlines()
    shown = [line.removeprefix("# ") for line in lines if line.startswith(f"# {name} ")]
    return tomllib.loads("\n".join(shown))


def requirement(name):
    job = promising(**asked(name), repair="merge")
    table = Table.of(paid(), job.roles)
    held = confidential_of(table.frame, table.roles, job.privacy, ".")
    (found,) = requirements_of(held)
    return found


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_a_model_says_of_itself_what_others_derive(name):
    model = REQUIREMENTS[name]
    keys = model.settings.model_fields
    assert name in keys
    assert model.when
    assert not model.when.endswith(".")
    if model.requirement is not None:
        assert keys[name].default is None
        assert list(asked(name)) == [name]
    others = [m for n, m in REQUIREMENTS.items() if n != name]
    assert not any(set(keys) & set(other.settings.model_fields) for other in others)


@pytest.mark.parametrize("name", OF_VALUES)
def test_what_it_promises_is_kept_by_merging_and_audited(name):
    release = aggopt.mask(paid(), promising(**asked(name), repair="merge"))
    (check,) = release.audit.promises
    assert check.holds
    assert f"{check.promise} {check.sign} {check.asked:g} holds" in str(release.audit)
    assert name in release.job.to_toml()


@pytest.mark.parametrize("name", OF_VALUES)
def test_it_is_refused_where_nothing_keeps_it_and_where_it_is_misspelled(name):
    with pytest.raises(JobError, match=f"mdav does not guarantee {name}"):
        aggopt.mask(paid(), promising(**asked(name)))
    with pytest.raises(UnknownNameError, match=r"No key of \[privacy\] is called"):
        promising(**{f"{name}_": asked(name)[name]})


@pytest.mark.parametrize("name", OF_VALUES)
@pytest.mark.parametrize("seed", range(3))
def test_groups_fall_short_exactly_where_they_break_it(name, seed):
    of, rng = requirement(name), np.random.default_rng(seed)
    labels = np.unique(rng.integers(0, 9, of.n), return_inverse=True)[1]
    records, starts = members(labels)
    short, broken = of.short(records, starts), of.broken(records, starts)
    assert ((short > 0) == broken).all()
    assert of.satisfied(labels) == (not broken.any()) == of.check(labels).holds
    assert of.check(labels).broken == broken.sum()
    found = of.found(records, starts)
    worst = found.max() if of.sign == "<=" else found.min()
    assert of.check(labels).found == pytest.approx(worst)
    one = [of.broken(*members(np.where(labels == g, 0, 1)))[0] for g in range(3)]
    assert one == broken[:3].tolist()


@pytest.mark.parametrize("name", OF_VALUES)
def test_the_order_of_groups_and_of_their_records_does_not_matter(name):
    of, rng = requirement(name), np.random.default_rng(1)
    labels = rng.permutation(np.arange(of.n) % 8)
    records, starts = members(labels)
    mixed = records.copy()
    for g in range(8):
        rng.shuffle(mixed[starts[g] : starts[g + 1]])
    assert (of.found(mixed, starts) == of.found(records, starts)).all()
    turned = of.check((labels + 3) % 8)
    assert turned == of.check(labels)


@pytest.mark.parametrize("name", OF_VALUES)
def test_a_union_satisfies_what_its_groups_do_if_it_is_additive(name):
    of, rng = requirement(name), np.random.default_rng(2)
    if not of.additive:
        return
    for _ in range(30):
        labels = rng.permutation(np.arange(of.n) % 5)
        union = np.unique(np.where(labels == 1, 0, labels), return_inverse=True)[1]
        before, after = of.broken(*members(labels)), of.broken(*members(union))
        assert before[:2].any() or not after[0]


@pytest.mark.parametrize("name", OF_VALUES)
def test_it_shows_no_record(name):
    values = {f"{value:g}" for value in paid()["salary"]}
    said = repr(requirement(name)) + str(requirement(name).check(np.zeros(40, int)))
    assert not any(value in said for value in values if len(value) > 3)
    assert "array" not in said
