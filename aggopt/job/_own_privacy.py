"""The section of a user's privacy model."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from aggopt.core.plugins.section import UserMethodSection
from aggopt.core.registry import Registry
from aggopt.errors import JobError
from aggopt.privacy.model import REQUIREMENTS, OwnPrivacyModel


class OwnRequiring(UserMethodSection):
    """A user's privacy model; the other keys are its settings.

    Attributes
    ----------
    attributes
        Its confidential attributes; all of them when left out.
    """

    methods: ClassVar[Registry[Any]] = REQUIREMENTS
    attributes: tuple[str, ...] | None = Field(default=None, min_length=1)

    @property
    def model(self) -> OwnPrivacyModel:
        """The privacy model with its settings; raises as `contained`."""
        loaded = self.contained()
        own: OwnPrivacyModel = loaded._own  # type: ignore[assignment]
        return own.asking(loaded.arguments, loaded.attributes)


def listed(own: Any) -> list[Any]:
    """Return the sections that `own` lists; one name or section becomes a list.

    Raises
    ------
    JobError
        One of them does not name a user's privacy model.
    """
    return [_section(each) for each in (own if _several(own) else [own])]


def _several(own: Any) -> bool:
    return isinstance(own, list | tuple)


def _section(each: Any) -> Any:
    if isinstance(each, OwnRequiring):
        return each
    section = each if isinstance(each, Mapping) else {"method": each}
    named = section.get("method")
    if REQUIREMENTS.names_own(named):
        return section
    seen = f"{named!r}, which is" if isinstance(named, str) else "what is"
    raise JobError(
        f"[privacy] own names {seen} no privacy model of yours.",
        fix='name a file and a function in it, own = "mine.py:spread", or one with its '
        'settings, own = { method = "mine.py:spread", least = 3 }; those of this '
        f"package have keys of their own: {', '.join(REQUIREMENTS)}.",
    )
