"""All three criteria of one release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aggopt.core.html import render_html_lines
from aggopt.errors import JobError
from aggopt.measure._interval import check_safety
from aggopt.measure.criteria._attack import LEVEL, AttackResult, check_level
from aggopt.measure.criteria._inference import attack_inference
from aggopt.measure.criteria._linkability import attack_linkability
from aggopt.measure.criteria._singling_out import attack_singling_out, list_conditions
from aggopt.measure.criteria._tables import ATTACKS, AttackTables, check_attacks


@dataclass(frozen=True)
class Criteria:
    """The attacks of the three criteria; printed, they are a table.

    Attributes
    ----------
    attacks
        Singling out, linkability, and inference of each secret attribute.
    level
        Confidence that no interval misses its rate: each has
        1 - (1 - level) / attacks (Bonferroni).
    control
        Number of records of the control.
    is_second_masking
        Whether the figures are those of a second masking, without the control.
    """

    attacks: tuple[AttackResult, ...]
    level: float
    control: int
    is_second_masking: bool = False

    @property
    def helps(self) -> bool:
        """Whether the release helps some attack by more than its interval."""
        return any(attack.helps for attack in self.attacks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "level": self.level,
            "control_records": self.control,
            "second_masking": self.is_second_masking,
            "helps": self.helps,
            "attacks": [attack.to_dict() for attack in self.attacks],
        }

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> "Criteria":
        """Return the criteria from the entries that `to_dict` returned.

        Raises
        ------
        JobError
            Entries are missing, or are no figures of attacks.
        """
        try:
            attacks = tuple(map(AttackResult.from_dict, entries["attacks"]))
            level = check_level(entries["level"])
            control = entries["control_records"]
            again = entries["second_masking"]
            is_valid = bool(attacks) and type(control) is int and control > 0
            is_valid &= type(again) is bool
        except (AttributeError, KeyError, TypeError, ValueError):
            is_valid = False
        if not is_valid:
            raise JobError(
                "These entries are not those of the three criteria.",
                fix="pass the result of to_dict.",
            )
        return cls(attacks, level, control, again)

    def __str__(self) -> str:
        """Return a table in plain text."""
        head = f"{'Attack':<30}{'reaches':>9}{'chance':>9}{'control':>9}  excess"
        lines = [
            f"{attack.name:<30}{100 * attack.rate:>7.1f} %"
            f"{100 * attack.chance:>7.1f} %{100 * attack.control:>7.1f} %  "
            f"{100 * attack.excess:.1f} % ({100 * attack.excess_interval[0]:.1f} to "
            f"{100 * attack.excess_interval[1]:.1f} %)"
            + (" HELPS THE ATTACKER" if attack.helps else "")
            for attack in self.attacks
        ]
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        """Return the printed table as HTML for a notebook."""
        return render_html_lines(str(self))


def assess(
    original: Any,
    released: Any,
    control: Any,
    *,
    secret: str | Sequence[str] = (),
    safety: float = 0.05,
    attacks: int = ATTACKS,
    level: float = LEVEL,
    seed: int = 0,
) -> Criteria:
    """Return singling out, linkability and inference of a release.

    An intruder knows all attributes but the `secret` ones.  With one known attribute
    there is no linkability, and without a secret one no inference.

    Parameters
    ----------
    original, released
        Tables with equal columns, and records in one order.
    control
        Records of persons that are not in the release, from the same population.
    secret
        Attributes that are guessed, and that no other attack uses.
    safety, attacks, seed
        As in `singling_out`, `linkability` and `inference`.
    level
        Confidence of all intervals together.

    Raises
    ------
    TableError, JobError, UnknownNameError
        As in these functions.

    Source: Article 29 Working Party, opinion 05/2014; Giomi, Boenisch, Wehmeyer and
    Tasnadi (2023).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = assess(x[:80], x[:80], x[80:])
    >>> {attack.name: round(attack.rate, 2) for attack in found.attacks}
    {'singling out by equality': 1.0, 'singling out by order': 1.0, 'linkability': 1.0}
    >>> found.helps
    True
    """
    tables = AttackTables.of(original, released, control)
    secrets = tables.find([secret] if isinstance(secret, str) else list(secret))
    known_columns = [j for j in range(len(tables.names)) if j not in secrets]
    if not known_columns:
        raise JobError(
            "All attributes are secret, so that an intruder knows none.",
            fix="name fewer attributes as secret.",
        )
    width = check_safety(safety)
    count = check_attacks(attacks)
    selected = tables.select(known_columns)
    conditions = list_conditions(selected)
    family = len(conditions) + (len(known_columns) > 1) + len(secrets)
    level_of_attack = 1 - (1 - check_level(level)) / family
    results = [
        attack_singling_out(selected, by, count, level_of_attack, seed)
        for by in conditions
    ]
    if len(known_columns) > 1:
        halves = known_columns[::2], known_columns[1::2]
        results.append(attack_linkability(tables, halves, count, level_of_attack, seed))
    if secrets:
        results += attack_inference(
            tables, known_columns, secrets, width, count, level_of_attack, seed
        )
    return Criteria(tuple(results), level, tables.control.n)
