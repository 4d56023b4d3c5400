"""What a release does not protect from: attacks on releases, and how far each comes.

Run:  python benchmarks/attacks.py
400 persons with age, income (in cents) and illness; the intruder has the released
values, the job, and what each line says. Secrets are fixed, so that each run prints
the same; `docs/protection-limits.md` quotes the figures.

Sources: minimality, Wong, Fu, Wang and Pei, VLDB 2007; intersections, Ganta,
Kasiviswanathan and Smith, KDD 2008.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd
from rich.console import Console
from rich.table import Table

import aggopt
from aggopt import partition
from aggopt.command.demo import load_patients
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.release.release import Order

N = 400
CENT = 0.01
KNOWN = ["age", "income"]
Line = tuple[str, str, str]


def persons(seed: int = 1, shares: tuple[float, ...] = (0.7, 0.15, 0.1, 0.05)):
    """Return the table: correlated ages and incomes, four illnesses."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(N, 2)) @ np.array([[1, 0.5], [0, 0.8]])
    return pd.DataFrame(
        {
            "age": np.rint(45 + 12 * z[:, 0]).clip(18, 95),
            "income": np.exp(8 + 0.6 * z[:, 1]).round(2),
            "illness": rng.choice(["none", "flu", "asthma", "HIV"], N, p=shares),
        }
    )


def released(frame: pd.DataFrame, k: int = 5, **sections) -> aggopt.Release:
    """Return a release of the table, with a secret that is the same each time."""
    others = [name for name in frame.columns if name not in (*KNOWN, "insist")]
    wishes = {"wish": ["insist"]} if "insist" in str(sections) else {}
    frame = frame[[*KNOWN, *others, *wishes.get("wish", [])]]
    job = aggopt.Job(
        roles={"quasi-identifier": KNOWN, "confidential": others, **wishes},
        privacy={"k": k, **sections.pop("privacy", {})},
        partition=sections.pop("partition", {"method": "mdav"}),
        **sections,
    )
    return aggopt.mask(frame, job, secret="0" * 32)


def of_groups(release: aggopt.Release) -> Iterator[I64]:
    """Yield the records of each group."""
    for j in range(int(release.labels.max()) + 1):
        yield np.flatnonzero(release.labels == j)


def wishes() -> Iterator[Line]:
    """Subtract distances that are tried from published incomes."""
    frame = persons()
    labels = partition.mdav(frame[KNOWN].to_numpy(), 5)
    frame["insist"] = 0.0
    frame.loc[np.unique(labels, return_index=True)[1][::2], "insist"] = 1.0
    demand = {"column": "insist"}
    tried = np.arange(0, 1.2, 0.001)
    for how in (
        {"method": "satisfaction", "delta": 0.3},
        {"method": "p3m", "delta": 0.5, "importance": demand},
    ):
        for more, name in (({"margin": 0}, "margin = 0"), ({}, "margins")):
            release = released(frame, aggregation={**how, **more})
            c = release.table["income"].to_numpy()
            step = tried * c.std()
            near = np.abs(np.abs(c - frame["income"].to_numpy())[:, None] - step)
            shown = [(near[g] < CENT / 2).any(axis=0) for g in of_groups(release)]
            hits = np.sum(shown, axis=0).max()
            what = f"{how['method']}, {name}: distances tried, 0 to 1.2"
            yield "wishes", what, f"{hits} of 80 groups give an income to half a cent"


def steps() -> Iterator[Line]:
    """Look for possible values within the margin beyond the distance asked.

    The control looks in the same way beside published means, where no wish decides.
    """
    delta, narrow = 0.3, 0.15  # the margin that cents get
    rng, frame = np.random.default_rng(2), persons()
    plain = frame["income"]
    for name, values, step in (
        ("incomes in cents", plain, CENT),
        ("incomes in steps of 500", (plain / 500).round() * 500, 500.0),
        ("counts of children", rng.poisson(4, N).astype(float), 1.0),
    ):
        frame["income"] = values
        x = frame["income"].to_numpy()
        wide = max(narrow, min(1.0, 5 * step / x.std()))
        how = {"method": "satisfaction", "delta": delta}
        for what, aggregation, width in (
            ("satisfaction, margin = 0.15", {**how, "margin": narrow}, narrow),
            ("mean (control), looked for as if 0.15", {"method": "mean"}, narrow),
            ("satisfaction, margins", how, wide),
            ("mean (control), looked for as beside those", {"method": "mean"}, wide),
        ):
            release = released(frame, aggregation=aggregation)
            c, near = release.table["income"].to_numpy(), (delta, delta + width)
            one = right = 0
            for g in of_groups(release):
                left = _possible(c[g[0]], step, np.array(near) * x.std())
                one += len(left) == 1
                right += len(left) == 1 and bool(
                    np.isclose(left[0], x[g], rtol=0, atol=step / 10).any()
                )
            found = f"one candidate in {one} of 80 groups, right in {right}"
            yield "steps", f"{name}: {what}", found


