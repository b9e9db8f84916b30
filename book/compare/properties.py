"""What an outcome of the comparison is worth, and which properties it has."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from book.common.packing import packs
from book.compare.entrants import TOLERANCE, Entrant, Outcome, Shared, listed
from fairbook.model.inputs import FloatArray
from fairbook.model.placement import FITS

# --------------------------------------------------------------------------------------------- what it is worth


def worth(case: Shared, tasks: FloatArray) -> FloatArray:
    """Give the dominant share of each user, added up over the periods, shape (n,)."""
    return (tasks * case.unit).sum(axis=0)


def _fit(rooms: FloatArray, need: FloatArray, whole: bool) -> FloatArray:
    """Count the tasks that fit in each of K rooms, shape (K,)."""
    count = (rooms[:, need > 0] / need[need > 0]).min(axis=1)
    return np.floor(count * (1 + FITS)) if whole else count


def alone(case: Shared, *, whole: bool, places: bool) -> FloatArray:
    """Give what each user could run on its own block, shape (T, n).

    Whole tasks on the machines of the block, fractions on these, or fractions of the block merged into one: under the
    same idealisation under which a mechanism works.
    """
    rooms = case.block if places else case.block.sum(axis=0)[None]
    found = [[_fit(rooms, need, whole).sum() for need in rows] for rows in case.demands]
    return np.minimum(np.array(found), case.tasks)


def usable(case: Shared, given: Outcome, whole: bool, t: int, i: int, h: int, *, but: int = 0) -> float:
    """Count the tasks that user i could run in period t on what user h holds, up to what it can use.

    With ``but=1`` on what is left once a task is taken from h, the one that leaves i the least.
    """
    held, need = case.demands[t, h], case.demands[t, i]
    counts = given.tasks[t, h, None] if given.placed is None else given.placed[t, :, h]
    run = _fit(counts[:, None] * held, need, whole)
    lost = run - _fit(np.maximum(counts - but, 0)[:, None] * held, need, whole) if but else 0.0
    return float(min(run.sum() - np.max(lost), case.tasks[t, i]))


def lies(m: int, factors: tuple[float, ...] = (0.5, 1.0, 2.0)) -> list[FloatArray]:
    """List the claims that are tried: each resource of the demand times each of the factors, but the truth."""
    return [np.array(claim) for claim in product(factors, repeat=m) if set(claim) != {1.0}]


def believable(case: Shared, user: int, factors: FloatArray) -> bool:
    """Say whether in each period the claim fits on a machine: nobody believes a task that fits nowhere."""
    claims = case.demands[:, user] * factors
    fits = np.all(claims[:, None] <= case.machines * (1 + FITS), axis=2)
    return bool(np.all(np.any(fits, axis=1)))


def after_lie(case: Shared, entrant: Entrant, user: int, factors: FloatArray) -> FloatArray:
    """Give the tasks that a liar really runs, per period, shape (T,)."""
    return _really_run(case, case.with_claim(user, factors), entrant, user)


def _really_run(case: Shared, lied: Shared, entrant: Entrant, user: int) -> FloatArray:
    given = entrant.call(lied)
    held = given.tasks[:, user, None] if given.placed is None else given.placed[:, :, user]
    run = [
        _fit(counts[:, None] * claim, need, entrant.whole).sum()
        for counts, claim, need in zip(held, lied.demands[:, user], case.demands[:, user])
    ]
    return np.minimum(np.array(run), case.tasks[:, user])


def after_early_lie(case: Shared, entrant: Entrant, user: int, factors: FloatArray, part: float) -> FloatArray:
    """Give the tasks that a liar really runs, per period, whose claim for the first period is wrong."""
    demands, tasks = case.demands.copy(), case.tasks.copy()
    demands[0, user] *= factors
    tasks[0, user] = np.floor(tasks[0, user] * part)
    return _really_run(case, replace(case, demands=demands, tasks=tasks), entrant, user)


def best_lie(case: Shared, entrant: Entrant, user: int, honest: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Find the lie, of :func:`lies`, that is worth most.

    Parameters
    ----------
    honest : ndarray, shape (T,)
        Tasks with the truth.

    Returns
    -------
    (ndarray, ndarray or None)
        Tasks that the liar really runs, shape (T,), and the factors of its claim; ``honest`` and None where no lie is
        worth more than the truth.
    """
    best, how = honest, None
    for factors in lies(case.demands.shape[2]):
        if believable(case, user, factors):
            lied = after_lie(case, entrant, user, factors)
            if float(lied @ case.unit[:, user]) > float(best @ case.unit[:, user]):
                best, how = lied, factors
    return best, how


# ------------------------------------------------------------------------------------------------------ properties


class Witness(NamedTuple):
    """Where a property fails.

    Attributes
    ----------
    case : Shared
    what : str
        What happens there, in a sentence.
    """

    case: Shared
    what: str


