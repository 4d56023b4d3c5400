"""Published figures that benchmarks/closeness.py holds ours against.  Not a benchmark.

TABLE_I to TABLE_III: Soria-Comas et al. 2015, on Census, in
aggopt/experiments/published.toml: by k the minimum and average group size for each t.
VMDAV, DIVERSE: not published; measured with an independent prototype.
"""

from aggopt.experiments.reproduce import load_study

KS = (2, 5, 10, 15, 20, 25, 30)
TS = (0.01, 0.05, 0.09, 0.13, 0.17, 0.21, 0.25)
CONFIDENTIAL = ("FICA", "FEDTAX")


def _in_print(number: str) -> dict[str, tuple[str, ...]]:
    """Return for each confidential attribute a row of cells for each k."""
    cells = load_study("soria-comas2015").table(number).cells
    return {
        name: tuple(
            " ".join(str(c.printed) for c in cells if (c.figure, c.k) == (name, k))
            for k in KS
        )
        for name in CONFIDENTIAL
    }


TABLE_I, TABLE_II, TABLE_III = map(_in_print, ("I", "II", "III"))

SIZES = (3, 4, 5, 6, 7, 8, 9, 10)
# information loss in %, all attributes, gamma .2
VMDAV = {
    (
        "Tarragona",
        "fixed",
    ): "16.9630 19.6974 22.8778 26.4131 28.2616 29.3539 31.6358 33.2527",
    ("Census", "fixed"): "5.6619 7.5140 9.0070 10.3654 11.6572 12.3068 13.3368 14.0730",
    (
        "Census",
        "remaining",
    ): "5.6536 7.4414 8.8840 10.1941 11.4266 12.2263 13.2382 14.0066",
    ("EIA", "fixed"): ".5966 .6687 1.7296 1.2674 2.3022 2.9484 3.5294 3.6393",
}
# information loss in % of all attributes but the last, which is confidential
DIVERSE = {
    ("Tarragona", 10, "distinct"): "43.76 53.16 59.41 64.77 69.32 72.73 75.84 78.81",
    ("Tarragona", 20, "distinct"): "36.73 46.33 52.17 57.51 61.52 64.72 67.50 69.93",
    ("Tarragona", 20, "entropy"): "36.52 46.17 52.03 57.39 61.43 64.63 67.41 69.88",
    ("Census", 10, "distinct"): "11.11 16.84 23.91 31.30 33.85 39.82 47.70 57.73",
    (
        "Census",
        20,
        "distinct",
    ): "7.640 11.015 14.059 16.916 19.576 22.992 25.959 29.384",
    ("Census", 20, "entropy"): "7.646 11.053 14.148 17.081 19.897 23.550 26.729 30.878",
    ("EIA", 10, "distinct"): "33.53 44.57 54.51 64.06 71.20 76.49 80.15 83.29",
    ("EIA", 20, "distinct"): "24.15 31.77 38.19 43.50 48.34 52.98 57.55 62.40",
}
