"""Figures drawn with matplotlib (the extra `figures`), in one style and in colours for colour-blind people too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from newfound.algorithms.estimation import Estimate
from newfound.errors import MissingExtra
from newfound.files import to_json, write_atomically

# The palette of Okabe and Ito (2008).
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, GREY = "#56B4E9", "#CC79A7", "#7F7F7F"
COLUMN_WIDTH_INCHES = 3.4  # a column of a two-column paper
STYLE = {
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.3,
    "grid.alpha": 0.6,
    "lines.linewidth": 1.2,
}


@contextmanager
def figure(path: Path, *, width: float = COLUMN_WIDTH_INCHES, height: float = 2.4, panels: int = 1) -> Iterator[Any]:
    """Yield the axes of a figure, which is written as PNG when the block ends without an error.

    Width and height are in inches. With several panels side by side, an array of axes is yielded.
    """
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingExtra("a figure", "matplotlib", "figures") from None
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        canvas = Figure(figsize=(width, height), layout="constrained")
        axes = canvas.subplots(1, panels)
        yield axes
        image = BytesIO()
        canvas.savefig(image, format="png")
    write_atomically(path, image.getvalue())


def draw_estimate(estimate: Estimate, folder: Path) -> list[Path]:
    """Write `estimate.json` and, where the estimate has a curve, `estimate.png`; return what was written.

    The figure shows how well each number of clusters fits the utterances that were counted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "estimate.json"]
    write_atomically(written[0], to_json(estimate.as_dict()))
    if not estimate.curve:
        return written
    label = f"new intents: {estimate.n_new} ({estimate.low}–{estimate.high})"
    with figure(folder / "estimate.png") as axes:
        axes.plot(estimate.curve["clusters"], estimate.curve["score"], color=BLUE)
        axes.axvspan(estimate.low, estimate.high, color=ORANGE, alpha=0.25)
        axes.axvline(estimate.n_new, color=ORANGE, label=label)
        axes.set(xscale="log", xlabel="clusters of the utterances that are not known", ylabel="separation")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return [*written, folder / "estimate.png"]
