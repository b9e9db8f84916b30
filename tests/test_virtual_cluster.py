"""Virtual clusters: every method against its judge, what is promised of bounds and proofs, and bad input."""

import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fairbook as fb
from book.virtual_cluster import oracle
from fairbook.mechanisms.engines.packing import Packing, pack
from fairbook.model.clusters import SPANS, as_requests
from tests.strategies import floats
from tests.vm_cases import QUARTERS, TENTHS, Asked, pooled, random_asked

#: By its path: the function hides the module of the same name.
engine = sys.modules[fb.virtual_cluster.__module__]
METHODS: tuple[Any, ...] = engine.METHODS
LOADS, FITS = ("relative", "free"), ("least_wanted", "best_fit", "first_fit")

# ------------------------------------------------------------------------------------------------- the paper's three


def same(found: fb.VirtualClusters, judge: oracle.Placed) -> None:
    assert found.cluster.tolist() == judge.cluster
    assert found.vms == pytest.approx(floats(judge.vms), abs=0 if found.requests.whole else 1e-9)
    assert found.violations() == []


#: What each of the paper's methods takes.
TAKES = {"relaxation": ("load",), "greedy": ("fit",), "mixed_knapsack": ("load", "fit", "general", "small", "top_up")}


def check_lists(one: Asked, whole: bool = True, **options: Any) -> dict[str, fb.VirtualClusters]:
    """Compare the three methods, with the options that each takes, with their judges."""
    runs = {}
    for method, takes in TAKES.items():
        how: dict[str, Any] = {name: options[name] for name in takes if name in options}
        runs[method] = fb.virtual_cluster(*one.floats, method=method, whole=whole, **how)  # type: ignore[arg-type]
        same(runs[method], getattr(oracle, method)(*one, whole, **how))
    return runs