class Property(NamedTuple):
    """Something that an outcome has or has not.

    Attributes
    ----------
    name, label, statement : str
    periods : int
        Of the instances on which it is asked.
    check : callable
        Takes a case and an entrant, returns what breaks the property there in a sentence, or None.
    effort : float
        How many times as many instances are looked at: what breaks it may be rare.
    """

    name: str
    label: str
    statement: str
    periods: int
    check: Callable[[Shared, Entrant], str | None]
    effort: float = 1


def less(a: float, b: float, by: float = 0.0) -> bool:
    """Say whether a lies below b by more than ``by``, and not by rounding."""
    return a < b * (1 - TOLERANCE) - by * (1 + TOLERANCE) - 1e-12


def slack(case: Shared, entrant: Entrant) -> float:
    """Give the dominant share that counts as nothing: where tasks are whole, one task of anybody in each period."""
    return float(case.unit.max(axis=1).sum()) if entrant.whole else 0.0


def _loser(case: Shared, entrant: Entrant, before: FloatArray, after: FloatArray) -> int | None:
    """Name the first user whose dominant share is less after than before."""
    return next((i for i, (x, y) in enumerate(zip(before, after)) if less(y, x, slack(case, entrant))), None)


def _sharing(case: Shared, entrant: Entrant) -> str | None:
    given = entrant.call(case)
    own = alone(case, whole=entrant.whole, places=entrant.places)
    i = _loser(case, entrant, worth(case, own), worth(case, given.tasks))
    return None if i is None else f"user {i} runs {_told(given.tasks[:, i])} tasks, alone {_told(own[:, i])}"


def _told(tasks: FloatArray) -> str:
    return " then ".join(f"{x:.4g}" for x in tasks)


def _waste(case: Shared, entrant: Entrant) -> str | None:
    given = entrant.call(case)
    for t, rows in enumerate(case.demands):
        used = rows.T @ given.tasks[t] if given.placed is None else given.placed[t] @ rows
        rooms = (case.total - used)[None] if given.placed is None else case.machines - used
        for i, need in enumerate(rows):
            more = float(_fit(np.maximum(rooms, 0), need, entrant.whole).max())
            more = min(more, case.tasks[t, i] - given.tasks[t, i])
            if more > TOLERANCE * max(1.0, given.tasks[t, i]):
                return f"user {i} runs {_told(given.tasks[:, i])} tasks, and there is room for {more:.4g} more"
    return None


def _envy(case: Shared, entrant: Entrant) -> str | None:
    given = entrant.call(case)
    n = case.demands.shape[1]
    for t, i, h in product(range(len(case.demands)), range(n), range(n)):
        could = usable(case, given, entrant.whole, t, i, h, but=int(entrant.whole))
        if less(given.tasks[t, i], could):
            but = ", without one task of it" if entrant.whole else ""
            return f"user {i} runs {given.tasks[t, i]:.4g} tasks; it could run {could:.4g} on what user {h} holds{but}"
    return None


def _lies(case: Shared, entrant: Entrant) -> str | None:
    honest = entrant.call(case).tasks
    for i in range(case.demands.shape[1]):
        lied, factors = best_lie(case, entrant, i, honest[:, i])
        truth, gained = float(honest[:, i] @ case.unit[:, i]), float(lied @ case.unit[:, i])
        if factors is not None and less(truth, gained, slack(case, entrant)):
            return (
                f"user {i} runs {_told(honest[:, i])} tasks, and {_told(lied)} by claiming its demand multiplied by "
                f"{listed(factors)}"
            )
    return None


def _lies_later(case: Shared, entrant: Entrant) -> str | None:
    honest, truth = entrant.call(case).tasks, np.ones(case.demands.shape[2])
    few = [one for one in lies(len(truth)) if (one != 1).sum() == 1 or len(set(one)) == 1]  # in one resource, or in all
    claims = [*((truth, part) for part in (0.0, 0.5)), *((factors, 1.0) for factors in few)]
    for i, (factors, part) in product(range(case.demands.shape[1]), claims):
        if not believable(case, i, factors):
            continue
        lied = after_early_lie(case, entrant, i, factors, part)
        if less(float(honest[:, i] @ case.unit[:, i]), float(lied @ case.unit[:, i]), slack(case, entrant)):
            what = f"its demand times {listed(factors)}" if part == 1 else "half of its tasks" if part else "no tasks"
            return f"user {i} runs {_told(honest[:, i])} tasks, and {_told(lied)} by first claiming {what}"
    return None


def _keeps(case: Shared, entrant: Entrant) -> str | None:
    before = entrant.call(case.among(1)).tasks
    for k in range(2, case.demands.shape[1] + 1):
        after = entrant.call(case.among(k)).tasks
        i = _loser(case, entrant, before[0, : k - 1] * case.unit[0, : k - 1], after[0, : k - 1] * case.unit[0, : k - 1])
        if i is not None:
            return f"user {i} runs {before[0, i]:.4g} tasks, and {after[0, i]:.4g} once user {k - 1} has come"
        before = after
    return None


