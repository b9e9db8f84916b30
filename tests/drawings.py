"""What the checks of all drawings share."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from book.common import style

ROOT = Path(__file__).resolve().parents[1]
#: What a caller may have set, and no drawing may show.
ODD = {"lines.linewidth": 9, "font.size": 20, "legend.frameon": True, "axes.grid": False, "svg.hashsalt": "x",
       "axes.facecolor": "black", "axes.labelsize": 30, "patch.linewidth": 5, "xtick.labelsize": 3}


class Drawings:
    """Drawings of some modules by name, each made once to be read and once to be measured."""

    def __init__(self, calls: dict[str, Callable[[], style.Svg]], *modules: ModuleType) -> None:
        self.calls = calls
        self.modules = modules
        self._bytes: dict[str, str] = {}
        self._figures: dict[str, mpl.figure.Figure] = {}

    def svg(self, name: str) -> str:
        if name not in self._bytes:
            self._bytes[name] = self.calls[name]()._repr_svg_()
        return self._bytes[name]

    def ready(self, name: str) -> mpl.figure.Figure:
        """Give a drawing with everything in its place."""
        if name not in self._figures:
            shown = self.calls[name]()
            shown._repr_svg_()
            with style._styled():
                FigureCanvasAgg(shown.figure).draw()
            self._figures[name] = shown.figure
        return self._figures[name]

    def are_all(self) -> None:
        """Check that every public function of the modules is a drawing here."""
        listed = []
        for module in self.modules:
            public = {name for name, f in inspect.getmembers(module, inspect.isfunction)
                      if f.__module__ == module.__name__ and name[0] != "_"}
            assert public == set(module.__all__)
            listed += module.__all__
        assert sorted(listed) == sorted(self.calls)

    def same_each_time(self, name: str, most: int = 300_000) -> None:
        """Check that a drawing has the same bytes whenever it is made and shown, not too many, and no date."""
        shown = self.calls[name]()
        first = shown._repr_svg_()
        assert shown._repr_svg_() == first == self.svg(name)
        assert not re.search(r"<dc:date>|\b20\d\d-\d\d-\d\d|Matplotlib v", first)
        assert len(first) < most

    def touch_nothing(self, frames: dict[str, pd.DataFrame]) -> None:
        """Check that drawing leaves frames, settings and pyplot as they were."""
        (module,) = self.modules
        plt.close("all")
        before = dict(mpl.rcParams)
        for name, frame in frames.items():
            copy = frame.copy()
            getattr(module, name)(frame)._repr_svg_()
            pd.testing.assert_frame_equal(frame, copy)
        assert plt.get_fignums() == []
        assert dict(mpl.rcParams) == before

    def same_with_other_settings(self, names: Sequence[str]) -> None:
        """Check that the settings of the caller neither count nor change."""
        plain = {name: self.svg(name) for name in names}
        with mpl.rc_context(ODD):
            before = dict(mpl.rcParams)
            assert {name: self.calls[name]()._repr_svg_() for name in names} == plain
            assert dict(mpl.rcParams) == before

    def same_elsewhere(self, module: str, names: Sequence[str]) -> None:
        """Check that another process, whose sets have another order, draws the same bytes by ``svg`` of a module."""
        script = (
            "import sys, hashlib, matplotlib as mpl\n"
            "mpl.use('svg')\n"
            f"from {module} import svg\n"
            "for name in sys.argv[1:]:\n"
            "    print(name, hashlib.sha256(svg(name).encode()).hexdigest())\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, *names],
            cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "1"}, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = dict(line.split() for line in done.stdout.splitlines())
        assert found == {name: hashlib.sha256(self.svg(name).encode()).hexdigest() for name in names}

    def words_fit(self, name: str, texts: Collection[Text] | None = None) -> None:
        """Check that no text is cut off, small, on another or under a legend; of ``texts`` if not of all."""
        figure = self.ready(name)
        page, hidden = figure.bbox, set()
        for panel in figure.axes:
            for axis, (low, high) in ((panel.xaxis, sorted(panel.get_xlim())), (panel.yaxis, sorted(panel.get_ylim()))):
                for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                    drawn = panel.get_visible() and tick.label1.get_visible()
                    if not drawn or not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                        hidden.add(tick.label1)
        among = figure.findobj(Text) if texts is None else texts
        words = [text for text in among if text.get_visible() and text.get_text().strip() and text not in hidden]
        assert len(words) > 5
        for text in words:
            inside = box(text)
            assert page.x0 - 1 <= inside.x0, text
            assert inside.x1 <= page.x1 + 1, text
            assert page.y0 - 1 <= inside.y0, text
            assert inside.y1 <= page.y1 + 1, text
            assert text.get_fontsize() >= 8, text
        for a, b in combinations(words, 2):
            assert not overlap(box(a), box(b)), (a, b)
        for legend in legends(figure):
            for text in words:
                if text not in (*legend.get_texts(), legend.get_title()):
                    assert not overlap(legend.get_window_extent(), box(text)), text

    def panels_apart(self, name: str) -> None:
        """Check that no legend and no other panel covers a panel."""
        figure = self.ready(name)
        areas = [panel.get_window_extent() for panel in figure.axes if panel.get_visible()]
        for legend in legends(figure):
            assert not any(overlap(legend.get_window_extent(), area) for area in areas)
        for a, b in combinations(areas, 2):
            assert not overlap(a, b)

    def seen_on_white(self, name: str, on_colour: Collection[str] = ()) -> None:
        """Check that lines and words can be seen on white; the words ``on_colour`` are not on white."""
        figure = self.ready(name)
        assert to_hex(figure.get_facecolor()) == "#ffffff"
        for panel in figure.axes:
            assert to_hex(panel.get_facecolor()) == "#ffffff"
            for line in panel.lines:
                assert contrast(to_hex(line.get_color()), "white") >= 3, line
        for text in figure.findobj(Text):
            if text.get_text().strip() and text.get_text() not in on_colour:
                assert contrast(to_hex(text.get_color()), "white") >= 4.5, text


def legends(figure: mpl.figure.Figure) -> list[mpl.legend.Legend]:
    return [*figure.legends, *(panel.get_legend() for panel in figure.axes if panel.get_legend())]


def notes(figure: mpl.figure.Figure) -> list[str]:
    """List the lines above the panels."""
    return [text.get_text() for panel in figure.axes for text in panel.texts if text.get_position() == (0.0, 1.02)]


def box(artist: Text) -> Bbox:
    return artist.get_window_extent()


def luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(a: str, b: str) -> float:
    """Contrast of two colours by WCAG 2, from 1 to 21."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def overlap(a: Bbox, b: Bbox) -> bool:
    return min(a.x1, b.x1) - max(a.x0, b.x0) > 0.5 and min(a.y1, b.y1) - max(a.y0, b.y0) > 0.5
