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
    """List everything that is stored, each with the call that computes it: the tables of every study, then the ledgers.

    Parameters
    ----------
    progress : bool
        Whether the calls draw bars on stderr.

    Examples
    --------
    >>> list(stored_results())[-1].endswith("/ledger")
    True
    """
    found: dict[str, Callable[[], None]] = {}
    for module in (*checkout.load("studies").values(), *checkout.load("halves").values()):
        tables = getattr(module, "STORED", {})
        found.update({name: partial(compute, progress=progress) for name, compute in tables.items()})
    for paper in checkout.papers("checks"):
        found[f"{paper}/ledger"] = partial(store_ledger, paper, progress=progress)
    return found
