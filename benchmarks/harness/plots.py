"""Figures from result files, of the same cells as the tables; rows that are not complete are left out."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from benchmarks.harness.cells import Cell, read_results
from benchmarks.harness.experiments import Experiment
from benchmarks.harness.tables import Group, Results, groups_of, level_of

from newfound.errors import DataError, SettingsError

Projection = Literal["tsne", "pca", "umap"]
STYLE = {
    "savefig.dpi": 300,
    "font.size": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.3,
    "grid.alpha": 0.6,
    "lines.linewidth": 1.2,
}
STYLES = {  # colours of Okabe and Ito (2008), for colour-blind people too
    "kmeans": ("#7F7F7F", "s"),
    "deepaligned": ("#E69F00", "^"),
    "deepaligned-mix": ("#CC79A7", "v"),
    "e2e": ("#56B4E9", "D"),
    "dpl": ("#0072B2", "o"),
    "consensus": ("#D55E00", "P"),
}


@contextmanager
def figure(path: Path, *, width: float = 3.4, height: float = 2.4, panels: int = 1) -> Iterator[Any]:
    """Yield the axes of a figure, or of its panels, which is written as PNG when the block ends without an error."""
    import matplotlib
    from matplotlib.figure import Figure

    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        canvas = Figure(figsize=(width, height), layout="constrained")
        yield canvas.subplots(1, panels)
        canvas.savefig(path)


def draw(
    experiment: Experiment, cells: Sequence[Cell], root: Path, folder: Path, *, projection: Projection = "tsne"
) -> list[Path]:
    """Draw the rows of an experiment whose cells all have results."""
    results = read_results(cells, root)
    draw_functions = {"points": _points, "levels": _levels, "ratios": _levels, "epochs": _epochs}
    if experiment.figure == "none":
        raise SettingsError(f"the experiment {experiment.name} is a table without a figure")
    if experiment.figure == "maps":
        return _maps(experiment, cells, results, folder / f"{experiment.name}-{projection}.png", projection)
    written = []
    benchmarks = list(dict.fromkeys(cell.benchmark for cell in cells))
    for benchmark in benchmarks:
        groups = [g for g in groups_of(cells) if g.benchmark == benchmark and g.is_complete(results)]
        if groups:
            path = folder / f"{experiment.name}-{benchmark}.png"
            with figure(path) as axes:
                draw_functions[experiment.figure](axes, experiment, groups, results)
            written.append(path)
    if not written:
        raise DataError(
            f"{experiment.name}: no row is complete yet; run `python -m benchmarks run {experiment.name}` first"
        )
    return written


def colour_and_marker(method: str) -> tuple[str, str]:
    """Return the colour and the marker that a method has in every figure."""
    return STYLES.get(method, ("black", "x"))


def _points(axes: Any, experiment: Experiment, groups: list[Group], results: Results) -> None:
    """Draw a point per row with its standard deviation, and its value beside it, as the axis need not start at zero."""
    shown = [(g, v) for g in groups if (v := g.values(results, experiment.shown))][::-1]
    for height, (group, values) in enumerate(shown):
        colour, marker = colour_and_marker(group.method)
        mean, std = statistics.fmean(values), _std(values)
        axes.errorbar(mean, height, xerr=std, color=colour, marker=marker, markersize=4.5, capsize=2)
        text = f"{mean:.{experiment.shown.digits}f}"
        axes.annotate(text, (mean, height), (0, 5), textcoords="offset points", ha="center", fontsize=6.5)
    axes.set_yticks(range(len(shown)), [group.label for group, _ in shown])
    axes.set_ylim(-0.6, len(shown) - 0.3)
    axes.set_xlabel(_unit(experiment))
    axes.set_title(f"{groups[0].data} new intents", loc="left")
    axes.grid(axis="y", visible=False)


def _levels(axes: Any, experiment: Experiment, groups: list[Group], results: Results) -> None:
    """Draw a line per method over the levels of its variants, or over the shares of new intents."""
    on_axis = [(level, group) for group in groups if (level := level_of(experiment, group)) is not None]
    for method in dict.fromkeys(group.method for _, group in on_axis):
        points = sorted(((level, group) for level, group in on_axis if group.method == method), key=lambda p: p[0])
        values = [group.values(results, experiment.shown) for _, group in points]
        means, stds = np.array([statistics.fmean(v) for v in values]), np.array([_std(v) for v in values])
        _line_with_band(axes, np.array([level for level, _ in points]), means, stds, points[0][1])
    ticks = sorted({level for level, _ in on_axis})
    if min(ticks) >= 1 and max(ticks) / min(ticks) > 8:
        axes.set_xscale("log")
    if len(ticks) <= 8:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    axes.set(xlabel=experiment.axis, ylabel=_unit(experiment))
    axes.set_title(groups[0].benchmark, loc="left", pad=18)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, columnspacing=1.0, handlelength=1.4)


def _epochs(axes: Any, experiment: Experiment, groups: list[Group], results: Results) -> None:
    """Draw a line per method over the epochs, with a band of one standard deviation over splits and seeds."""
    for group in groups:
        curves = [results[cell]["pseudo_labels"] for cell in group.cells]
        epochs = sorted(set.intersection(*({int(e) for e in curve} for curve in curves)))
        values = np.array([[curve[str(epoch)] for epoch in epochs] for curve in curves])
        _line_with_band(axes, np.array(epochs) + 1, values.mean(0), values.std(0), group, with_markers=False)
    axes.set(xlabel=experiment.axis, ylabel="accuracy of the pseudo-labels, %")
    axes.set_title(f"{groups[0].data} new intents", loc="left", pad=18)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def _line_with_band(
    axes: Any,
    x: npt.NDArray[Any],
    mean: npt.NDArray[np.float64],
    std: npt.NDArray[np.float64],
    group: Group,
    with_markers: bool = True,
) -> None:
    colour, marker = colour_and_marker(group.method)
    axes.plot(x, mean, color=colour, marker=marker if with_markers else None, markersize=3.5, label=group.method)
    axes.fill_between(x, mean - std, mean + std, color=colour, alpha=0.15, linewidth=0)


def _maps(
    experiment: Experiment, cells: Sequence[Cell], results: Results, path: Path, projection: Projection
) -> list[Path]:
    """Draw the maps of all cells side by side: intents by colour and marker, prototypes as stars."""
    maps = []
    for cell in cells:
        by_epoch = results.get(cell, {}).get("maps", {})
        epochs = sorted(map(int, by_epoch))
        shown = epochs if cell.method in experiment.all_epochs_of else epochs[-1:]
        maps += [(cell.method, epoch, by_epoch[str(epoch)]) for epoch in shown]
    if not maps:
        name = experiment.name
        raise DataError(f"{name}: nothing is complete yet; run `python -m benchmarks run {name}` first")
    with figure(path, width=6.8, height=1.9, panels=len(maps)) as panels:
        for axes, (method, epoch, content) in zip(np.atleast_1d(panels), maps, strict=True):
            _map(axes, content, projection)
            axes.set_title(f"{method}, epoch {epoch + 1}")
    return [path]


def _map(axes: Any, content: dict[str, Any], projection: Projection) -> None:
    """Draw one map from the points that a result file has."""
    points = project(np.array(content["points"] + content["prototypes"]), projection)
    intents = np.array(content["intents"])
    markers = "os^Dv"
    palette = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#7F7F7F")
    for i, intent in enumerate(sorted(set(content["intents"]))):
        x, y = points[: len(intents)][intents == intent].T
        colour, marker = palette[i % len(palette)], markers[i % len(markers)]
        axes.scatter(x, y, s=4, color=colour, marker=marker, alpha=0.7, linewidths=0)
    axes.scatter(*points[len(intents) :].T, s=22, marker="*", color="black", linewidths=0)
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)


def project(x: npt.NDArray[np.float64], projection: Projection) -> npt.NDArray[np.float64]:
    """Return points [n, d] projected to two dimensions [n, 2]; the result is the same every time."""
    low: npt.NDArray[np.float64]
    if projection == "pca" or len(x) < 8:
        from sklearn.decomposition import PCA

        low = PCA(2, random_state=0).fit_transform(x)
    elif projection == "tsne":
        from sklearn.manifold import TSNE

        # A map has a few hundred points: the exact gradient is faster for them than the approximate one.
        tsne = TSNE(2, perplexity=min(20, len(x) // 4), init="pca", max_iter=500, method="exact", random_state=0)
        low = tsne.fit_transform(x)
    elif projection == "umap":
        try:
            from umap import UMAP
        except ModuleNotFoundError:
            raise SettingsError("projection 'umap' needs umap-learn; install it, or use tsne or pca") from None
        low = UMAP(random_state=0).fit_transform(x)
    else:
        raise SettingsError(f"projection={projection!r} is not one of tsne, pca, umap")
    return low


def _std(values: list[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _unit(experiment: Experiment) -> str:
    return f"strict {experiment.shown.header}, %" if "ACC" in experiment.shown.header else experiment.title
