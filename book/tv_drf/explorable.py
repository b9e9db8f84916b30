"""TV-DRF's accounts and a lie about them, under the reader's hand."""

from fractions import Fraction

from book.common.explore import Column, Control, Curve, Explorable, Panel, State
from book.tv_drf.studies import memory_course
from fairbook.mechanisms.tv_drf.tv_drf import tv_drf

__all__ = ["accounts", "lie", "puzzle"]


def accounts(quiet: int = 8, periods: int = 20) -> Explorable:
    """Show period by period what a user that was quiet gets, with memory and without."""
    frame = memory_course(quiet=quiet, periods=periods).set_index(["mechanism", "period", "user"]).sort_index()
    states, curves = [], []
    for mechanism in ("tv_drf", "memoryless"):
        lines = {user: frame.loc[mechanism].xs(user, level="user")["share"].tolist() for user in "AB"}
        curves.append(Curve("received so far, in dominant shares, by period", "G", lines))
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
            behind = now["share"].idxmin() if now["share"].max() - now["share"].min() > 1e-9 else ""
            said = f"In period {period} A runs {now['tasks']['A']:.0f} tasks and B {now['tasks']['B']:.0f}. " + (
                f"{behind} has received less so far." if behind else "Both have received the same so far."
            )
            states.append(
                State([Panel("tasks in this period; the line is what was asked for", tasks, 60, "tasks")], said)
            )
    controls = [Control("memory", ["on", "off"]), Control("period", [str(t) for t in range(1, periods + 1)], quiet)]
    return Explorable("AB", controls, states, curves)


def lie(steps: int = 16, parts: tuple[int, ...] = (4, 8, 16, 32)) -> Explorable:
    """Let user A claim a part of its task today, and see what it runs today and tomorrow; then make its tasks smaller.

    These are the instances of prop-tv_drf-unbounded for tasks that expire: tomorrow each task of A is an e-th of the
    pool, for the numbers e of ``parts``, and all of them together are the half that A owns.
    """
    states, curves, claims = [], [], [Fraction(k, steps) for k in range(steps + 1)]
    top = max(parts) / 2 + 1
    for e in parts:
        runs = [
            tv_drf(
                [[[1], [1]], [[1 / e], [1]]],
                [[float(claim), 1 / e], [e / 2, 1]],
                [[1]],
                [[1 / 2], [1 / 2]],
                method="lexicographic",
            ).tasks
            for claim in claims
        ]
        honest = runs[-1]
        gains = [100 * float(run[:, 0].sum() / honest[:, 0].sum() - 1) for run in runs]
        curves.append(Curve("A's gain by the tasks that it claims today", "gain (percent)", {"A": gains}))
        for claim, run, gain in zip(claims, runs, gains, strict=True):
            mine, part = run[:, 0], "all" if claim == 1 else claim or "none"
            words = "The truth." if claim == 1 else f"A's gain: {gain:+.0f} %." if abs(gain) > 0.1 else "No gain."
            days = [
                Column(day, [(who, float(run[t, i])) for i, who in enumerate("AB")], line=float(honest[t, 0]))
                for t, day in enumerate(("today", "tomorrow"))
            ]
            states.append(
                State(
                    [Panel("tasks run; the line is what the truth gives A", days, top, "tasks")],
                    f"{words} A claims {part} of its task today and runs {mine[0]:.3g} + {mine[1]:.3g} = "
                    f"{mine.sum():.3g} tasks.",
                )
            )
    sizes = Control("a task of A tomorrow takes, of the pool", [f"1/{e}" for e in parts])
    claimed = Control("tasks that A claims today", list(map(str, claims)), steps)
    return Explorable("AB", [sizes, claimed], states, curves)


def puzzle() -> Explorable:
    """Let two users that own a quarter and three quarters of a machine run two periods."""
    tasks: list[list[float]] = [[1, 1 / 4], [1, 2]]
    run = tv_drf([[[1], [1]]] * 2, tasks, [[1]], [[1 / 4], [3 / 4]], method="lexicographic")
    states = []
    for t, shares in enumerate(run.cumulative_shares):
        ran = [
            Column(f"user {who}", [(who, float(x))], f"{x:.3g} of {asked:g}", asked)
            for who, x, asked in zip("AB", run.tasks[t], tasks[t], strict=True)
        ]
        had = [Column(f"user {who}", [(who, float(g))], f"{g:.3g} times") for who, g in zip("AB", shares, strict=True)]
        waiting = [who for who, x, asked in zip("AB", run.tasks[t], tasks[t], strict=True) if x < asked - 1e-9]
        states.append(
            State(
                [
                    Panel("tasks in this period; the line is what was asked for", ran, 2.1),
                    Panel("received so far, in multiples of its own part", had, 3.2),
                ],
                f"So far A has received {shares[0]:.3g} times its part, B {shares[1]:.3g} times. "
                f"{' and '.join(waiting)} could use more.",
            )
        )
    return Explorable("AB", [Control("period", ["1", "2"])], states)
