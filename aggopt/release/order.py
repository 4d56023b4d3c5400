"""Order of records in a published file: random, unless a job sets otherwise."""

import secrets
from dataclasses import dataclass, field

import numpy as np

from aggopt.core.randomness import BITS, draw_permutation
from aggopt.core.validation import Labels
from aggopt.job import Job
from aggopt.release.manifest import Source


@dataclass(frozen=True, eq=False)
class Order:
    """The place of each record of the input in the file, (n,), and its seed.

    It identifies every record: it is for the owner.
    """

    seed: int = field(repr=False)
    place: Labels = field(repr=False)

    @classmethod
    def drawn(
        cls, n: int, job: Job, source: Source, secret: str, seed: int | None
    ) -> "Order":
        """Return the order of n records, from a seed or a random one.

        The secret and every column are mixed into the seed.  The seed without the
        secret reveals nothing, even if an attacker knows all quasi-identifiers.
        """
        if seed is None:
            seed = secrets.randbits(BITS)
        if not job.output.shuffle:
            return cls(seed, np.arange(n))
        return cls(
            seed, draw_permutation(secret, f"order {seed} {source.fingerprint}", n)
        )

    @property
    def records(self) -> Labels:
        """The record of the input at each place, (n,)."""
        return np.argsort(self.place)
