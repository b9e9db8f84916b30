"""What the rules in plain Python give on random instances, as data that Coq's kernel checks: ``code.v``.

The rules work in fractions, so what they give is exact. What the fast engines give in floats is compared with it here.
Every mechanism but DMFA-SRQ, which has a checker of its own, is told as a filling: where users begin, what they hold
there, where they end. In how many of the instances floors, lids and second resources hold users back is counted, too.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import count, islice
from math import lcm
from typing import Any, NamedTuple, cast

import numpy as np

import fairbook as fb
from fairbook.mechanisms import registry
from fairbook.mechanisms.credit.cbdrf_phase import grant_tasks_rule

SEED, COUNT = 2011, 500
#: How far the engines may lie from the rules, relatively.
NEAR = 1e-12
#: Fractions come as their common denominator and numerators k: 2k + 2, or -2k - 1 below 0; 0 says that there is none.
HEAD = """From Coq Require Import QArith List Uint63.
From proofs Require Import code.
Import ListNotations.
Definition signed k := if Z.even k then (k / 2 - 1)%Z else (- ((k + 1) / 2))%Z.
Definition rational q k := Qred (signed (to_Z k) # Z.to_pos (to_Z q)).
Definition read s := match s with [] => [] | q :: t => map (rational q) t end.
Definition read_bounds s := match s with [] => []
  | q :: t => map (fun k => if (k =? 0)%uint63 then None else Some (rational q k)) t end.
Definition read_places s := map (fun k => Z.to_nat (to_Z k)) s.
Definition division_of s := match s with
  | c :: w :: p :: h :: b :: t :: rows => Division (read c) (map read rows) (read w) (read p) (read h) (read_bounds b)
    (read t) | _ => Division [] [] [] [] [] [] [] end.
Definition history_of s := match s with
  | w :: m :: c :: g :: t :: rows => History (map read rows) (read w) (hd 0%nat (read_places m)) (read_places c)
    (read_places g) (read t) | _ => History [] [] 0 [] [] [] end.
Fixpoint shifted by_ (s : list Q) := match s with [] => []
  | x :: t => if Qeq_bool x 0 then x :: shifted by_ t else Qred (x * by_) :: t end.
Definition wrong by_ d := Division (C d) (D d) (weights d) (past d) (held d) (bounds d) (shifted by_ (tasks d)).
Definition off by_ h := History (N h) (brings h) (resources h) (comes h) (goes h) (shifted by_ (lowest h)).
Definition down := (999 # 1000)%Q.
Definition up := (1001 # 1000)%Q.
Local Open Scope uint63_scope.
"""
#: All are accepted, and refused with one number changed by a thousandth, down or up.
CHECKED = """Example {name}_holds : (let cases := map {read} {name} in forallb {accepted} cases && negb (existsb
  (fun one => {accepted} ({wrong} down one) || {accepted} ({wrong} up one)) cases))%bool = true.
Proof. vm_cast_no_check (eq_refl true). Qed.
"""
PLAIN = """Example drf_is_plain : forallb (fun s => let d := division_of s in plain (told_by d) (weights d)) drf = true.
Proof. vm_cast_no_check (eq_refl true). Qed.
"""
Numbers = list[Fraction]


class Case(NamedTuple):
    """What a filling began with and gave, and how far from it the engine is."""

    sizes: Numbers
    demands: list[Numbers]
    weights: Numbers
    past: Numbers
    """Level that each user would have without tasks."""
    held: Numbers
    """Tasks of each where it begins."""
    bounds: Sequence[Fraction | None]
    tasks: Numbers
    far: float

    def told(self) -> str:
        """Write it for Coq."""
        rows = self.sizes, self.weights, self.past, self.held, self.bounds, self.tasks, *self.demands
        return listed([*map(coded, rows)])

    def held_back(self) -> tuple[bool, bool, bool]:
        """Say whether a user gains nothing above its floor, one ends at its lid, and two resources are used up."""
        users = list(zip(self.tasks, self.held, self.bounds, strict=True))
        use = [sum(x * row[j] for x, row in zip(self.tasks, self.demands, strict=True)) for j in range(len(self.sizes))]
        full = sum(used == size for used, size in zip(use, self.sizes, strict=True))
        return any(x == y != z for x, y, z in users), any(y < x == z for x, y, z in users), full > 1


def listed(rows: list[list[Any]]) -> str:
    """Write lists of whole numbers for Coq."""
    return str(rows).replace(", ", ";")


def coded(row: Any) -> list[int]:
    """Give fractions and None as whole numbers: see ``HEAD``."""
    q = lcm(*(x.denominator for x in row if x is not None))
    whole = [None if x is None else int(x * q) for x in row]
    return [q, *(0 if k is None else 2 * k + 2 if k >= 0 else -2 * k - 1 for k in whole)]


def needs(draw: np.random.Generator, n: int, m: int) -> list[Numbers]:
    """Draw demands, zeros among them, but for nobody zeros alone."""
    whole = draw.integers(0, 6, (n, m))
    whole[np.arange(n), draw.integers(0, m, n)] += 1
    return [[Fraction(int(x)) for x in row] for row in whole]


def amounts(draw: np.random.Generator, low: int, high: int, size: int) -> Numbers:
    """Draw whole numbers."""
    return [Fraction(int(x)) for x in draw.integers(low, high, size)]


def apart(engine: Any, exact: Numbers) -> float:
    """Give the largest relative distance; from 0, the distance."""
    pairs = zip(np.ravel(engine), exact, strict=True)
    return max(abs(float(x) - float(y)) / (float(y) or 1.0) for x, y in pairs)


def doubles(given: Any) -> Any:
    """Give fractions as doubles, None as no bound."""
    return np.array(np.frompyfunc(lambda x: np.inf if x is None else float(x), 1, 1)(np.array(given, object)), float)


def largest(row: Numbers, sizes: Numbers) -> Fraction:
    """Give the dominant share of one task."""
    return max(x / size for x, size in zip(row, sizes, strict=True))


def pool(draw: np.random.Generator, least: int = 1) -> tuple[Any, ...]:
    """Draw users, resources, demands, capacities; and zeros for the users."""
    n, m = int(draw.integers(least, 9)), int(draw.integers(1, 5))
    return n, m, needs(draw, n, m), amounts(draw, 5, 40, m), [Fraction(0)] * n


def drf(draw: np.random.Generator, _: int) -> Case:
    """DRF with weights and bounds."""
    n, _, demands, sizes, none = pool(draw)
    weights = amounts(draw, 1, 6, n)
    bounds = [most if draw.random() < 0.3 else None for most in amounts(draw, 1, 9, n)]
    tasks, _ = registry["drf"].rule(demands, weights=weights, capacities=sizes, max_tasks=bounds)
    given = {"weights": doubles(weights), "capacities": doubles(sizes), "max_tasks": doubles(bounds)}
    far = apart(fb.drf(doubles(demands), **given).tasks, tasks)
    return Case(sizes, demands, weights, none, none, bounds, tasks, far)


def drf_with_minima(draw: np.random.Generator, k: int) -> Case:
    """DRF with minima that count for the level, or, in every other instance, with the rest shared by itself."""
    n, m, demands, sizes, none = pool(draw)
    weights, least = amounts(draw, 1, 6, n), [x / 2 for x in amounts(draw, 0, 5, n)]
    floor: Any = ("counted", "apart")[k % 2]
    use = [sum(x * row[j] for x, row in zip(least, demands, strict=True)) for j in range(m)]
    sizes = [size + used for size, used in zip(sizes, use, strict=True)]
    bounds = [most + x if draw.random() < 0.3 else None for most, x in zip(amounts(draw, 0, 9, n), least, strict=True)]
    given = {"weights": weights, "capacities": sizes, "max_tasks": bounds, "min_tasks": least}
    tasks, _ = registry["drf"].rule(demands, floor=floor, **given)
    engine = fb.drf(doubles(demands), floor=floor, **{name: doubles(one) for name, one in given.items()})
    per_task = [largest(row, sizes) / w for row, w in zip(demands, weights, strict=True)]
    past = [-x * one for x, one in zip(least, per_task, strict=True)] if floor == "apart" else none
    return Case(sizes, demands, weights, past, least, bounds, tasks, apart(engine.tasks, tasks))


def cbdrf(draw: np.random.Generator, k: int) -> Case:
    """One grant of cbDRF by each of its three rules in turn; what the printed one withholds is given back."""
    n, _, demands, sizes, none = pool(draw)
    grant: Any = ("scaled", "weighted", "capped")[k % 3]
    psi = [min(x / 6, Fraction(1)) for x in amounts(draw, grant == "scaled", 10, n)]
    tasks = grant_tasks_rule(demands, psi, capacities=sizes, grant=grant)
    far = apart(fb.grant_tasks(doubles(demands), doubles(psi), capacities=doubles(sizes), grant=grant).tasks, tasks)
    weights, bounds = [Fraction(1)] * n, cast(list[Fraction | None], [None] * n)
    if grant == "scaled":
        tasks = [x / part for x, part in zip(tasks, psi, strict=True)]
    elif grant == "weighted":
        weights, bounds = psi, [None if part else part for part in psi]
    else:
        alone = [part / n / largest(row, sizes) for part, row in zip(psi, demands, strict=True)]
        bounds = [most if part < 1 else None for most, part in zip(alone, psi, strict=True)]
    return Case(sizes, demands, weights, none, none, bounds, tasks, far)


def karma(draw: np.random.Generator, _: int) -> Case:
    """The second of two phases of Karma: the level is the credit, as it falls."""
    n, _, demands, sizes, _ = pool(draw, 2)
    alpha, credit = Fraction(1, 2), [x / 8 for x in amounts(draw, 0, 9, n)]
    claims = [amounts(draw, 0, 9, n) for _ in range(2)]
    given = {"capacities": sizes, "max_tasks": claims, "initial_credit": credit, "alpha": alpha}
    run = registry["karma"].rule([demands, demands], **given)
    engine = fb.karma(doubles([demands] * 2), **{name: doubles(one) for name, one in given.items()})
    per_task, spend = [largest(row, sizes) for row in demands], [x + run.free_credit for x in run.credit[1]]
    guaranteed = run.guaranteed[1].tolist()
    return Case(
        sizes,
        demands,
        [Fraction(1)] * n,
        [-x - free for x, free in zip(spend, guaranteed, strict=True)],
        [free / one for free, one in zip(guaranteed, per_task, strict=True)],
        [min(most, (alpha / n + x) / one) for most, x, one in zip(claims[1], spend, per_task, strict=True)],
        run.tasks[1].tolist(),
        apart(engine.tasks, run.tasks.ravel().tolist()),
    )


def tv_drf(draw: np.random.Generator, _: int) -> Case:
    """The second of two periods of fluid TV-DRF, where tasks expire: the floor is what a user lacks of beta = 1."""
    n, m, demands, sizes, _ = pool(draw, 2)
    periods, counts = [needs(draw, n, m), demands], [amounts(draw, 0, 9, n) for _ in range(2)]
    brought = amounts(draw, 1, 6, n)
    parts = [[x / sum(brought)] for x in brought]
    run = registry["tv_drf"].rule(periods, counts, [sizes], parts, method="lexicographic")
    engine = fb.tv_drf(doubles(periods), doubles(counts), doubles([sizes]), doubles(parts), method="lexicographic")
    lack = zip(run.alone.sum(axis=0) - run.amounts[0], demands, strict=True)
    return Case(
        sizes,
        demands,
        [part for (part,) in parts],
        run.cumulative_shares[0].tolist(),
        [max([Fraction(0), *(x / y for x, y in zip(short, row, strict=True) if y)]) for short, row in lack],
        counts[1],
        run.tasks[1].tolist(),
        apart(engine.tasks, run.tasks.ravel().tolist()),
    )


def virtual_cluster(draw: np.random.Generator, _: int) -> Case:
    """Virtual clusters on one pool, divisible VMs: the level is the fraction of the wish."""
    n = int(draw.integers(1, 9))
    wishes, tolerance = amounts(draw, 1, 13, n), [x / 10 for x in amounts(draw, 0, 11, n)]
    least = [x * (1 - k) for x, k in zip(wishes, tolerance, strict=True)]
    room = sum(least) + (sum(wishes) - sum(least)) * Fraction(int(draw.integers(1, 11)), 9) + Fraction(1, 9)
    pieces = registry["virtual_cluster"].rule(wishes, tolerance, [room], method="spanning", whole=False)
    vms = [sum((some for user, _, some in pieces if user == i), Fraction(0)) for i in range(n)]
    engine = fb.virtual_cluster(doubles(wishes), doubles(tolerance), [float(room)], method="spanning", whole=False)
    weights, none = [x / room for x in wishes], [Fraction(0)] * n
    return Case([room], [[Fraction(1)]] * n, weights, none, least, wishes, vms, apart(engine.vms, vms))


def static_optimum(draw: np.random.Generator, _: int) -> Case:
    """The static optimum of DMFA-SRQ: all rise as one user, who needs what they need together."""
    n, m, demands, _, _ = pool(draw)
    weights = amounts(draw, 1, 6, n)
    levels = [level for level, _ in registry["static_optimum"].rule(demands, weights=weights)]
    far = apart(fb.static_optimum(doubles(demands), weights=doubles(weights)).lowest, levels)
    parts = [[w * x / max(row) for x in row] for w, row in zip(weights, demands, strict=True)]
    need, total, none = [sum(column) for column in zip(*parts, strict=True)], sum(weights, Fraction(0)), [Fraction(0)]
    return Case([total] * m, [need], [max(need) / total], none, none, [None], levels[-1:], far)


FILLINGS: tuple[Callable[[np.random.Generator, int], Case], ...] = (
    drf, drf_with_minima, cbdrf, karma, tv_drf, virtual_cluster, static_optimum,
)  # fmt: skip


def histories(draw: np.random.Generator) -> Iterator[tuple[str, float, bool]]:
    """Give runs of DMFA-SRQ in which some users leave, how far the engine is from each, and whether the past binds."""
    for _ in range(COUNT):
        n, m = int(draw.integers(1, 7)), int(draw.integers(1, 4))
        demands, weights = needs(draw, n, m), amounts(draw, 1, 6, n)
        events: list[int] = []
        for user in range(n):
            events.append(user)
            present = [one for one in events if events.count(one) == 1]
            if len(present) > 1 and draw.random() < 0.3:
                events.append(int(draw.choice(present)))
        steps = registry["dmfa_srq"].rule(demands, weights=weights, events=events, contribution="stays")
        exact = [lowest for lowest, _, _ in steps]
        past = any(max(levels.values()) > lowest for lowest, _, levels in steps)
        online, engine = fb.DmfaSrq(m), []
        for at, user in enumerate(events):
            if user in events[:at]:
                online.depart(user, contribution="stays")
            else:
                online.arrive(user, [float(x) for x in demands[user]], weight=float(weights[user]))
            engine.append(online.level)
        comes = [events.index(user) for user in range(n)]
        goes = [len(events) - 1 - events[::-1].index(user) if events.count(user) == 2 else 99 for user in range(n)]
        rows = [coded(weights), [m], comes, goes, coded(exact), *map(coded, demands)]
        yield listed(rows), apart(engine, exact), past


def written() -> tuple[str, dict[str, Any]]:
    """Give the file for Coq, and what was compared: instances, and in how many floors, lids and two resources bind."""
    draw = np.random.default_rng(SEED)
    lists, bind, far = HEAD, {}, []
    for rule in FILLINGS:
        every = (rule(draw, k) for k in count())
        cases = list(islice((case for case in every if any(case.tasks)), COUNT))
        name, told = rule.__name__, ";\n".join(one.told() for one in cases)
        lists += f"Definition {name} := [\n{told}].\n"
        lists += CHECKED.format(name=name, read="division_of", accepted="accepted", wrong="wrong")
        bind[name] = [sum(one) for one in zip(*(case.held_back() for case in cases), strict=True)]
        far += [case.far for case in cases]
        if name == "drf":
            lists += PLAIN
    runs = list(histories(draw))
    lists += "Definition dmfa_srq := [\n" + ";\n".join(told for told, _, _ in runs) + "].\n"
    lists += CHECKED.format(name="dmfa_srq", read="history_of", accepted="accepted_run", wrong="off")
    bind["dmfa_srq"] = [sum(past for _, _, past in runs), 0, 0]
    assert max(far + [one for _, one, _ in runs]) < NEAR
    return lists, {"seed": SEED, "instances": COUNT, "within": NEAR, "bind": bind}
