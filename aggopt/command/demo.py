"""The main job on real patients: scikit-learn's bundled diabetes table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from aggopt.command import console
from aggopt.core.types import Floats
from aggopt.job import Job, Mean
from aggopt.measure import Assessment, assess
from aggopt.pipeline.mask import mask
from aggopt.pipeline.prepare.inputs import Progress
from aggopt.release.files.output_paths import ReleaseFiles
from aggopt.release.files.staging import Staging, check_places, made_folder
from aggopt.release.release import Release

JOB = Job(
    roles={
        "quasi-identifier": ["age", "sex", "bmi", "bp"],
        "confidential": ["progression"],
    },
    privacy={"k": 5},
    aggregation={"method": "p3m", "delta": 0.1, "importance": 0.001, "alpha": 0.5},
)


def load_patients() -> pd.DataFrame:
    """Return 442 patients: age, sex, bmi, bp and disease progression, raw units.

    Source: Efron, Hastie, Johnstone and Tibshirani, Annals of Statistics 32 (2004),
    as scikit-learn ships it.
    """
    from sklearn.datasets import load_diabetes

    bundle = load_diabetes(as_frame=True, scaled=False)
    chosen: pd.DataFrame = bundle.data[["age", "sex", "bmi", "bp"]]
    return chosen.assign(progression=bundle.target)


@dataclass(frozen=True)
class DemoResult:
    """The release of the demo and its comparison."""

    release: Release
    compared: dict[str, Assessment]
    files: ReleaseFiles
    picture: Path

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: the release, and the comparison."""
        measured = {
            name: assessment.to_dict() for name, assessment in self.compared.items()
        }
        files = {**self.files.to_dict(), "picture": str(self.picture)}
        return {"files": files, "compared": measured, **self.release.manifest()}


def run_demo(
    folder: Path, progress: Progress | None = None, *, overwrite: bool = False
) -> DemoResult:
    """Mask the patients into `folder`; compare with the originals and plain means."""
    with made_folder(folder):
        return _compare_patients(folder, progress, overwrite=overwrite)


def _compare_patients(
    folder: Path, progress: Progress | None, *, overwrite: bool
) -> DemoResult:
    picture = folder / "original-against-masked.png"
    check_places(picture, overwrite=overwrite)
    table = load_patients()
    release = mask(table, JOB, progress=progress)
    means = mask(table, JOB.model_copy(update={"aggregation": Mean()}))
    names = JOB.roles.quasi_identifier
    original = table[list(names)].to_numpy()
    compared = {
        "original": assess(original, original),
        "group means": means.measures,
        "P3M": release.measures,
    }
    measured = {
        name: assessment
        for name, assessment in compared.items()
        if assessment is not None
    }
    with Staging() as staging:  # mode 0600: it shows the originals
        staging.write(
            picture, lambda to: draw_demo(original, release.masked.matrix(), names, to)
        )
        written = release.staged(folder / "patients.csv", overwrite=overwrite)
        files = console.publish_files(written)
        staging.commit(picture, overwrite=True)
    return DemoResult(release, measured, files, picture)


def draw_demo(
    original: Floats, masked: Floats, names: tuple[str, ...], to: Path
) -> None:
    """Draw each attribute's original values against its masked ones, one panel each."""
    from aggopt.release.figures.figure import label_axes, make_panels
    from aggopt.release.figures.release_pictures import draw_against

    figure, grid = make_panels(len(names), across=len(names), wide=3.2, high=3.4)
    for j, (panel, name) in enumerate(zip(grid, names, strict=True)):
        draw_against(panel, original[:, j], masked[:, j])
        panel.set_aspect("equal")
        label_axes(panel, x="original", y="" if j else "masked", title=name)
    figure.suptitle("Each point is a patient; on the line nothing was hidden")
    figure.savefig(to, dpi=150)
