"""Which mechanism? Four questions, an answer, and the numbers behind it."""

import itertools

import fairbook.claims as ledgers
from book.common.explore import Column, Control, Explorable, Panel, State
from book.compare import studies as study
from book.compare.properties import ENTRANTS
from fairbook import results

__all__ = ["guide"]

#: What may matter most: measure, whether it is to be small, in words.
_AIMS = {
    "the least share": ("min_share", False, "least share"),
    "nothing idle": ("sum_share", False, "sum of shares"),
    "no losses against one's own": ("loss", True, "mean loss against one's own machines"),
    "few lies that pay": ("paying", True, "users who find a lie that pays"),
}
_SHOWN = 6


def guide() -> Explorable:
    """Strike out what fails a need, and rank what is left by its mean over the three traces.

    A need strikes out every mechanism with a failing cell in its column of the matrix. The numbers are the stored
    ones: over a day where the past is to count, of lies at one moment, else at one moment.
    """
    cells = study.cells(results.load("compare/matrix"), ledgers.ledger())
    kept = cells[cells["verdict"].isin(["holds", "not broken", "seen"])]
    good = set(zip(kept["mechanism"], kept["property"], strict=True))
    tables = {name: results.load(f"compare/{name}") for name in ("moment", "day", "lying")}
    means = {name: frame.groupby(["measure", "mechanism"])["mean"].mean() for name, frame in tables.items()}
    states = []
    for whole, keeps, memory, aim in itertools.product((False, True), (False, True), (False, True), _AIMS):
        must = [need for need, asked in (("places", whole), ("keeps", keeps), ("remembers", memory)) if asked]
        fit = [name for name, one in ENTRANTS.items() if whole or not one.whole]
        left = [name for name in fit if all((name, need) in good for need in must)]
        measure, least, said = _AIMS[aim]
        values = means["lying" if measure == "paying" else "day" if memory else "moment"][measure]
        ranked = values.reindex(left).dropna().sort_values(ascending=least, kind="stable")
        near = study.leaders(ranked, least)
        best = [ENTRANTS[str(name)].label for name in near.index]
        words = f"{len(left)} of {len(fit)} mechanisms are left. " + (
            f"Best: {'; '.join(best)}, with {100 * near.iloc[0]:.1f} %." if best else "Give up one of the needs."
        )
        columns = [
            Column(str(place), [("mean over three traces", float(value))], f"{100 * value:.1f} %")
            for place, value in enumerate(ranked.iloc[:_SHOWN], start=1)
        ]
        names = "; ".join(f"{place} {ENTRANTS[str(name)].label}" for place, name in enumerate(ranked.index[:_SHOWN], 1))
        top = max(float(ranked.iloc[:_SHOWN].max()) if len(ranked) else 0.0, 1e-9)
        states.append(State([Panel(f"{said}: {names}", columns, top)] if columns else [], words))
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
