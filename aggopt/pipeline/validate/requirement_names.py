"""Names of requirements of confidential attributes, for messages."""

from collections.abc import Sequence
from typing import Any

from aggopt.core.section import Section, list_written_keys
from aggopt.job import Privacy
from aggopt.privacy.model import OWN_MODELS


def describe_requirement(privacy: Privacy) -> str:
    """Return the requirements as text, as "l = 3 is promised"."""
    return f"{_listed(privacy)} {'is' if len(privacy.models) == 1 else 'are'} promised"


def _listed(privacy: Privacy) -> str:
    return " and ".join(
        model.name
        if model.origin
        else f"{model.name} = {_written(getattr(privacy, model.name))}"
        for model in privacy.models
    )


def requirement_names(asked: Sequence[str], privacy: Privacy) -> list[str]:
    """Return the names of requirements; user models have their own names."""
    own = [model.name for model in privacy.models if model.origin]
    return [n for each in asked for n in (own if each == OWN_MODELS else [each])]


def _written(value: Any) -> str:
    """Return a key's value as a job file has it."""
    if not isinstance(value, Section):
        return str(value)
    inner = (
        f"{key} = {_written(v)}" for key, v in value if key in list_written_keys(value)
    )
    return f"{{ {', '.join(inner)} }}"
