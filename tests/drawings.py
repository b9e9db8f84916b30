"""What the checks of all drawings share: what is cut off, covered or pale, and whether curves are those of a frame."""

import re
from collections.abc import Collection, Mapping
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from book.common.style import LOOKS, Look, Svg


def drawn(shown: Svg) -> tuple[Figure, str]:
    """Put everything in its place; no date and no version is in the picture, which is not too large for a page."""
    text = shown._repr_svg_()
    assert repr(shown) == "<figure>"
    assert not re.search(r"<dc:date>|\b20\d\d-\d\d-\d\d|Matplotlib v", text)
    assert len(text) < 450_000
    FigureCanvasAgg(shown.figure).figure.draw_without_rendering()
    return shown.figure, text


def words_fit(figure: Figure, texts: Collection[Text] | None = None) -> None:
    """Check that no text is cut off, small, on another or under a legend; of ``texts`` if not of all."""
    page, hidden = figure.bbox, set()
    for panel in figure.axes:
        for axis, (low, high) in ((panel.xaxis, sorted(panel.get_xlim())), (panel.yaxis, sorted(panel.get_ylim()))):
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                seen = panel.get_visible() and tick.label1.get_visible()
                if not seen or not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                    hidden.add(tick.label1)
    among = figure.findobj(Text) if texts is None else texts
    words = [text for text in among if text.get_visible() and text.get_text().strip() and text not in hidden]
    assert len(words) > 5
    boxes = {text: box(text) for text in words}
    for text, inside in boxes.items():
        assert page.x0 - 1 <= inside.x0 < inside.x1 <= page.x1 + 1, text
        assert page.y0 - 1 <= inside.y0 < inside.y1 <= page.y1 + 1, text
        assert text.get_fontsize() >= 8, text
    for a, b in combinations(words, 2):
        assert not overlap(boxes[a], boxes[b]), (a, b)
    for legend in legends(figure):
        area, own = legend.get_window_extent(), (*legend.get_texts(), legend.get_title())
        for text in words:
            assert text in own or not overlap(area, boxes[text]), text


def apart(figure: Figure) -> None:
    """Check that no legend covers a panel other than its own, or data in its own, and no panel another."""
    panels = [panel for panel in figure.axes if panel.get_visible()]
    for a, b in combinations(panels, 2):
        assert not overlap(a.get_window_extent(), b.get_window_extent())
    for legend in legends(figure):
        area = legend.get_window_extent()
        for panel in panels:
            assert legend is panel.get_legend() or not overlap(area, panel.get_window_extent()), legend
            assert not any(overlap(area, bar.get_window_extent()) for bar in panel.patches), legend
            for line in panel.lines:
                points = line.get_transform().transform(np.column_stack(line.get_data()).astype(float))
                steps = np.linspace(0, 1, 50)[:, None, None] * np.diff(points, axis=0)
                course = (points[:-1] + steps).reshape(-1, 2)
                assert not ((course > area.p0) & (course < area.p1)).all(axis=1).any(), line


def visible(figure: Figure, lines: bool = True, faint: Collection[str] = ()) -> None:
    """Check that words can be read on white, or on the bar they stand on, but for the ``faint``; and lines seen."""
    assert to_hex(figure.get_facecolor()) == "#ffffff"
    for panel in figure.axes:
        assert to_hex(panel.get_facecolor()) == "#ffffff"
        assert all(contrast(to_hex(line.get_color()), "white") >= 3 for line in panel.lines if lines)
    bars = [(bar, bar.get_window_extent()) for panel in figure.axes for bar in panel.patches if bar.get_fill()]
    for text in figure.findobj(Text):
        if text.get_text().strip() and text.get_text() not in faint:
            middle = (box(text).p0 + box(text).p1) / 2
            under = [bar for bar, area in bars if area.contains(*middle) and text.get_bbox_patch() is None]
            ground = to_hex(under[-1].get_facecolor()) if under else "white"
            assert contrast(to_hex(text.get_color()), ground) >= 4.5, text


def curves_are(panel: Axes, rows: pd.DataFrame, x: str, key: str, looks: Mapping[str, Look] = LOOKS) -> None:
    """Check that a panel has a line and a band for each value of ``key`` in the rows, with its numbers and its look."""
    found = []
    for name, part in rows.groupby(key, sort=False):
        look = looks[str(name)]
        (line,) = [one for one in panel.lines if (one.get_color(), one.get_marker()) == (look.colour, look.marker)]
        np.testing.assert_allclose(line.get_xydata(), part[[x, "mean"]], rtol=1e-12)
        assert line.get_label() == look.label or name == "difference"
        assert part["mean"].between(*panel.get_ylim()).all()
        found.append((panel.lines.index(line), part))
    bands = [one for one in panel.collections if str(one.get_label()).startswith("_")]  # a named one is the paper's
    assert len(found) == len(bands) > 0
    for (_, part), band in zip(sorted(found, key=lambda one: one[0]), bands, strict=True):
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx(part["low"].min(), abs=1e-12)
        assert heights.max() == pytest.approx(part["high"].max(), abs=1e-12)


def told(figure: Figure, panel: Axes) -> tuple[str, str, str]:
    """Give the words along both axes of a panel, also where they stand at its neighbours, and all that name its parts.

    The words along an axis stand at the left-most panel of a row, and at the lowest of a column.
    """
    place = panel.get_subplotspec()
    words = [panel.get_xlabel(), panel.get_ylabel()]
    for other in figure.axes:
        spec = other.get_subplotspec()
        if place is not None and spec is not None:
            words[0] = words[0] or (other.get_xlabel() if spec.colspan == place.colspan else "")
            words[1] = words[1] or (other.get_ylabel() if spec.rowspan == place.rowspan else "")
    named = [*panel.get_legend_handles_labels()[1], *(text.get_text() for text in panel.texts), words[1]]
    x, y, rest = (" ".join(text.split()) for text in (*words, "; ".join(named)))
    return x, y, rest


def dots(panel: Axes) -> np.ndarray:
    """Give the dots with error bars along x of a panel, row by row: x, y, left end, right end."""
    rows = []
    for bars in panel.containers:
        assert isinstance(bars, ErrorbarContainer)
        points, _, (ends,) = bars.lines
        rows += [(*point, *end[:, 0]) for point, end in zip(points.get_xydata(), ends.get_segments(), strict=True)]
    return np.array(rows)


def legends(figure: Figure) -> list[mpl.legend.Legend]:
    return [*figure.legends, *(panel.get_legend() for panel in figure.axes if panel.get_legend())]


def box(artist: Text) -> Bbox:
    return artist.get_window_extent()


def contrast(a: str, b: str) -> float:
    """Contrast of two colours by WCAG 2, from 1 to 21."""

    def luminance(colour: str) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def overlap(a: Bbox, b: Bbox) -> bool:
    return min(a.x1, b.x1) - max(a.x0, b.x0) > 0.5 and min(a.y1, b.y1) - max(a.y0, b.y0) > 0.5
