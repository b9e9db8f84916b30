"""What the rules in plain Python give on random instances, as data that Coq's kernel checks: ``code.v``.

The rules work in fractions, so what they give is exact. What the fast engines give in floats is compared with it here.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import fairbook as fb
from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq_rule
from fairbook.mechanisms.pool.drf import drf_rule

SEED, COUNT = 2011, 500
#: How far the engines may lie from the rules, relatively.
NEAR = 1e-12
HEAD = """From Coq Require Import QArith List.
From proofs Require Import code.
Import ListNotations.
Local Open Scope Q_scope.
"""
TAIL = """
Definition shifted (s : list Q) := match s with [] => [] | x :: t => (x * (999#1000))%Q :: t end.
Example divisions_accepted : forallb accepted divisions = true. Proof. vm_compute. reflexivity. Qed.
Example divisions_refused : existsb accepted
  (map (fun d => Division (C d) (D d) (weights d) (bounds d) (shifted (tasks d))) divisions) = false.
Proof. vm_compute. reflexivity. Qed.
Example runs_accepted : forallb accepted_run histories = true. Proof. vm_compute. reflexivity. Qed.
Example runs_refused : existsb accepted_run
  (map (fun h => History (N h) (brings h) (resources h) (comes h) (goes h) (shifted (lowest h))) histories) = false.
Proof. vm_compute. reflexivity. Qed.
"""


def coq(given: Any) -> str:
    """Write fractions, None and lists of them as Coq has them."""
    if isinstance(given, list):
        return f"[{'; '.join(map(coq, given))}]"
    return "None" if given is None else f"({given.numerator}#{given.denominator})"


def needs(draw: np.random.Generator, n: int, m: int) -> list[list[Fraction]]:
    """Draw demands, zeros among them, but for nobody zeros alone."""
    whole = draw.integers(0, 6, (n, m))
    whole[np.arange(n), draw.integers(0, m, n)] += 1
    return [[Fraction(int(x)) for x in row] for row in whole]


def amounts(draw: np.random.Generator, low: int, high: int, size: int) -> list[Fraction]:
    """Draw whole numbers."""
    return [Fraction(int(x)) for x in draw.integers(low, high, size)]


def apart(engine: Any, exact: list[Fraction]) -> float:
    """Give the largest relative distance."""
    return max(abs(float(x) - float(y)) / float(y) for x, y in zip(engine, exact, strict=True))


def divisions(draw: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Give outputs of DRF, and how far the engine is from each."""
    for _ in range(COUNT):
        n, m = int(draw.integers(1, 9)), int(draw.integers(1, 5))
        demands, sizes, weights = needs(draw, n, m), amounts(draw, 5, 40, m), amounts(draw, 1, 6, n)
        bounds = [most if draw.random() < 0.3 else None for most in amounts(draw, 1, 9, n)]
        tasks, _ = drf_rule(demands, weights=weights, capacities=sizes, max_tasks=bounds)
        engine = fb.drf(
            np.array(demands, float),
            weights=np.array(weights, float),
            capacities=np.array(sizes, float),
            max_tasks=[np.inf if most is None else float(most) for most in bounds],
        ).tasks
        some = "[" + "; ".join("None" if most is None else f"Some {coq(most)}" for most in bounds) + "]"
        yield f"Division {coq(sizes)} {coq(demands)} {coq(weights)} {some} {coq(tasks)}", apart(engine, tasks)


def histories(draw: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Give runs of DMFA-SRQ in which some users leave, and how far the engine is from each."""
    for _ in range(COUNT):
        n, m = int(draw.integers(1, 7)), int(draw.integers(1, 4))
        demands, weights = needs(draw, n, m), amounts(draw, 1, 6, n)
        events: list[int] = []
        for user in range(n):
            events.append(user)
            present = [one for one in events if events.count(one) == 1]
            if len(present) > 1 and draw.random() < 0.3:
                events.append(int(draw.choice(present)))
        exact = [
            lowest for lowest, _, _ in dmfa_srq_rule(demands, weights=weights, events=events, contribution="stays")
        ]
        pool, engine = fb.DmfaSrq(m), []
        for at, user in enumerate(events):
            if user in events[:at]:
                pool.depart(user, contribution="stays")
            else:
                pool.arrive(user, [float(x) for x in demands[user]], weight=float(weights[user]))
            engine.append(pool.level)
        comes = [events.index(user) for user in range(n)]
        goes = [len(events) - 1 - events[::-1].index(user) if events.count(user) == 2 else 99 for user in range(n)]
        places = " ".join(f"[{'; '.join(f'{k}%nat' for k in one)}]" for one in (comes, goes))
        yield f"History {coq(demands)} {coq(weights)} {m}%nat {places} {coq(exact)}", apart(engine, exact)


def written() -> tuple[str, dict[str, Any]]:
    """Give the file for Coq, and what was compared."""
    draw = np.random.default_rng(SEED)
    lists, far = HEAD, {}
    for name, kind, rule in (("divisions", "division", divisions), ("histories", "history", histories)):
        found = list(rule(draw))
        far[name] = max(distance for _, distance in found)
        lists += f"Definition {name} : list {kind} := [\n" + ";\n".join(one for one, _ in found) + "].\n"
    assert max(far.values()) < NEAR, far
    return lists + TAIL, {"seed": SEED, "instances": COUNT, "within": NEAR}
