"""Every drawing of the book, as its page makes it: from the stored frame where there is one, each made once."""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import fairbook as fb
from book.cbdrf import studies as cbdrf_study
from book.common import results, style
from book.common.checkout import load
from book.common.runs import stream
from book.dmfa_srq import studies as dmfa_study
from book.foundations import studies as groundwork
from book.gdrf import studies as gdrf_study
from book.tv_drf import studies as tv_study
from book.virtual_cluster import studies as vc_study
from tests.drawings import (
    drawn,
)

Frame = pd.DataFrame
MODULES: dict[str, ModuleType] = load("figures")


@cache
def stored(name: str) -> Frame:
    """Give what is stored now, though sources may have changed since."""
    return results.load(name, check=False)


def thirty() -> fb.DynamicAllocation:
    demands, weights = dmfa_study.instance(stream(2016, 30, 0), 30)
    return fb.dmfa_srq(demands, weights=weights)


def two() -> fb.Allocation:
    demands = Frame([[1, 4], [3, 1]], index=["ann", "bob"], columns=["cpu", "memory"])
    return fb.drf(demands, capacities=[9, 18])


def leading() -> dict[str, Frame]:
    """Give the panels of Figures 3 to 7 as the page does."""

    def one(name: str, n: int, measure: str) -> Frame:
        frame = stored(f"tv_drf/curves_{name}")
        return frame[(frame["n"] == n) & (frame["measure"] == measure) & (frame["unserved"] == "waits")]

    least = {"Figure 3, 5 users": one("5", 5, "min_share"), "5 busy users": one("busy", 5, "min_share")}
    cases = enumerate(product((20, 100), ("cpu", "memory")), 4)
    return least | {f"Figure {k}, {n} users": one(str(n), n, measure) for k, (n, measure) in cases}


def by_users() -> Frame:
    return pd.concat([stored(f"dmfa_srq/fig{k}").assign(measure=name) for k, name in enumerate(dmfa_study.MEASURES, 5)])


def clusters(size: str) -> Frame:
    frame = stored("virtual_cluster/curves")
    return frame[frame["size"] == size]


#: What each drawing takes, as its page gives it; where nothing is said here, what is stored under its name.
TAKEN: dict[str, Callable[[], Any]] = {
    **{f"cbdrf/{name}": getattr(cbdrf_study, name) for name in ("fig1", "fig2", "fig3", "fig4", "fig5")},
    "cbdrf/nodes": cbdrf_study.fig5,
    **{f"compare/{name}": lambda: stored("compare/moment") for name in ("shares", "use", "envy", "arrivals")},
    "dmfa_srq/fig1": dmfa_study.fig1,
    "dmfa_srq/fig2": dmfa_study.fig2,
    "dmfa_srq/fig3": lambda: pd.concat([stored("dmfa_srq/fig3"), stored("dmfa_srq/fig4")]),
    "dmfa_srq/fig5": by_users,
    "dmfa_srq/gap": lambda: dmfa_study.end_points(by_users()),
    "dmfa_srq/levels": thirty,
    "foundations/pools": lambda: groundwork.shares({"DRF": two(), "again": two()}),
    "foundations/plane": lambda: groundwork.plane(two()),
    "foundations/course": lambda: groundwork.course(two()),
    **{f"gdrf/{name}": lambda: stored("gdrf/curves") for name in ("fig1", "fig2", "fig3", "fig4")},
    "gdrf/example": gdrf_study.example,
    **{f"tv_drf/{name}": getattr(tv_study, name) for name in ("fig1", "fig2", "example", "memory_course")},
    "tv_drf/curves": leading,
    "tv_drf/gaps": lambda: stored("tv_drf/gaps_busy"),
    "tv_drf/comparison": lambda: stored("tv_drf/curves_busy").query("unserved == 'waits'"),
    **{f"virtual_cluster/{name}": lambda: stored("virtual_cluster/curves") for name in ("fig2", "fig3")},
    "virtual_cluster/fig4": lambda: clusters("large"),
    "virtual_cluster/fig5": lambda: clusters("large"),
    "virtual_cluster/gains": lambda: stored("virtual_cluster/curves"),
    "virtual_cluster/packing": lambda: vc_study.packing(methods=("relaxation", "exact")),
}
DRAWINGS = [f"{paper}/{name}" for paper, module in MODULES.items() for name in module.__all__]
each = pytest.mark.parametrize("name", DRAWINGS)


@cache
def taken(name: str) -> Any:
    return TAKEN.get(name, lambda: stored(name))()


def draw(name: str) -> style.Svg:
    paper, function = name.split("/")
    shown: style.Svg = getattr(MODULES[paper], function)(taken(name))
    return shown


@cache
def picture(name: str) -> tuple[Figure, str]:
    return drawn(draw(name))


def figure(name: str) -> Figure:
    return picture(name)[0]


def parts(frame: Frame, **choices: Iterable[Any]) -> list[Frame]:
    """Cut a frame into one part a panel: all combinations of what columns may be, the last fastest."""
    return [
        frame[np.all([frame[column] == one for column, one in zip(choices, values, strict=True)], axis=0)]
        for values in product(*choices.values())
    ]
