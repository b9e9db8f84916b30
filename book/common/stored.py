"""What is stored in ``data/results/``, and how it is computed again."""

from collections.abc import Callable
from functools import partial

from book.common import checkout, results
from book.common.claims.registry import FULL, claims
from book.common.claims.stored import rows


def store_ledger(paper: str, *, progress: bool = True) -> None:
    """Check all claims of a paper at full effort and store the rows."""
    results.save(
        f"{paper}/ledger",
        rows(claims(paper), FULL, progress),
        module=f"book.{paper}.checks",
        data=tuple(checkout.load("studies")[paper].DATA),
        seed=FULL.seed,
        runs=FULL.runs,
        evaluations=FULL.evaluations,
    )


def stored_results(*, progress: bool = True) -> dict[str, Callable[[], None]]:
    """List everything that is stored, each with the call that computes it.

    The tables of every study, then the ledgers, and last what needs raw traces: who has none gets all the rest.

    Parameters
    ----------
    progress : bool
        Whether the calls draw bars on stderr.

    Examples
    --------
    >>> list(stored_results())[-1]
    'dmfa_srq/halves'
    """
    found: dict[str, Callable[[], None]] = {}

    def tables(part: str) -> None:
        for module in checkout.load(part).values():
            stored = getattr(module, "STORED", {})
            found.update({name: partial(compute, progress=progress) for name, compute in stored.items()})

    tables("studies")
    for paper in checkout.papers("checks"):
        found[f"{paper}/ledger"] = partial(store_ledger, paper, progress=progress)
    tables("halves")
    return found
