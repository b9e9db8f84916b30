"""Is releasing a best response? What a node gains by holding on to what it was granted.

A node values what it is granted in a phase, and what it goes on holding after the phase, at ``worth`` per task held;
a phase later counts ``discount`` times as much. :func:`best_response` solves its problem by dynamic programming over
its own credit, where held resources return to the pool: then its credit is all that its past changes.
:func:`search_release` tries every sequence of release ratios on the mechanism itself, in either kind of pool.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from fairbook.errors import InvalidInput
from fairbook.mechanisms.credit.cbdrf_phase import grant_tasks, settle
from fairbook.mechanisms.credit.credit_rule import CreditRule
from fairbook.mechanisms.credit.online import CbDrf
from fairbook.model.inputs import FloatArray

_STATES = 5_000


@dataclass(frozen=True, eq=False)
class Response:
    """The best that a node can do by its release ratios, beside releasing just enough in every phase.

    Attributes
    ----------
    value, complying : float
        Discounted value of the best strategy, and of releasing exactly rho in every phase, from full credit; in units
        of one phase's grant in good standing.
    granted, held : float
        The two sums of which the best value is made: ``value = granted + worth * held``.
    ratios : ndarray
        Release ratios of the best strategy in the first phases.
    looked_at : int
        Credits (dynamic programming) or phases played (search).
    """

    value: float
    complying: float
    granted: float
    held: float
    ratios: FloatArray
    looked_at: int

    @property
    def gain(self) -> float:
        """Value of the best strategy over that of complying, minus 1; never below 0 up to rounding."""
        return self.value / self.complying - 1

    @property
    def releases(self) -> bool:
        """Whether complying, releasing exactly rho, in every phase is a best response, to 1e-9.

        Where held resources stay, releasing more can be better still; then this is False, too.
        """
        return self.gain <= 1e-9


def _own_grants(rule: CreditRule, demands: Any) -> Callable[[float], float]:
    """Give the first node's grant as a function of psi, the others in good standing; its grant at psi = 1 is 1."""
    rows = np.asarray(demands, dtype=float)

    def tasks(psi: float) -> float:
        factor = np.ones(len(rows))
        factor[0] = psi
        return float(grant_tasks(rows, factor, capacities=None, grant=rule.grant).tasks[0])

    full = tasks(1.0)
    return lambda psi: tasks(psi) / full


def best_response(
    rule: CreditRule,
    *,
    worth: float,
    discount: float = 0.99,
    phases: int | None = None,
    demands: Any = ((1.0,), (1.0,)),
) -> Response:
    """Find the best strategy of the first node by dynamic programming over its credit.

    Parameters
    ----------
    rule : CreditRule
        With ``held="returns"`` (else others' pools remember, too), the step penalty, and one threshold. Without a
        credit cap ``phases`` must be given.
    worth : float
        Value of a task held past its phase, in units of a task granted; at least 0.
    discount : float
        In [0, 1), or up to 1 where ``phases`` is given.
    phases : int, optional
        Length of the horizon, known to the node. Default: endless.
    demands : array_like, shape (n, m)
        The same in each phase, of a pool of ones; all others comply. Default: two equal nodes.

    Returns
    -------
    Response

    Notes
    -----
    Cost: S credits can be reached (at most 5 000), and each of up to log(1e-13) / log(discount) rounds costs O(S). The
    grant at each psi comes from :func:`fairbook.grant_tasks`, so the result holds for any ``grant``.

    Examples
    --------
    With the paper's steps a node to whom holding is worth half of a grant does better by not releasing; with a
    loss of half its credit, regained over ten phases, it releases.

    >>> paper = CreditRule()
    >>> best_response(paper, worth=0.5).releases
    False
    >>> best_response(CreditRule(step_down=0.5, step_up=0.05), worth=0.5).releases
    True
    """
    rho = float(rule.rho)
    # Between two ratios with the same consequence for the credit the node holds as much as it can; complying first.
    ratios = [rho, 0.0] if rho else [0.0]
    if phases is None and (discount == 1 or rule.credit_cap is None):
        raise InvalidInput("phases", "must be given where discount is 1 or credit has no cap", phases)
    moves, credits = _reachable(rule, ratios, phases)
    own = _own_grants(rule, demands)
    factor = rule.factor(credits)
    grants = {psi: own(psi) for psi in np.unique(factor).tolist()}
    grant = np.array([grants[psi] for psi in factor.tolist()])
    now = grant[:, None] * (1.0 + worth * (1.0 - np.array(ratios)))[None, :]
    value = np.zeros(len(credits))
    rounds = count() if phases is None else range(phases)
    policies = []
    for _ in rounds:
        choices = now + discount * value[moves]
        best = choices.max(axis=1)
        # complying, which comes first, wins ties and near-ties
        picked = (choices >= best[:, None] * (1 - 1e-13)).argmax(axis=1)
        if phases is not None:
            policies.append(picked)
        done = phases is None and np.abs(best - value).max() <= 1e-13 * max(best.max(), 1e-300)
        value = best
        if done:
            break
    length = phases if phases is not None else (1 if discount == 0 else int(np.ceil(np.log(1e-15) / np.log(discount))))

    def follow(choose: Callable[[int, int], int]) -> tuple[float, float, list[float]]:
        at, granted, held, weight = 0, 0.0, 0.0, 1.0  # C_0 is the first credit of all
        chosen = []
        for t in range(length):
            a = choose(at, t)
            granted += weight * grant[at]
            held += weight * grant[at] * (1 - ratios[a])
            chosen.append(ratios[a])
            at, weight = int(moves[at, a]), weight * discount
        return float(granted), float(held), chosen

    granted, held, chosen = follow(lambda at, t: int((policies[phases - 1 - t] if phases is not None else picked)[at]))
    honest = follow(lambda at, t: 0)
    return Response(
        granted + worth * held, honest[0] + worth * honest[1], granted, held, np.array(chosen[:200]), len(credits)
    )


