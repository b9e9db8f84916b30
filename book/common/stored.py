"""What is stored in ``data/results/``, and how it is computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from fairbook import checkout, results
from fairbook.claims.registry import FULL, Effort, claims
from fairbook.claims.stored import rows
from fairbook.errors import MissingDependency

__all__ = ["refresh", "store_ledger", "stored_results"]


def store_ledger(paper: str, *, effort: Effort = FULL, progress: bool = True) -> None:
    """Check all claims of a paper at full effort and store the rows."""
    results.save(
        f"{paper}/ledger",
        rows(claims(paper), effort, progress),
        module=f"book.{paper}.checks",
        data=tuple(checkout.load("studies")[paper].DATA),
        seed=effort.seed,
        runs=effort.runs,
        evaluations=effort.evaluations,
    )


def refresh(
    stored: dict[str, Callable[[], None]],
    *,
    force: bool = False,
    over: Callable[[list[str]], Iterable[str]] = iter,
    computed: Callable[[str], None] | None = None,
) -> list[str]:
    """Compute every stored result that is missing or stale, one after the other; what is fresh is left alone.

    An interrupted call keeps the results it had finished. What needs a package that is missing is left out, and said
    at the end.

    Parameters
    ----------
    stored : dict
        Names, each with the call that computes the result, as :func:`stored_results` gives them.
    force : bool
        Whether to compute also what is fresh.
    over : callable
        Takes the names that are to be computed and yields them one by one: a place for a bar.
    computed : callable, optional
        Told the name of each result once it is stored.

    Returns
    -------
    list of str
        What was computed.

    Raises
    ------
    MissingDependency
        After everything else has been computed.
    """
    done, missing = [], []
    for name in over([name for name in stored if force or not results.is_fresh(name)]):
        try:
            stored[name]()
        except MissingDependency as error:
            missing.append(f"{name}: {error}")
            continue
        done.append(name)
        if computed is not None:
            computed(name)
    if missing:
        raise MissingDependency("; ".join(missing))
    return done


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
    for module in checkout.load("studies").values():
        tables = getattr(module, "STORED", {})
        found.update({name: partial(compute, progress=progress) for name, compute in tables.items()})
    for paper in checkout.papers("checks"):
        found[f"{paper}/ledger"] = partial(store_ledger, paper, progress=progress)
    return found
