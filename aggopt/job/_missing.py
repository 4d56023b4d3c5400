"""The section that says what happens to quasi-identifiers that are missing."""

from typing import Literal

from pydantic import StrictBool, model_validator

from aggopt.core.section import Section


class Missing(Section):
    """What happens to values that are missing, of any quasi-identifier.

    But where an attribute says itself `missing = "own value"`, or `"refuse"`.

    Attributes
    ----------
    policy
        "refuse"; "patterns": they are published as missing, and groups made of records
        whose values are missing in the same attributes, see `aggopt.missing.patterns`;
        or "fill": what their group publishes stands in their place, and groups are made
        by imputed values, see `aggopt.missing.imputed`.
    report_compatible
        Whether the audit also counts how many records would share the rarest
        combination if what is missing equalled anything: a figure, not k.
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