def _reachable(rule: CreditRule, ratios: Sequence[float], phases: int | None) -> tuple[Any, FloatArray]:
    """Give for each reachable credit and ratio the place of the next credit, shape (S, ratios), and the credits."""
    known: dict[float, int] = {rule.initial_credit: 0}
    order = [rule.initial_credit]
    moves: list[list[int]] = []
    terms, rho = rule.terms, float(rule.rho)
    starts_round, rounds = 0, 0
    while len(moves) < len(order):
        if len(moves) == starts_round:  # everything reachable in so many phases has been listed
            starts_round, rounds = len(order), rounds + 1
        credit = order[len(moves)]
        row = []
        for ratio in ratios:
            after, _ = settle(terms, credit, ratio, rho)
            after = round(after / rule.initial_credit, 12) * rule.initial_credit
            if after not in known:
                if phases is not None and rounds > phases:  # beyond the horizon: never looked at
                    row.append(0)
                    continue
                known[after] = len(order)
                order.append(after)
            row.append(known[after])
        moves.append(row)
        if len(order) > _STATES:
            raise InvalidInput(
                "rule",
                f"must lead to at most {_STATES} different credits (steps of a common unit)",
                [rule.step_up, rule.step_down],
            )
    return np.array(moves), np.array(order)


def largest_worth(rule: CreditRule, *, discount: float = 0.99, demands: Any = ((1.0,), (1.0,))) -> float:
    """Give the largest worth of holding for which releasing in every phase is a best response; ``inf`` if always.

    Found exactly. What a strategy gains over complying is linear in ``worth``, so each strategy that pays gives the
    worth at which it stops paying, and the next is looked for there.

    Parameters
    ----------
    rule, discount, demands
        As for :func:`best_response`.

    Notes
    -----
    Cost: a few :func:`best_response`.

    Examples
    --------
    >>> rule = CreditRule()
    >>> round(largest_worth(rule), 4), round(worth_threshold(rule, discount=0.99), 4)
    (0.1365, 0.1365)
    """
    rho = float(rule.rho)
    worth = 1e6
    for _ in range(200):
        found = best_response(rule, worth=worth, discount=discount, demands=demands)
        if found.releases:
            return np.inf if worth == 1e6 else worth
        # complying gives a grant in full each phase, and 1 - rho of it to hold
        total = found.complying / (1 + worth * (1 - rho))
        worth = max(0.0, float((total - found.granted) / (found.held - (1 - rho) * total)))
    raise InvalidInput("rule", "must let the search for the largest worth end within 200 strategies", rule)


