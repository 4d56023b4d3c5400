"""The three criteria of the opinion 05/2014: planted leaks, and tables without one.

Part 1 plants ten leaks into a release of groups of k and prints which criterion finds
each.  Part 2 masks twenty tables and prints the largest excess of each, with the number
of claims, for three k.  Part 3 prints the time for large tables.

    python benchmarks/criteria.py [FOLDER]

FOLDER has CSV files, the first of the twenty tables; without one it is AGGOPT_DATA.
"""

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from aggopt.measure.criteria import Criteria, assess
from aggopt.partition import mdav

SIZES = (3, 5, 10)
SECRET = "ill"


def draw_people(n: int, seed: int, noise: float = 1.0) -> pd.DataFrame:
    """Return n persons: five related numbers, two categories, and a secret one."""
    random = np.random.default_rng(seed)
    hidden = random.normal(size=(n, 3))
    values = hidden @ random.normal(size=(3, 5)) + noise * random.normal(size=(n, 5))
    people = pd.DataFrame(100 + 20 * values, columns=[*"abcde"]).round(3)
    people["sex"] = random.choice(["f", "m"], n)
    people["job"] = random.choice([*"pqrst"], n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    people[SECRET] = np.where(hidden[:, 0] + random.normal(size=n) > 0.8, "yes", "no")
    return people


def mask_groups(people: pd.DataFrame, names: list[str], k: int) -> pd.DataFrame:
    """Return means and most frequent names of groups of k, found by MDAV."""
    numbers = [name for name in names if people[name].dtype.kind in "iuf"]
    names_only = [name for name in names if name not in numbers]
    x = people[numbers].to_numpy(float)
    x = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    if names_only:
        x = np.hstack([x, pd.get_dummies(people[names_only]).to_numpy(float)])
    groups = people.groupby(np.asarray(mdav(x, k).labels))
    masked = people.copy()
    for name in numbers:
        masked[name] = groups[name].transform("mean")
    for name in names_only:
        masked[name] = groups[name].transform(lambda part: part.mode().iloc[0])
    return masked


def split(people: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return nine tenths of the records, and the control."""
    order = np.random.default_rng(seed).permutation(len(people))
    kept = len(people) - len(people) // 10
    parts = order[:kept], order[kept:]
    first, second = (people.iloc[part].reset_index(drop=True) for part in parts)
    return first, second


Tables = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


def plant_keys(original: pd.DataFrame, masked: pd.DataFrame, c: pd.DataFrame) -> Tables:
    """Publish keys of persons, in a random order."""
    keys = np.random.default_rng(5).permutation(len(original) + len(c))
    n = len(original)
    return (
        original.assign(key=keys[:n]),
        masked.assign(key=keys[:n]),
        c.assign(key=keys[n:]),
    )


def plant_copy(original: pd.DataFrame, masked: pd.DataFrame, c: pd.DataFrame) -> Tables:
    """Publish one column unmasked."""
    return original, masked.assign(a=original["a"]), c


def plant_tails(
    original: pd.DataFrame, masked: pd.DataFrame, c: pd.DataFrame
) -> Tables:
    """Publish the largest twentieth of a column unmasked."""
    tail = original["a"] > original["a"].quantile(0.95)
    return original, masked.assign(a=masked["a"].mask(tail, original["a"])), c


def plant_single(
    original: pd.DataFrame, masked: pd.DataFrame, c: pd.DataFrame
) -> Tables:
    """Make a group of one record."""
    names = [name for name in original if name != SECRET]
    masked = masked.copy()
    masked.loc[7, names] = original.loc[7, names]
    return original, masked, c


def plant_hash(original: pd.DataFrame, masked: pd.DataFrame, c: pd.DataFrame) -> Tables:
    """Publish the hash of a number that identifies persons."""

    def compute_hash(number: int) -> str:
        return hashlib.sha256(str(number).encode()).hexdigest()

    n = len(original)
    hashes = [compute_hash(number) for number in range(n + len(c))]
    return (
        original.assign(hash=hashes[:n]),
        masked.assign(hash=hashes[:n]),
        c.assign(hash=hashes[n:]),
    )


def plant_order(
    original: pd.DataFrame, masked: pd.DataFrame, c: pd.DataFrame
) -> Tables:
    """Keep the order of a list that the intruder has."""
    n = len(original)
    outside = np.random.default_rng(6).uniform(0, n, len(c))
    return (
        original.assign(row=np.arange(n)),
        masked.assign(row=np.arange(n)),
        c.assign(row=outside),
    )


def plant_decimal(
    original: pd.DataFrame, masked: pd.DataFrame, c: pd.DataFrame
) -> Tables:
    """Round a column to one decimal, which stays unique, in place of masking it."""
    return original, masked.assign(a=original["a"].round(1)), c


def plant_rare(original: pd.DataFrame, masked: pd.DataFrame, c: pd.DataFrame) -> Tables:
    """Publish the rare job of one person."""
    original = original.copy()
    masked = masked.copy()
    original.loc[3, "job"] = masked.loc[3, "job"] = "astronaut"
    return original, masked, c


def plant_noise(
    original: pd.DataFrame, masked: pd.DataFrame, c: pd.DataFrame
) -> Tables:
    """Publish numbers with noise of a fiftieth of a standard deviation."""
    random = np.random.default_rng(7)
    numbers = original.select_dtypes("number")
    noise = random.normal(size=numbers.shape) * numbers.std().to_numpy() / 50
    return original, masked.assign(**(numbers + noise)), c


def plant_function(
    original: pd.DataFrame, masked: pd.DataFrame, c: pd.DataFrame
) -> Tables:
    """Let a published key determine the secret attribute."""
    tables = plant_keys(original, masked, c)
    answers = np.random.default_rng(8).choice(["yes", "no"], len(original) + len(c))
    whole = [table.assign(**{SECRET: answers[table["key"]]}) for table in tables]
    return whole[0], whole[1], whole[2]


ATTACKS = 1000
LEAKS: tuple[Callable[[pd.DataFrame, pd.DataFrame, pd.DataFrame], Tables], ...] = (
    plant_keys,
    plant_copy,
    plant_tails,
    plant_single,
    plant_hash,
    plant_order,
    plant_decimal,
    plant_rare,
    plant_noise,
    plant_function,
)


def iter_tables(folder: Path) -> Iterator[tuple[str, pd.DataFrame, list[str]]]:
    """Yield name, table and secret columns: of files, and then drawn ones."""
    for path in sorted(folder.glob("*.csv")):
        table = pd.read_csv(path).dropna(axis=1)
        numbers = [name for name in table if table[name].dtype.kind in "iuf"]
        names = numbers[:8]
        yield path.stem, table[names], names[6:]
    for seed in range(20):
        n = (600, 1000, 2000, 4000)[seed % 4]
        noise = (0.3, 1.0, 3.0)[seed % 3]
        people = draw_people(n, seed, noise)
        yield f"drawn {seed}: {n}, noise {noise}", people, [SECRET, "job"]


def find_leaks(
    n: int = 1000, k: int = 5, seed: int = 0, attacks: int = ATTACKS
) -> dict[str, Criteria]:
    """Return the criteria of a release with each of the ten leaks, by its name."""
    original, control = split(draw_people(n, seed), seed)
    names = [name for name in original if name != SECRET]
    masked = mask_groups(original, names, k)
    leaks = {}
    for plant in LEAKS:
        name = str(plant.__doc__).rstrip(".")
        tables = plant(original, masked, control)
        leaks[name] = assess(*tables, secret=SECRET, attacks=attacks)
    return leaks


def print_leaks() -> None:
    """Print which attacks find each leak."""
    leaks = find_leaks()
    for name, criteria in leaks.items():
        helped = [attack for attack in criteria.attacks if attack.helps]
        by = "; ".join(
            f"{attack.name} {attack.rate:.0%} (chance {attack.chance:.0%}, control "
            f"{attack.control:.0%})"
            for attack in helped
        )
        print(f"{name}\n    {by or 'NOT FOUND'}")
    count = sum(criteria.helps for criteria in leaks.values())
    print(f"{count} of {len(leaks)} leaks are found")


def print_tables(folder: Path) -> None:
    """Print the largest excess of each of twenty tables, and the claims."""
    claims = dict.fromkeys(SIZES, 0)
    tables = [each for each, _ in zip(iter_tables(folder), range(20), strict=False)]
    print(f"{'table':<30}" + "".join(f"{f'k = {k}':>28}" for k in SIZES))
    for name, people, secret in tables:
        original, control = split(people, 1)
        names = [column for column in people if column not in secret]
        cells = []
        for k in SIZES:
            masked = mask_groups(original, names, k)
            criteria = assess(original, masked, control, secret=secret)
            claims[k] += criteria.helps
            helped = [attack.name for attack in criteria.attacks if attack.helps]
            most = max(criteria.attacks, key=lambda attack: attack.excess)
            cells.append(f"{most.excess:.0%} {', '.join(helped) or 'none'}")
        print(f"{name:<30}" + "".join(f"{cell:>28}" for cell in cells), flush=True)
    for k, count in claims.items():
        print(f"k = {k}: an excess is claimed on {count} of {len(tables)} tables")


def print_time() -> None:
    """Print the seconds for large tables."""
    for n in (10_000, 100_000, 1_000_000):
        original, control = split(draw_people(n, 0), 0)
        groups = np.arange(len(original)) // 5
        order = original["a"].argsort().to_numpy()
        original = original.iloc[order].reset_index(drop=True)
        masked = original.copy()
        for name in "abcde":
            masked[name] = original.groupby(groups)[name].transform("mean")
        for name in ("sex", "job"):
            masked[name] = original.groupby(groups)[name].transform("first")
        start = time.process_time()
        criteria = assess(original, masked, control, secret=SECRET)
        attacks = [attack.attacks for attack in criteria.attacks]
        print(f"{n:>9,} records: {time.process_time() - start:.1f} s, {attacks}")


if __name__ == "__main__":
    print_leaks()
    print()
    print_tables(Path(*sys.argv[1:2] or [os.environ.get("AGGOPT_DATA", "none")]))
    print()
    print_time()