def _possible(c: float, step: float, away: Floats) -> Floats:
    """Return the values of 0 or more between two distances from c."""
    least, most = away + np.array([-1e-4, 1e-4]) * away[1]
    ends = [(c - most, c - least), (c + least, c + most)]
    values = [
        np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
        for low, high in ends
    ]
    both = np.concatenate(values)
    return both[both >= 0]


def equations() -> Iterator[Line]:
    """Solve the incomes of two from those of all others: mean and variance are kept."""
    frame = persons()
    x = frame["income"].to_numpy()
    for digits in ("full", 6, 3):
        release = released(
            frame, aggregation={"method": "p3m"}, output={"digits": digits}
        )
        y = release.table["income"].to_numpy()
        total = y.sum() - x[2:].sum()
        half = np.sqrt(max(2 * ((y**2).sum() - (x[2:] ** 2).sum()) - total**2, 0)) / 2
        found = np.sort([total / 2 - half, total / 2 + half])
        off = np.abs(found - np.sort(x[:2])).max()
        yield (
            "n - 2 known",
            f"p3m, digits = {digits}",
            f"incomes {x[0]} and {x[1]} found to {off:.2g}",
        )


def last_member() -> Iterator[Line]:
    """Subtract k - 1 known incomes from k times the published mean."""
    frame = persons()
    x = frame["income"].to_numpy()
    for digits in ("full", 6, 3):
        release = released(frame, output={"digits": digits})
        c = release.table["income"].to_numpy()
        off = [
            abs(len(g) * c[g[0]] - x[g[1:]].sum() - x[g[0]]) for g in of_groups(release)
        ]
        yield (
            "k - 1 known",
            f"mean, digits = {digits}",
            f"80 incomes found to {max(off):.2g} at worst",
        )


def two_releases() -> Iterator[Line]:
    """Join two releases of one table on a column that is published as it is."""
    frame = persons()
    frame["salary"] = np.random.default_rng(2).permutation(N) * 7
    x = frame["income"].to_numpy()
    ones, sums, cells = [], [], []
    for k in (3, 4):
        release = released(frame, k=k)
        c = release.table["income"].to_numpy()
        for g in of_groups(release):
            ones.append(np.isin(np.arange(N), g).astype(float))
            sums.append(len(g) * c[g[0]])
        cells.append(release.labels)
    alone = Counter(zip(*cells, strict=True)).values()
    _, size, axes = np.linalg.svd(np.array(ones))
    null = axes[int((size > 1e-9).sum()) :]
    fixed = (np.abs(null) < 1e-9).all(axis=0)
    solved = np.linalg.lstsq(np.array(ones), np.array(sums), rcond=None)[0]
    off = np.abs(solved - x)[fixed].max()
    yield (
        "two releases",
        "mean, k = 3 and k = 4, joined on a column of different values",
        f"{sum(c == 1 for c in alone)} of {N} alone, {fixed.sum()} incomes found to "
        f"{off:.2g}",
    )


def intersections() -> Iterator[Line]:
    """Intersect the groups of two releases of the same patients."""
    X = load_patients()[["age", "sex", "bmi", "bp"]].to_numpy(float)
    first = partition.local_search(X, 5, seed=0)
    for name, second in (
        ("another seed", partition.local_search(X, 5, seed=1)),
        ("mdav", partition.mdav(X, 5)),
    ):
        sizes = Counter(zip(first, second, strict=True)).values()
        below = sum(size for size in sizes if size < 5)
        yield (
            "two releases",
            f"442 patients, local_search k = 5, and {name}",
            f"{below} in intersections below 5, {sum(s == 1 for s in sizes)} alone",
        )


def minimality() -> Iterator[Line]:
    """Make the groups that repair began from, and see which ones it merged."""
    for method, k in (("mhm", 2), ("vmdav", 3), ("mdav", 3)):
        sure = total = 0
        for seed in range(3):
            frame = persons(seed, (0.4, 0.3, 0.2, 0.1))
            release = released(
                frame,
                k=k,
                privacy={"l": 2, "repair": "merge"},
                partition={"method": method},
            )
            start = np.asarray(
                getattr(partition, method)(frame[KNOWN].to_numpy(float), k)
            )
            for g in of_groups(release):
                known, of = _sure(frame["illness"].to_numpy()[g], start[g])
                sure, total = sure + known, total + of
        yield (
            "minimality",
            f"l = 2 by merging groups of {method}, k = {k}",
            f"the illness of {sure} of {total} in groups merged of two is certain",
        )


