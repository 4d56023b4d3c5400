# %% [markdown]
"""A published table of the field beside ours, made of other data.

The figures in print are of the tables of the project CASC; ours are of 442 patients.
Their own data take ours, too: leave `data` and `columns` out, or run
`aggopt reproduce mortazavi2017 --table 2`.

Run:  python examples/10_reproduce_a_table.py
"""

# %% The study, and the table that stands in the place of its own
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

from aggopt.experiments.reproduce import load_study, reproduce

patients = load_diabetes(as_frame=True, scaled=False).data
print(load_study("mortazavi2017").citation)
print(load_study("mortazavi2017").table(2).title)

# %% Each cell in print, and ours
print(f"{'data':<12}{'figure':<8}{'k':>3}{'in print':>10}{'ours':>8}")
columns = ["age", "bmi", "bp"]
cells = list(reproduce("mortazavi2017", 2, data=patients, columns=columns))
for found in cells:
    cell = found.cell
    printed = cell.printed or "-"
    print(f"{cell.data:<12}{cell.figure:<8}{cell.k:>3}{printed:>10}{found.shown:>8}")

# %% Our curves: P3M keeps the distance for more values than group means
figure = Figure(figsize=(5, 3))
axes = figure.subplots()
for name in ("means", "P3M"):
    ours = [each for each in cells if each.shown and each.cell.figure == name]
    axes.plot(
        [each.cell.k for each in ours], [float(each.shown) for each in ours], "o-"
    )
axes.legend(["means", "P3M"])
axes.set(xlabel="k", ylabel="satisfaction level SL in %")
figure
