"""Record of a release's writing, for reproducing it."""

from dataclasses import dataclass, replace

from aggopt.errors import RepeatError


@dataclass(frozen=True)
class WriteRecipe:
    """Record of an earlier writing: the seed of its order, and the table's hash."""

    seed: int | None
    sha256: str
    reason: str = ""

    def explained(self, reason: str) -> "WriteRecipe":
        """Return the record with an explanation for differing bytes."""
        return replace(self, reason=reason)

    def require(self, digest: str) -> None:
        """Refuse a table of other bytes."""
        if digest != self.sha256:
            raise RepeatError(
                "The masked table came out different from the one that the manifest "
                f"describes. {self.reason}",
                fix="repeat it with the manifest as it was written, where those "
                "versions are, and without time limits; nothing was written.",
            )
