"""What a repair and the reading of confidential values are given."""

from types import SimpleNamespace

import pytest
from tables import job

from aggopt.errors import InfeasibleInputError
from aggopt.pipeline.validate import privacy_guarantees as guarantees
from aggopt.pipeline.validate.privacy_guarantees import (
    _kept_by,
    read_confidential,
    repair_block,
)
from aggopt.privacy.model import OWN_MODELS

ASKED = {"k": 4, "l": 2, "repair": "merge"}


def test_a_repair_is_given_groups_requirements_and_whom_to_tell(monkeypatch) -> None:
    heard, made = [], []
    merging = SimpleNamespace(function=lambda *of: heard.append(of))
    monkeypatch.setattr(guarantees, "REPAIRS", SimpleNamespace(of=lambda how: merging))
    monkeypatch.setattr(guarantees, "list_requirements", lambda held: (f"of {held}",))
    monkeypatch.setattr(guarantees, "_bound_of_start", lambda block, job: 0.5)
    asked = job(privacy=ASKED)
    partition = SimpleNamespace(interrupted=False)
    block = SimpleNamespace(partition=partition, labels="labels")
    told = ("held", "told", ["more"], "weights")
    assert repair_block(block, "X", asked, *told) is block
    ((given, labels, how),) = heard
    assert tuple(given) == ("X", 4, ("of held", "more"), 0.5, "told", "weights")
    assert (labels, how) == ("labels", asked.privacy.repair)
    monkeypatch.setattr(
        guarantees, "replace", lambda *of, **new: made.append((of, new))
    )
    merging.function = lambda *_: "other groups"
    repair_block(block, "X", asked, "held", "told")
    assert made == [((block,), {"partition": "other groups"})]


@pytest.mark.parametrize("repair", [None, "merge"])
def test_what_was_interrupted_is_not_repaired_nor_what_names_no_repair(repair) -> None:
    asked = job(privacy=ASKED if repair else {"k": 4})
    block = SimpleNamespace(partition=SimpleNamespace(interrupted=bool(repair)))
    assert repair_block(block, None, asked, (), None) is block


def halves(X, k):
    return [0, 1] * (len(X) // 2)


def test_only_a_partition_of_the_users_leaves_their_privacy_models_to_the_audit() -> (
    None
):
    assert _kept_by(job()) == {"k"}
    assert _kept_by(job(partition={"method": halves})) == {"k", OWN_MODELS}


def test_what_no_groups_of_k_satisfy_is_refused_as_it_is_read(monkeypatch) -> None:
    heard, refusal = [], InfeasibleInputError("There are none.", fix="ask for less.")
    asked = job(privacy=ASKED)
    table = SimpleNamespace(frame="frame", roles="roles")

    def confidential_of(*of):
        heard.append(of)
        return ("held",)

    monkeypatch.setattr(guarantees, "read_confidential_attributes", confidential_of)
    of_k = [SimpleNamespace(infeasible=lambda k: None)]
    monkeypatch.setattr(guarantees, "list_requirements", lambda held: of_k)
    assert read_confidential(table, asked, ",") == ("held",)
    assert heard == [("frame", "roles", asked.privacy, ",")]
    of_k.append(SimpleNamespace(infeasible=lambda k: refusal if k == 4 else None))
    with pytest.raises(InfeasibleInputError, match="There are none"):
        read_confidential(table, asked, ",")
