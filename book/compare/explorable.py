"""Which mechanism? Four questions, an answer, and the numbers behind it."""

import itertools

import pandas as pd

import book.common.claims as ledgers
import fairbook as fb
from book.common import results
from book.common.explore import Column, Control, Explorable, Panel, State
from book.compare import studies as study
from book.compare.entrants import ENTRANTS, STAND_INS

__all__ = ["guide"]

#: What may matter most: table where nothing is remembered, measure, whether it is to be small, in words.
_AIMS = {
    "the least share": ("moment", "min_share", False, "least share"),
    "nothing idle": ("moment", "sum_share", False, "sum of shares"),
    "no losses against one's own": ("moment", "loss", True, "mean loss against one's own machines"),
    "few lies that pay": ("lying", "paying", True, "users who find a lie that pays at one moment"),
}
_SHOWN = 6


def _answers(names: list[str]) -> list[tuple[str, str, str, str]]:
    """Name mechanisms as they are shown and as they are typed, and lead to where they are described."""
    found = []
    for one in map(ENTRANTS.__getitem__, names):
        called = one.typed.partition(" ")[0]
        page = f"../api/{getattr(fb, called).__module__}.html#fairbook.{called}"
        found.append((one.label, f"--mechanism {one.typed}", one.function, page))
    return found


def _answer(left: list[str], count: int, best: list[str], ranked: pd.DataFrame, said: str, lies: bool) -> str:
    words = f"{len(left)} of {count} mechanisms are left. "
    if lies:
        return f"{words}None: once the past counts, a lie can pay."
    if not left:
        return f"{words}None: give up one of the needs."
    value = f"{100 * ranked['mean'].iloc[0]:.1f} % ({said})"
    if not best:
        return f"{words}None is good enough: {ENTRANTS[str(ranked.index[0])].label} comes nearest, with {value}."
    names = "; ".join(ENTRANTS[name].label for name in best)
    tied = ", tied: their intervals meet" if len(best) > 1 else ""
    return f"Best: {names}, with {value}{tied}. {words.strip()}"


def guide() -> Explorable:
    """Strike out what fails a need, and rank what is left by its mean over the three traces.

    A need strikes out every mechanism with a failing cell in its column of the matrix. The numbers are the stored
    ones: over a day where the past is to count, else at one moment. Of lies there are numbers at one moment only;
    where the past is to count, the matrix decides.
    """
    cells = study.cells(results.load("compare/matrix"), ledgers.ledger())
    kept = cells[cells["verdict"].isin(["holds", "not broken", "seen"])]
    good = set(zip(kept["mechanism"], kept["property"], strict=True))
    tables = {name: results.load(f"compare/{name}") for name in ("moment", "day", "lying")}
    states = []
    for whole, keeps, memory, aim in itertools.product((False, True), (False, True), (False, True), _AIMS):
        table, measure, least, said = _AIMS[aim]
        lies = memory and table == "lying"
        asked = (("places", whole), ("keeps", keeps), ("remembers", memory), ("lies_periods", lies))
        must = [need for need, wanted in asked if wanted]
        fit = [name for name, one in ENTRANTS.items() if name not in STAND_INS and (whole or not one.whole)]
        left = [name for name in fit if all((name, need) in good for need in must)]
        means = study.averaged(tables["day" if memory and not lies else table], measure)
        ranked = means.reindex(left).dropna().sort_values("mean", ascending=least, kind="stable")
        best = [str(name) for name in study.leaders(ranked, least).index]
        columns = [
            Column(
                ENTRANTS[str(name)].label,
                [("mean over three traces", float(value))],
                f"{100 * value:.1f} %" + (", best" if name in best else ""),
            )
            for name, value in ranked["mean"].iloc[:_SHOWN].items()
        ]
        top = max(float(ranked["mean"].iloc[:_SHOWN].max()) if len(ranked) else 0.0, 1e-9)
        words = _answer(left, len(fit), best, ranked, said, lies and not left)
        panels = [Panel(said, columns, top, rows=True)] if columns else []
        states.append(State(panels, words, _answers(best)))
    return Explorable(
        ["mean over three traces"],
        [
            Control("Tasks", ["divisible, one pool", "whole, on machines"]),
            Control("An arrival may take back", ["yes", "no"]),
            Control("The past counts", ["no", "yes"]),
            Control("What matters most", list(_AIMS)),
        ],
        states,
    )
