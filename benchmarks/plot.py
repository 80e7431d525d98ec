"""A picture of a measurement: each workload's speed beside that of its best peer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import Measurement, library_of

# Legible on light and on dark pages, so the picture brings its own background.
BACKGROUND, INK, FAINT = "#fbfbf8", "#22262b", "#c9ccd1"
SHADES = ("#7aa6c2", "#24587a", "#8c6bb1")
LIMIT = 6  # powers of two to each side; longer bars are cut


def draw(measurement: Measurement, path: Path) -> None:
    """Write a PNG. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in measurement.rows if row.ratio]
    low, high = _range([row.ratio or 1.0 for row in rows])
    names = list(dict.fromkeys(row.workload for row in rows))
    counts = sorted({row.threads for row in rows})
    figure, axes = pyplot.subplots(figsize=(10, 1.2 + 0.34 * len(names)), dpi=130)
    figure.set_facecolor(BACKGROUND)
    axes.set_facecolor(BACKGROUND)
    height = 0.8 / max(1, len(counts))
    for at, count in enumerate(counts):
        found = [(names.index(row.workload), row) for row in rows if row.threads == count]
        places = [index + (at - (len(counts) - 1) / 2) * height for index, _ in found]
        ratios = [min(max(row.ratio or 1.0, 2.0**low), 2.0**high) for _, row in found]
        widths = [ratio - 1 for ratio in ratios]
        label = f"{count} thread{'s' * (count != 1)}"
        axes.barh(places, widths, height, left=1, color=SHADES[at % len(SHADES)], label=label)
        for place, ratio, (_, row) in zip(places, ratios, found, strict=True):
            best = row.best_peer()
            text = f"{row.ratio:.2g} {library_of(best[0]) if best else ''}"
            ahead = ratio >= 1
            axes.annotate(
                text, (ratio, place), (3 if ahead else -3, 0), textcoords="offset points",
                va="center", ha="left" if ahead else "right", fontsize=6, color=INK,
            )  # fmt: skip
    _dress(axes, names, low, high)
    figure.tight_layout()
    figure.savefig(path, facecolor=BACKGROUND, metadata={"Software": None})
    pyplot.close(figure)


def _range(ratios: Sequence[float]) -> tuple[int, int]:
    """The powers of two between which the ratios lie, with 1 inside."""
    powers = [math.log2(ratio) for ratio in ratios] or [0.0]
    low, high = math.floor(min(powers)), math.ceil(max(powers))
    return max(-LIMIT, min(low, -1)), min(LIMIT, max(high, 1))


def _dress(axes: object, names: Sequence[str], low: int, high: int) -> None:
    """Scale, marks and names, with room for what stands beside the bars."""
    from matplotlib.axes import Axes
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    assert isinstance(axes, Axes)
    axes.set_xscale("log", base=2)
    axes.set_xlim(2.0 ** (low - 1.5), 2.0 ** (high + 1.5))
    axes.set_ylim(-0.7, len(names) - 0.3)
    axes.xaxis.set_major_locator(FixedLocator([2.0**power for power in range(low, high + 1)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:g}" if value >= 1 else f"1/{1 / value:g}")
    )
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.invert_yaxis()
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=7)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title("Times as fast as the best peer", color=INK, fontsize=10)
    axes.legend(fontsize=7, loc="lower right", facecolor=BACKGROUND, edgecolor=FAINT)
