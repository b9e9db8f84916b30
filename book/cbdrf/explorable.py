"""What a punishment takes, and who gets it, under the reader's hand."""

from book.common.explore import Column, Control, Explorable, Panel, State
from fairbook.mechanisms.credit.cbdrf_phase import grant_tasks

__all__ = ["puzzle"]


def puzzle() -> Explorable:
    """Let two nodes share one resource while the first has less and less credit."""
    states = []
    for tenths in range(10, -1, -1):
        first, second = grant_tasks([[1], [1]], [tenths / 10, 1], capacities=[1]).tasks
        idle = 1 - first - second
        said = f"A gets {first:.3g} and B {second:.3g}; {idle:.3g} of the pool stays idle."
        said += " A would rather have what B has." if tenths < 10 else " Nobody envies anybody."
        pool = [Column("the pool", [("A", first), ("B", second)], line=1.0)]
        states.append(State([Panel("granted; the line is the pool", pool, 1.1)], said))
    credits = [f"{tenths / 10:g}" for tenths in range(10, -1, -1)]
    return Explorable("AB", [Control("credit of A, in parts of its first credit", credits)], states)