def _sure(values: npt.NDArray[np.object_], start: I64):
    """Return how many values are certain, as one of two parts had but one, of all."""
    sizes = np.unique(start, return_counts=True)[1]
    if len(sizes) != 2:
        return 0, 0
    counts = Counter(values)
    fits = [(s, v) for s in sizes for v, c in counts.items() if c >= s]
    return (fits[0][0] if len(fits) == 1 else 0), len(values)


def medians() -> Iterator[Line]:
    """Count incomes that are published because they are the middle ones."""
    for k in (3, 4, 5):
        frame = persons()
        release = released(frame, k=k, aggregation={"method": "median"})
        beside = release.audit.unchanged
        own = np.isclose(
            release.table["income"], frame["income"], rtol=0, atol=CENT / 2
        )
        yield (
            "median",
            f"k = {k}",
            f"{own.sum()} of {N} have their own income published, in "
            f"{beside.own['income']} of {beside.differing['income']} groups",
        )


def dominance() -> Iterator[Line]:
    """Bound one income that is far above all others."""
    frame = persons()
    frame.loc[7, "income"] = 5e6
    release = released(frame)
    g = next(g for g in of_groups(release) if 7 in g)
    most = len(g) * release.table["income"][7]
    least = most - (len(g) - 1) * np.sort(frame["income"])[-2]
    width = f"{100 * (most - least) / 5e6:.2f}"
    yield "dominance", "one income of 5 000 000", f"known to within {width} %"


def published_columns() -> Iterator[Line]:
    """Link persons among those who share a published stratum or weight.

    `known` guesses at random among the candidates, `nearest` takes the nearest one and
    `lightest` the one whose weight is nearest to the person's own.
    """
    rng = np.random.default_rng(3)
    frame = persons()[KNOWN]
    frame["region"], frame["weight"] = np.arange(N) % 20, rng.uniform(1, 9, N).round(2)
    for columns in (["region"], ["weight"], ["region", "weight"]):
        roles = {"quasi-identifier": KNOWN}
        roles |= {"stratum": ["region"]} if "region" in columns else {}
        roles |= {"weight": "weight"} if "weight" in columns else {}
        job = aggopt.Job(roles=roles, privacy={"k": 5}, partition={"method": "mdav"})
        release = aggopt.mask(frame[[*KNOWN, *columns]], job, secret="0" * 32)
        table, reached = release.table, {}
        spread = frame[KNOWN].std().to_numpy()
        x, y = (each[KNOWN].to_numpy() / spread for each in (frame, table))
        away = {"known": np.zeros((N, N)), "nearest": ((x[:, None] - y) ** 2).sum(2)}
        if "weight" in columns:
            away["lightest"] = np.subtract.outer(
                frame["weight"].to_numpy(), table["weight"].to_numpy()
            )
        for name, distance in away.items():
            distance = np.abs(distance)
            if "region" in columns:
                region = table["region"].to_numpy()
                distance = np.where(np.equal.outer(region, region), distance, np.inf)
            near = np.isclose(distance, distance.min(axis=1, keepdims=True), rtol=1e-9)
            reached[name] = (np.diag(near) / near.sum(axis=1)).mean()
        said = ", ".join(f"{name} {share:.1%}" for name, share in reached.items())
        stated = max(release.measures.linkage, release.measures.dld)
        assert stated >= max(reached.values()), "an attack beats the stated figure"
        yield "published columns", " and ".join(columns), f"{said}; stated {stated:.1%}"