@pytest.mark.parametrize(("whole", "parts"), [(True, TENTHS), (False, QUARTERS)])
@pytest.mark.parametrize("block", range(3))
def test_list_methods_against_their_judges(whole: bool, parts: tuple[int, ...], block: int) -> None:
    for seed in range(300 * block, 300 * block + 300):
        rng = np.random.default_rng(seed)
        size = (6, 4) if seed % 12 else (40, 9)
        check_lists(
            random_asked(rng, parts, *size),
            whole,
            load=LOADS[seed % 2],
            fit=FITS[seed % 3],
            general=("greedy", "relaxation")[seed // 2 % 2],
            small=int(rng.integers(0, 4)),
            top_up=bool(rng.random() < 0.4),
        )


def test_defaults_are_those_of_the_judge() -> None:
    other: dict[str, Any] = {"load": "free", "fit": "best_fit", "general": "relaxation", "small": 0, "top_up": True}
    differ = dict.fromkeys(other, 0)
    for seed in range(200):
        one = random_asked(np.random.default_rng(seed), max_n=12)
        plain = check_lists(one)
        for option in differ:
            method: Any = {"load": "relaxation", "fit": "greedy"}.get(option, "mixed_knapsack")
            given_ = {"small": 0, option: other[option]} if option == "top_up" else {option: other[option]}
            changed = fb.virtual_cluster(*one.floats, method=method, **given_)
            differ[option] += changed.vms.tolist() != plain[method].vms.tolist()
    assert all(times > 5 for times in differ.values()), differ  # every option does something


def test_a_tie_with_the_scarcity_counts_though_floats_miss_it() -> None:
    """1 - 18/20 in floats is less than 0.1: who tolerates a tenth is in queue A all the same, and is placed first."""
    for whole in (True, False):
        found = fb.virtual_cluster([10, 10], [1, 0.1], [10, 8], method="mixed_knapsack", small=0, whole=whole)
        assert found.cluster.tolist() == [1, 0]
        assert found.vms == pytest.approx([8, 9])


@pytest.mark.parametrize(("name", "max_n"), [("whole", 6), ("tenths", 6), ("one", 1)])
def test_rounds_against_the_judge(name: str, max_n: int) -> None:
    for seed in range(300):
        one = random_asked(np.random.default_rng(seed), TENTHS if name == "tenths" else QUARTERS, max_n)
        capacity = sum(one.capacities)
        found = fb.scarcity_rounds(one.max_vms, floats(one.tolerance), capacity)
        judge = oracle.rounds(one.max_vms, one.tolerance, capacity)
        assert [np.flatnonzero(queue).tolist() for _, queue in found] == [queue for _, queue in judge]
        assert [tau for tau, _ in found] == pytest.approx([float(tau) for tau, _ in judge])


# ------------------------------------------------------------------------------------------------- the optimum


def check_turned_away(one: Asked, whole: bool, found: fb.VirtualClusters) -> bool:
    """Where not all minima fit: as many as can be, those with the smallest, and they share as well as can be."""
    minima = oracle.as_case(*one, whole).minimum
    served = np.flatnonzero(found.served).tolist()
    assert len(served) == oracle.most_served(minima, one.capacities)
    if served:
        assert sum(minima[i] for i in served) == sum(sorted(minima)[: len(served)])
        part = oracle.exact_optimum(
            [one.max_vms[i] for i in served], [one.tolerance[i] for i in served], one.capacities, whole
        )
        assert found.served_fraction == pytest.approx(float(part.level), rel=1e-9)
    return bool(served)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("many", [None, 2])
def test_bounds_and_proofs_of_every_method(whole: bool, many: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if many is not None:  # many values are looked for in another way than a few
        monkeypatch.setattr(engine, "_MANY", many)
    proved, kinds = dict.fromkeys(METHODS, 0), [0, 0, 0]
    for seed in range(250):
        rng = np.random.default_rng([seed, many or 0])
        alpha = np.maximum(1, np.round(rng.normal(30, 10, 8))).astype(int)
        one = (
            random_asked(rng)
            if seed % 40
            else Asked(  # or larger numbers
                alpha.tolist(),
                [Fraction(int(a), 1000) for a in rng.integers(0, 900, 8)],
                rng.integers(40, 80, 3).tolist(),
            )
        )
        best, pool = oracle.exact_optimum(*one, whole), pooled(one, whole) or 0
        level = 0.0 if best is None else float(best.level)
        for method in METHODS:
            found = fb.virtual_cluster(*one.floats, method=method, whole=whole)
            top = float(pool) if method == "spanning" else level
            assert found.violations() == []
            assert found.method == method
            assert found.bound >= top * (1 - 1e-9)
            assert found.min_fraction <= top * (1 + 1e-9)
            if found.optimal or method in ("exact", "spanning"):
                assert found.min_fraction == pytest.approx(top, rel=1e-8, abs=1e-12)
            if found.optimal:
                assert found.gap == 0
            else:
                assert found.gap == pytest.approx(1 - found.min_fraction / found.bound)
            proved[method] += found.optimal
            if found.served.all():
                assert (found.vms >= found.requests.minimum * (1 - 1e-9)).all()
            if method == "exact":
                assert found.served.all() == (best is not None)
                kinds[2 if best is not None else check_turned_away(one, whole, found)] += 1
    # where many values are looked for, the best may be found without a proof
    assert proved["exact"] == 250 or (many == 2 and proved["exact"] > 240)
    assert proved["spanning"] == 250
    assert all(0 < proved[method] < 250 for method in METHODS if method not in ("exact", "spanning"))
    assert (np.array(kinds) > [3, 40, 60]).all()


# ------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("many", [0, 3, 1_000_000])
@pytest.mark.parametrize("part", [0.4, 1.0])
def test_searches_that_give_up_prove_nothing(many: int, part: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of all questions stays open: what is said to be optimal must be so all the same."""
    settled = 0

    def lazy(sizes: Any, capacities: Any, node_limit: int = 0, seed: int = 0) -> Packing:
        found = pack(sizes, capacities, node_limit, seed)
        word = [int(s * 1000) for s in np.sort(sizes)]
        open_ = sizes.sum() <= capacities.sum() and np.random.default_rng(word).random() < part
        return Packing(None, False, found.nodes) if open_ else found

    monkeypatch.setattr(engine, "pack", lazy)
    monkeypatch.setattr(engine, "_MANY", many)
    for seed in range(120):
        one, whole = random_asked(np.random.default_rng(seed)), seed % 3 > 0
        best = oracle.exact_optimum(*one, whole)
        level = 0.0 if best is None else float(best.level)
        for method in ("exact", "vector_packing"):
            found = fb.virtual_cluster(*one.floats, method=method, whole=whole)  # type: ignore[arg-type]
            assert found.violations() == []
            assert found.bound >= level * (1 - 1e-9), seed
            assert not found.optimal or found.min_fraction >= level * (1 - 1e-8), seed
            settled += found.optimal
    assert 20 < settled < 240


def test_a_small_limit_is_kept_and_told() -> None:
    rng = np.random.default_rng(0)
    open_ones, nodes = 0, np.zeros(2)
    for _ in range(6):
        alpha, k, C = rng.integers(20, 41, 13), rng.uniform(0, 0.9, 13), rng.integers(50, 80, 5)
        low, high = (fb.virtual_cluster(alpha, k, C, node_limit=limit, whole=False) for limit in (1, 100_000))
        field = fb.virtual_cluster(alpha, k, C, method="vector_packing", whole=False)
        assert high.optimal
        assert low.violations() == high.violations() == []
        assert field.min_fraction <= low.min_fraction <= high.bound
        assert high.min_fraction <= low.bound
        nodes += [low.nodes, high.nodes]
        open_ones += not low.optimal
        assert (low.gap > 0) == (not low.optimal)
    assert open_ones > 3
    assert nodes[0] < nodes[1]


def test_every_search_ends_within_its_limit() -> None:
    # what a cluster is packed too full is more than a small user's part: a packing that gives nobody more
    found = fb.virtual_cluster([99.5, 1, 1], [0, 1, 1], [100, 0.9], whole=False)
    assert found.min_fraction == pytest.approx(0.5, rel=1e-9)
    assert found.optimal
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, H, limit = int(rng.integers(2, 9)), int(rng.integers(2, 4)), int(rng.choice([1, 300, 30_000]))
        alpha = 10 ** rng.uniform(0, 6, n)
        C = rng.dirichlet(np.full(H, 0.5)) * alpha.sum() * 0.8 + 0.1
        found = fb.virtual_cluster(alpha, rng.choice([0.5, 1.0], n), C, node_limit=limit, whole=False)
        assert found.nodes <= limit
        assert found.violations() == []


def test_requests_of_a_billion() -> None:
    found = fb.virtual_cluster([10**9, 10**9 - 1, 10**9 - 3, 7], 0.9, [10**9, 6 * 10**8])
    assert found.violations() == []
    assert found.optimal
    # two on the larger, one and the small one on the smaller; or the two on the smaller
    assert found.min_fraction == pytest.approx(0.5, abs=1e-8)
    full = fb.virtual_cluster([10**9] * 3 + [1], 0, [10**9] * 3, method="spanning")  # one VM too many
    assert full.violations() == []
    assert full.served.tolist() == [True, True, False, True]


# ------------------------------------------------------------------------------------------------- the field's two


def test_metagreedy_in_step_7a_is_metagreedy_on_what_queue_a_leaves() -> None:
    """Queue A does not depend on who comes after it: rebuild what is left by another general algorithm."""
    inner = 0
    for seed in range(300):
        one = random_asked(np.random.default_rng(seed), max_n=12)
        found = fb.virtual_cluster(*one.floats, method="mixed_knapsack", general="metagreedy", small=0)
        assert found.violations() == []
        room, left = list(one.capacities), list(range(len(one.max_vms)))
        while left:
            tau = Fraction(sum(room), sum(one.max_vms[i] for i in left))
            queue = [i for i in left if one.tolerance[i] <= 1 - tau]
            if not queue:
                break
            for i in queue:
                if found.cluster[i] >= 0:
                    room[found.cluster[i]] -= int(found.requests.minimum[i])
                    assert found.vms[i] == found.requests.minimum[i]
            left = [i for i in left if i not in queue]
        if left and any(room):
            rest = fb.virtual_cluster(
                [one.max_vms[i] for i in left], [float(one.tolerance[i]) for i in left], room, method="metagreedy"
            )
            assert found.vms[left].tolist() == rest.vms.tolist()
            inner += len(left) > 1
    assert inner > 100


def test_metagreedy_is_the_best_of_its_lists() -> None:
    """Order by nothing, need, minimum, both; pick the most free, the least fluid load, the tightest, the first."""

    def one_list(case: oracle.Case, order: list[int], pick: str) -> tuple[int, float, float]:
        lives: list[list[int]] = [[] for _ in case.capacities]
        for i in order:
            marks = []
            for j, C in enumerate(case.capacities):
                left = C - sum(case.minimum[h] for h in lives[j])
                if case.minimum[i] > left:
                    continue
                above = sum(case.wanted[h] - case.minimum[h] for h in [*lives[j], i])
                after = left - case.minimum[i]
                load = (False, above / after) if after else (above > 0, Fraction(0))
                marks.append(({"most": -left, "load": load, "tight": left, "first": j}[pick], j))
            if marks:
                lives[min(marks)[1]].append(i)
        vms = {}
        for here, C in zip(lives, case.capacities):
            vms.update(zip(sorted(here), case.share(sorted(here), C) or [], strict=True))
        least = min((v / case.wanted[i] for i, v in vms.items()), default=Fraction(0))
        return len(vms), float(least), float(sum(vms.values()))

    for seed in range(150):
        one = random_asked(np.random.default_rng(seed), max_n=8)
        case = oracle.as_case(*one)
        keys = ([0] * case.n, [a - m for a, m in zip(case.wanted, case.minimum)], case.minimum, case.wanted)
        best = max(
            one_list(case, sorted(range(case.n), key=lambda i: -key[i]), pick)
            for key in keys
            for pick in ("most", "load", "tight", "first")
        )
        found = fb.virtual_cluster(*one.floats, method="metagreedy")
        served = found.served_fraction if found.served.any() else 0
        assert (found.served.sum(), served, found.vms.sum()) == pytest.approx(best), seed


def test_vector_packing_reaches_what_its_lists_reach() -> None:
    """No fraction above is packed by any list, at the places that the bisection looks at; the next value is one."""
    for seed in range(100):
        one = random_asked(np.random.default_rng(seed), max_n=9)
        found = fb.virtual_cluster(*one.floats, method="vector_packing")
        assert found.nodes == 0
        asked_ = found.requests
        if found.served.all() and found.min_fraction < asked_.bound:
            values = sorted({p / a for a in one.max_vms for p in range(a + 1) if p / a > found.min_fraction + 1e-12})
            assert pack(asked_.sizes(values[0]), asked_.capacities).bins is None
        if not found.served.all():
            assert pack(asked_.minimum, asked_.capacities).bins is None


# ------------------------------------------------------------------------------------------------- spanning


@pytest.mark.parametrize(("whole", "parts"), [(True, TENTHS), (False, QUARTERS)])
def test_spanning_against_the_pool(whole: bool, parts: tuple[int, ...]) -> None:
    cut = 0
    for seed in range(300):
        one = random_asked(np.random.default_rng(seed), parts)
        found = fb.virtual_cluster(*one.floats, method="spanning", whole=whole)
        case = oracle.as_case(*one, whole)
        best = case.share(range(case.n), sum(case.capacities))
        if best is None:
            smallest = sorted(case.minimum)
            most = max(m for m in range(case.n) if sum(smallest[:m]) <= sum(case.capacities))
            served = np.flatnonzero(found.served)
            assert len(served) == most
            vms = case.share(served, sum(case.capacities)) if most else []
            assert found.vms[served] == pytest.approx(floats(vms), abs=1e-9)
        else:
            assert found.vms == pytest.approx(floats(best), abs=1e-9)
        pieces = (found.by_cluster > 0).sum(axis=1)
        assert np.maximum(pieces - 1, 0).sum() <= case.H - 1
        assert ((found.cluster == SPANS) == (pieces > 1)).all()
        for i in np.flatnonzero(pieces == 1):
            assert found.by_cluster[i, found.cluster[i]] > 0
        cut += (pieces > 1).any()
    assert cut > 60


def test_a_small_piece_is_one() -> None:
    found = fb.virtual_cluster([1000 - 5e-7, 1], 1, [1000, 1000], method="spanning", whole=False)
    assert found.by_cluster[1] == pytest.approx([5e-7, 1 - 5e-7], rel=1e-6)
    assert found.violations() == []


@pytest.mark.parametrize("span", [1, 3, 6, 20, 60])
def test_spanning_of_sizes_very_far_apart(span: int) -> None:
    """Sums over all users or clusters do not tell the small ones: each piece is cut from its own user and cluster."""
    short = 0
    for seed in range(60):
        rng = np.random.default_rng([span, seed])
        alpha, C = 10.0 ** rng.uniform(-span, span, 9), 10.0 ** rng.uniform(-span, span, 4)
        C[rng.integers(0, 4)] *= seed % 3 > 0
        C[-1] = 0 if seed % 5 == 0 else C[-1]
        found = fb.virtual_cluster(alpha, rng.choice([1.0, 0.5]), C, method="spanning", whole=False)
        assert found.violations() == []
        np.testing.assert_allclose(found.by_cluster.sum(axis=1), found.vms, rtol=1e-9)
        assert (found.use <= C * (1 + 1e-9)).all()
        short += found.served.all() and found.min_fraction < 1
    assert short > 5  # the clusters are full to the brim


# ------------------------------------------------------------------------------------------------- edges


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("whole", [True, False])
def test_edges(method: Any, whole: bool) -> None:
    def run(*given_: Any) -> fb.VirtualClusters:
        found = fb.virtual_cluster(*given_, method=method, whole=whole)
        assert found.violations() == []
        return found

    assert run([3], 0, [5]).vms.tolist() == [3]
    assert run([3], 1, [2]).vms.tolist() == [2]
    assert run([3], 0.5, [0, 2, 0]).cluster.tolist() == [1]
    assert run([4], 0.5, [1, 1.5]).served.tolist() == [method == "spanning"]
    assert run([4, 4], 1, [0, 4]).vms.tolist() == [2, 2]
    assert run([2, 2, 2], 0, [2, 2, 2]).min_fraction == 1
    assert run([5, 5], [0, 1], [5, 0]).min_fraction == 0  # the second has nothing, and that is enough
    assert run([5, 5], [0, 1], [5, 0]).served.all()
    many = run(np.full(500, 7), 0.5, np.full(60, 50))
    assert many.served.all()


def test_runs_repeat() -> None:
    rng = np.random.default_rng(0)
    alpha, k, C = rng.integers(20, 41, 30), rng.uniform(0, 0.9, 30), rng.integers(95, 140, 7)
    first, again = (fb.virtual_cluster(alpha, k, C, seed=5, node_limit=5000) for _ in range(2))
    assert first.vms.tolist() == again.vms.tolist()
    assert (first.nodes, first.bound) == (again.nodes, again.bound)


def test_requests_come_alone() -> None:
    given_ = [4, 6], [0.5, 0.25], [7, 4]
    requests = as_requests(*given_)
    found = fb.virtual_cluster(requests, method="greedy")
    assert found.requests is requests
    assert found.vms.tolist() == fb.virtual_cluster(*given_, method="greedy").vms.tolist()
    with pytest.raises(fb.InvalidInput, match="must come alone"):
        fb.virtual_cluster(requests, 0.5, [7, 4])