def _more(case: Shared, entrant: Entrant) -> str | None:
    fewer = replace(case, extra=case.extra[:0])
    before, after = entrant.call(fewer).tasks, entrant.call(case).tasks
    i = _loser(case, entrant, before[0] * case.unit[0], after[0] * case.unit[0])
    return (
        None
        if i is None
        else (
            f"user {i} runs {before[0, i]:.4g} tasks without the machine that nobody brings, {after[0, i]:.4g} with it"
        )
    )


def _order(case: Shared, entrant: Entrant) -> str | None:
    given = worth(case, entrant.call(case).tasks)
    users = np.arange(case.demands.shape[1])
    for order, how in ((users[::-1], "in reverse order"), (np.roll(users, 1), "with the last one first"))[: users[-1]]:
        again = worth(case, entrant.call(case.permuted(order)).tasks[:, np.argsort(order)])
        i = _loser(case, entrant, np.maximum(given, again), np.minimum(given, again))
        if i is not None:
            return f"user {i} holds a dominant share of {given[i]:.4g}, and {again[i]:.4g} if users are listed {how}"
    return None


def _places(case: Shared, entrant: Entrant) -> str | None:
    given = entrant.call(case)
    for t, rows in enumerate(case.demands):
        if given.placed is not None and (over := given.placed[t] @ rows > case.machines * (1 + 1e-9)).any():
            return f"machine {int(np.flatnonzero(over.any(axis=1))[0])} is overdrawn"
        if (given.tasks[t] @ rows > case.total * (1 + 1e-9)).any():
            return "more is given out than there is"
        if given.placed is not None and entrant.whole:
            continue
        counts = np.floor(given.tasks[t] * (1 + FITS)).astype(int)
        rooms = tuple(sorted(map(tuple, case.machines.tolist())))
        if not packs(rooms, tuple(map(tuple, rows.tolist())), tuple(counts.tolist())):
            return f"{' and '.join(map(str, counts))} whole tasks are given out, which no placement can run"
    return None


def _remembers(case: Shared, entrant: Entrant) -> str | None:
    """Say what differs from the same last period after a past in which user 0 wanted nothing."""
    idle = case.tasks.copy()
    idle[0, 0] = 0
    busy, rested = entrant.call(case).tasks[-1, 0], entrant.call(replace(case, tasks=idle)).tasks[-1, 0]
    if rested > busy * (1 + TOLERANCE) + 1e-12:
        return f"user 0 runs {busy:.4g} tasks in the second period, and {rested:.4g} if it asked for none in the first"
    return None


#: What is asked of every mechanism. Where tasks are whole, a loss or a gain counts if it is more than one task of
#: anybody a period, and envy if it is of what another holds less one task; the last three know no such slack. For the
#: last a case is sought in which it shows, for the others one in which they fail.
PROPERTIES: dict[str, Property] = {
    one.name: one
    for one in (
        Property(
            "sharing",
            "nobody is worse off than alone",
            "Everybody has at least what its own block would give it.",
            1,
            _sharing,
        ),
        Property(
            "sharing_periods",
            "nor over two periods",
            "Over two periods with different demands everybody has at least what its own block would give it.",
            2,
            _sharing,
        ),
        Property(
            "sharing_three",
            "nor over three periods",
            "Over three periods with different demands everybody has at least what its own block would give it.",
            3,
            _sharing,
            5,
        ),
        Property("envy", "no envy", "Nobody could run more tasks on what another holds.", 1, _envy),
        Property(
            "lies",
            "no lie pays",
            "Nobody runs more by claiming another demand (halves and doubles are tried).",
            1,
            _lies,
        ),
        Property(
            "lies_periods",
            "no lie pays over two periods",
            "Over two periods nobody runs more by a false claim in the first: half of its tasks, no tasks, or another "
            "demand (half or double, in one resource or in all).",
            2,
            _lies_later,
            0.25,  # some thirty claims an instance, each with two programmes for the fluid DRFH
        ),
        Property(
            "keeps",
            "an arrival takes nothing back",
            "As users come with their blocks, the others keep what they have.",
            1,
            _keeps,
        ),
        Property(
            "more", "more machines hurt nobody", "Nobody loses when a machine that nobody brings is added.", 1, _more
        ),
        Property(
            "order",
            "the order of users plays no role",
            "Shares stay what they are if users are listed in another order.",
            1,
            _order,
        ),
        Property(
            "waste",
            "nothing is wasted",
            "Nobody could run more in what is left over, without moving anything.",
            1,
            _waste,
        ),
        Property(
            "places",
            "it fits on the machines",
            "What each user gets, rounded down to whole tasks, can run on the machines.",
            1,
            _places,
        ),
        Property(
            "remembers",
            "it remembers",
            "A user that asked for nothing before has more now than if it had asked for tasks.",
            2,
            _remembers,
        ),
    )
}
