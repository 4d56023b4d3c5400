"""The section on missing values of quasi-identifiers."""

from typing import Literal

from pydantic import StrictBool, model_validator

from aggopt.core.section import Section


class Missing(Section):
    """Treatment of missing values of all quasi-identifiers.

    An attribute's `missing = "own value"`, or `"refuse"`, has precedence.

    Attributes
    ----------
    policy
        "refuse"; "patterns": they are published as missing, and groups consist of
        records with values missing in equal attributes, see `aggopt.missing.patterns`;
        or "fill": they are replaced by the value of their group, and groups are made by
        imputed values, see `aggopt.missing.imputed`.
    report_compatible
        Whether the audit also counts how many records would share the rarest
        combination if missing values equalled any value: a figure, not k.
    """

    policy: Literal["refuse", "patterns", "fill"] = "refuse"
    report_compatible: StrictBool = False

    @model_validator(mode="after")
    def _check(self) -> "Missing":
        if self.report_compatible and self.policy != "patterns":
            raise ValueError(
                "report_compatible counts holes of a release, which only policy = "
                '"patterns" leaves'
            )
        return self
