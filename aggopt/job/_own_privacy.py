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


def list_sections(own: Any) -> list[Any]:
    """Return the sections that `own` lists; one name or section becomes a list.

    Raises
    ------
    JobError
        One of them does not name a user's privacy model.
    """
    return [_make_section(entry) for entry in (own if _is_list(own) else [own])]


def _is_list(own: Any) -> bool:
    return isinstance(own, list | tuple)


def _make_section(entry: Any) -> Any:
    if isinstance(entry, OwnRequiring):
        return entry
    section = entry if isinstance(entry, Mapping) else {"method": entry}
    method = section.get("method")
    if REQUIREMENTS.names_own(method):
        return section
    subject = f"{method!r}, which is" if isinstance(method, str) else "what is"
    raise JobError(
        f"[privacy] own names {subject} no privacy model of yours.",
        fix='name a file and a function in it, own = "mine.py:spread", or one with its '
        'settings, own = { method = "mine.py:spread", least = 3 }; those of this '
        f"package have keys of their own: {', '.join(REQUIREMENTS)}.",
    )
