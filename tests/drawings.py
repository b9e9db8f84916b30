"""What the checks of all drawings share."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from fairbook.figures import style

ROOT = Path(__file__).resolve().parents[1]


class Drawings:
    """Drawings by name, each made once to be read and once to be measured."""

    def __init__(self, calls: dict[str, Callable[[], style.Svg]]) -> None:
        self.calls = calls
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

    def same_elsewhere(self, module: str, names: Sequence[str]) -> None:
        """Check that another process with other settings draws the same bytes by ``svg`` of a module of checks."""
        script = (
            "import sys, hashlib, matplotlib as mpl\n"
            "mpl.use('svg')\n"
            "mpl.rcParams.update({'lines.linewidth': 9, 'font.size': 20, 'legend.frameon': True, 'axes.grid': False,\n"
            "    'svg.hashsalt': 'x', 'axes.facecolor': 'black', 'axes.labelsize': 30, 'patch.linewidth': 5})\n"
            f"from {module} import svg\n"
            "for name in sys.argv[1:]:\n"
            "    print(name, hashlib.sha256(svg(name).encode()).hexdigest())\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, *names], cwd=ROOT, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        found = dict(line.split() for line in done.stdout.splitlines())
        assert found == {name: hashlib.sha256(self.svg(name).encode()).hexdigest() for name in names}


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
