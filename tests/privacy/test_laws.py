"""Every privacy model obeys the laws of `aggopt.checks`, and can be asked of a job."""

import pytest
from refusals import refused
from tables import promising, salaried

import aggopt
from aggopt.checks import parametrize_with_checks
from aggopt.checks._records import read_template_keys as template_of
from aggopt.errors import JobError, UnknownNameError
from aggopt.privacy.model import REQUIREMENTS

OF_VALUES = [name for name, model in REQUIREMENTS.items() if model.requirement]


def paid():
    frame = salaried(40)
    return frame.assign(salary=frame["salary"] // 4000 * 4000)


def asked(name):
    return template_of(REQUIREMENTS[name])


@parametrize_with_checks(*REQUIREMENTS.values())
def test_laws(check):
    check()


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
    with refused(UnknownNameError, "[privacy]"):
        promising(**{f"{name}_": asked(name)[name]})