def worth_threshold(rule: CreditRule, *, discount: float = 0.99) -> float:
    """Give the closed form of :func:`largest_worth` for the paper's grant (theorem of the chapter).

    With s and u the steps down and up in parts of C_0 and P = sum over j >= 1 of discount^j max(0, s - (j - 1) u), a
    node releases while worth <= P / (rho - (1 - rho) P).

    Parameters
    ----------
    rule : CreditRule
        With ``grant="scaled"``, ``penalty="step"``, cap C_0, floor 0 and step_down <= C_0.
    discount : float
        In [0, 1).

    Notes
    -----
    Cost O(min(s / u, log(1 - discount) / log(discount))).
    """
    rho = float(rule.rho)
    s, u = rule.step_down / rule.initial_credit, rule.step_up / rule.initial_credit
    terms = (rule.grant, rule.penalty, rule.credit_cap, rule.credit_floor)
    if terms != ("scaled", "step", rule.initial_credit, 0.0) or s > 1:
        stated = "grant 'scaled', penalty 'step', cap C_0, floor 0 and a step down of at most C_0"
        raise InvalidInput("rule", f"must have {stated}", rule)
    if not 0 <= discount < 1:
        raise InvalidInput("discount", "must be at least 0 and below 1", discount)
    # what follows later changes no digit of the sum
    relevant = 1.0 if discount == 0 else np.ceil(np.log(1e-17 * (1 - discount)) / np.log(discount))
    j = np.arange(1, int(np.ceil(min(s / u + 1 if u else np.inf, relevant))) + 1)
    penalty = float((discount**j * np.maximum(0.0, s - (j - 1) * u)).sum())
    room = rho - (1 - rho) * penalty
    return np.inf if room <= 0 else penalty / room


def search_release(
    rule: CreditRule, demands: Any, *, worth: float, discount: float = 0.99, phases: int = 6, tail: int = 60
) -> Response:
    """Try every sequence of the release ratios 1, rho and 0 of the first node on the mechanism itself.

    Parameters
    ----------
    rule : CreditRule
        Any, with one threshold; ``held="stays"`` included.
    demands : array_like, shape (n, m) or (T, n, m)
        The same in every phase, or cyclic with period T. The node's grant in the first phase is the unit of values.
    worth, discount
        As for :func:`best_response`; the other nodes release all.
    phases, tail : int
        The node chooses freely in so many phases and then releases exactly rho in so many more.

    Returns
    -------
    Response
        ``ratios`` is the best sequence; ``complying`` the value of releasing exactly rho throughout.

    Notes
    -----
    Cost 3^phases * (1 + tail) phases at most; prefixes are shared.
    """
    rho = float(rule.rho)
    values = np.array(demands, dtype=float, ndmin=3)
    n, m = values.shape[1:]
    options = sorted({1.0, rho, 0.0}, reverse=True)
    start = CbDrf(n, np.ones(m), rule=rule)
    unit = float(copy.deepcopy(start).phase(values[0]).tasks[0])
    played = 0

    def play(state: CbDrf, t: int, ratio: float) -> tuple[CbDrf, float, float]:
        nonlocal played
        played += 1
        state = copy.deepcopy(state)
        tasks = float(state.phase(values[t % len(values)]).tasks[0]) / unit * discount**t
        state.release([ratio] + [1.0] * (n - 1))
        return state, tasks, tasks * (1 - ratio)

    def finish(state: CbDrf, t: int, last: int) -> tuple[float, float]:
        granted = held = 0.0
        for step in range(t, last):
            state, one, more = play(state, step, rho)
            granted, held = granted + one, held + more
        return granted, held

    def explore(state: CbDrf, t: int) -> tuple[float, float, list[float]]:
        if t == phases:
            return *finish(state, t, phases + tail), []
        found = []
        for ratio in options:
            after, one, more = play(state, t, ratio)
            granted, held, rest = explore(after, t + 1)
            found.append((granted + one, held + more, [ratio, *rest]))
        return max(found, key=lambda item: item[0] + worth * item[1])

    granted, held, chosen = explore(start, 0)
    honest = finish(start, 0, phases + tail)
    return Response(granted + worth * held, honest[0] + worth * honest[1], granted, held, np.array(chosen), played)
