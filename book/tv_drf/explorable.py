"""TV-DRF's accounts and a lie about them, under the reader's hand."""

from fractions import Fraction

from book.common.explore import Column, Control, Explorable, Panel, State
from book.tv_drf.studies import memory_course
from fairbook.mechanisms.tv_drf import tv_drf

__all__ = ["accounts", "lie"]


def accounts(quiet: int = 8, periods: int = 20) -> Explorable:
    """Show period by period what a user that was quiet gets, with memory and without."""
    frame = memory_course(quiet=quiet, periods=periods).set_index(["mechanism", "period", "user"]).sort_index()
    states, top = [], float(frame["share"].max())
    for mechanism in ("tv_drf", "memoryless"):
        for period in range(1, periods + 1):
            now = frame.loc[mechanism, period]
            tasks = [
                Column(
                    f"user {who}",
                    [(who, row["tasks"])],
                    f"{row['tasks']:.0f} of {row['submitted']:.0f}",
                    row["submitted"],
                )
                for who, row in now.iterrows()
            ]
            kept = [Column(f"user {who}", [(who, row["share"])], f"{row['share']:.2f}") for who, row in now.iterrows()]
            behind = now["share"].idxmin() if now["share"].max() - now["share"].min() > 1e-9 else ""
            said = f"In period {period} A runs {now['tasks']['A']:.0f} tasks and B {now['tasks']['B']:.0f}. " + (
                f"{behind} has received less so far." if behind else "Both have received the same so far."
            )
            states.append(
                State(
                    [
                        Panel("tasks in this period; the line is what was asked for", tasks, 60),
                        Panel("received so far, in dominant shares", kept, top),
                    ],
                    said,
                )
            )
    controls = [Control("memory", ["on", "off"]), Control("period", [str(t) for t in range(1, periods + 1)], quiet)]
    return Explorable("AB", controls, states)


def lie(steps: int = 8) -> Explorable:
    """Let user A claim a part of its task today, and see what it runs today and tomorrow."""
    states, honest = [], 0.0
    for k in range(steps, -1, -1):
        claim = k / steps
        run = tv_drf(
            [[[1], [1]], [[1 / 4], [1]]], [[claim, 1 / 4], [2, 1]], [[1]], [[1 / 2], [1 / 2]], method="lexicographic"
        )
        mine = run.tasks[:, 0]
        honest = float(mine.sum()) if k == steps else honest
        gain = float(mine.sum()) - honest
        words = (
            f"{abs(gain):.3g} {'more' if gain > 0 else 'less'} than with the truth" if abs(gain) > 1e-9 else "no gain"
        )
        words = "the truth" if k == steps else words
        days = [
            Column(name, [(who, float(run.tasks[t, i])) for i, who in enumerate("AB")])
            for t, name in enumerate(("today", "tomorrow"))
        ]
        states.append(
            State(
                [Panel("tasks run; one of A's of tomorrow is a quarter as large", days, 3)],
                f"A claims {Fraction(k, steps)} of a task today and runs {mine[0]:.3g} + {mine[1]:.3g} = "
                f"{mine.sum():.3g} tasks: {words}.",
            )
        )
    claims = [str(Fraction(k, steps)) for k in range(steps, -1, -1)]
    return Explorable("AB", [Control("tasks that A claims today", claims)], states)
