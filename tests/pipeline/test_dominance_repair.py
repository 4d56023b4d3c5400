"""Groups are merged for sampling weights if the partition does not keep dominance."""

import numpy as np
import pytest
from surveys import largest_share, masked, sample

SPREAD, ALIKE = np.r_[np.full(7, 1.0), 9.0], np.ones(8)
CASES = {  # method, weights, largest share: whether groups are merged
    "a search that keeps dominance": ("local_search", SPREAD, 0.75, False),
    "a method that does not": ("mdav", SPREAD, 0.75, True),
    "a search of equal weights": ("local_search", ALIKE, 0.3, True),
    "groups that no record can dominate": ("mdav", SPREAD, 9 / 11, False),
    "groups that one can, by a little": ("mdav", SPREAD, 0.817, True),
}


@pytest.mark.parametrize("case", CASES)
def test_groups_are_merged_only_if_a_record_could_dominate_one(case) -> None:
    method, weights, share, is_merged = CASES[case]
    release = masked(
        sample(8, w=weights),
        partition={"method": method},
        weights={"dominance": share},
    )
    assert largest_share(release.labels, weights) <= share + 1e-12
    reasons = [note for note in release.notes if "of the weight of its group" in note]
    assert len(reasons) == is_merged
    if is_merged:
        assert f"{method!r} does not look at" in reasons[0]
        assert f"more than {share:g} of the weight" in reasons[0]


@pytest.mark.parametrize(
    ("method", "use"),
    [
        ("local_search", "groups, means and losses are by weight"),
        ("mdav", "'mdav' makes groups without weights"),
    ],
)
def test_a_note_states_the_use_of_the_weights(method, use) -> None:
    frame = sample(24)
    notes = masked(frame, partition={"method": method}).notes
    about_weights = [note for note in notes if note.startswith("'w' weighs records")]
    assert len(about_weights) == 1
    assert use in about_weights[0]
    assert "k counts records" in about_weights[0]
    equal = masked(frame.assign(w=1.0), partition={"method": method}).notes
    assert not [note for note in equal if note.startswith("'w' weighs records")]