def published_units() -> Iterator[Line]:
    """Link households, of which k stand behind each combination.

    A link is right if it reaches the household; `known` and `nearest` as for columns.
    """
    rng = np.random.default_rng(3)
    own = np.arange(N) // 4
    frame = persons()[KNOWN].iloc[own].reset_index(drop=True)
    frame["household"], frame["region"] = own, own % 5
    frame["weight"] = rng.uniform(1, 9, N // 4).round(2)[own]
    region = frame["region"].to_numpy()
    of_units = {"units": {"attributes": KNOWN}}
    for what, sections in (
        ("units", of_units),
        ("units and region", of_units),
        ("units, records masked", {}),
        ("units, records masked, and weight", {}),
    ):
        roles = {"quasi-identifier": KNOWN, "unit": ["household"]}
        roles |= {"stratum": ["region"]} if "region" in what else {}
        roles |= {"weight": "weight"} if "weight" in what else {}
        columns = [name for names in roles.values() for name in np.atleast_1d(names)]
        job = aggopt.Job(
            roles=roles, privacy={"k": 5}, partition={"method": "mdav"}, **sections
        )
        release = aggopt.mask(frame[columns], job, secret="0" * 32)
        table, reached = release.table, {}
        spread = frame[KNOWN].std().to_numpy()
        x, y = (each[KNOWN].to_numpy() / spread for each in (frame, table))
        away = {"known": np.zeros((N, N)), "nearest": ((x[:, None] - y) ** 2).sum(2)}
        for name, distance in away.items():
            if "region" in what:
                distance = np.where(np.equal.outer(region, region), distance, np.inf)
            near = np.isclose(distance, distance.min(axis=1, keepdims=True), rtol=1e-9)
            right = (near & np.equal.outer(own, own)).sum(axis=1)
            reached[name] = (right / near.sum(axis=1)).mean()
        said = ", ".join(f"{name} {share:.1%}" for name, share in reached.items())
        stated = max(release.measures.linkage, release.measures.dld)
        assert stated >= max(reached.values()) - 1e-9, "an attack beats the figure"
        yield "published units", what, f"{said}; stated {stated:.1%}"


def published_values() -> Iterator[Line]:
    """Guess an income from ages, and an illness, with published strata and weights.

    `linked` takes the income of the record whose age is nearest among the candidates,
    `shared` the most frequent illness of the others that share all published columns,
    and `known` that of the others that share the region.
    """
    rng = np.random.default_rng(3)
    frame = persons()
    frame["region"], frame["weight"] = np.arange(N) % 20, rng.uniform(1, 9, N).round(2)
    everybody = np.ones((N, N), bool)
    for columns in (["region"], ["weight"], ["region", "weight"]):
        roles = {"quasi-identifier": KNOWN, "confidential": ["illness"]}
        roles |= {"stratum": ["region"]} if "region" in columns else {}
        roles |= {"weight": "weight"} if "weight" in columns else {}
        job = aggopt.Job(
            roles=roles,
            privacy={"k": 5},
            partition={"method": "mdav"},
            risk={"target": ["illness"]},
        )
        given = frame[[*KNOWN, "illness", *columns]]
        release = aggopt.mask(given, job, secret="0" * 32)
        table, codes = release.table, frame["illness"].to_numpy()
        same = {name: np.equal.outer(*[table[name].to_numpy()] * 2) for name in table}
        among = np.logical_and.reduce([same[name] for name in columns])
        apart = np.abs(
            np.subtract.outer(*(t["age"].to_numpy() for t in (frame, table)))
        )
        apart = np.where(among, apart, np.inf)
        near = apart <= apart.min(axis=1, keepdims=True) + 1e-9
        off = np.abs(
            np.subtract.outer(*(t["income"].to_numpy() for t in (frame, table)))
        )
        hits = off <= 0.05 * frame["income"].std()
        linked = ((near & hits).sum(axis=1) / near.sum(axis=1)).mean()
        own = np.diag(hits).mean()
        assert own >= linked, "an attack beats the stated share of incomes"
        shared = _guessed(codes, among & same["age"] & same["income"])
        known = _guessed(codes, same["region"] if "region" in columns else everybody)
        found = release.risks.totals["attribution"]["illness"]
        pairs = (shared, found["share"]), (known, found["chance"])
        assert all(reached <= said + 1e-9 for reached, said in pairs)
        yield (
            "published values",
            " and ".join(columns),
            f"income: linked {linked:.1%}, stated {own:.1%}; illness: shared "
            f"{shared:.1%}, known {known:.1%}; stated {found['share']:.1%}, by chance "
            f"{found['chance']:.1%}",
        )


def _guessed(codes: npt.NDArray[np.object_], same: npt.NDArray[np.bool_]) -> float:
    """Return how often the most frequent value of the others (n, n) is right."""
    right = []
    for i, others in enumerate(same):
        others = others & (np.arange(N) != i)
        modes = pd.Series(codes[others]).mode()
        right.append((codes[i] in list(modes)) / len(modes))
    return float(np.mean(right))


def seeds() -> Iterator[Line]:
    """Undo the shuffle, knowing age and income of all and the seed of the job."""
    frame = persons()
    release = released(frame, output={"seed": 7})
    illness = frame["illness"].to_numpy()
    of = (release.job, release.source, release.secret)
    true = Order.drawn(N, *of, 7).place
    published = np.empty(N, dtype=object)
    published[true] = illness
    for name, place in (
        ("seed and register", np.random.default_rng(7).permutation(N)),
        ("the manifest, which has the secret", true),
    ):
        right = int((published[place] == illness).sum())
        chance = round(sum(c * c for c in Counter(illness).values()) / N)
        yield "order", name, f"{right} of {N} illnesses right ({chance} by chance)"


def main() -> None:
    """Print the table."""
    table = Table("attack", "release", "what is found", title="Attacks")
    for attack in (
        wishes,
        steps,
        equations,
        last_member,
        two_releases,
        intersections,
        minimality,
        medians,
        dominance,
        published_columns,
        published_units,
        published_values,
        seeds,
    ):
        for line in attack():
            table.add_row(*line)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
