"""Every registered mechanism: against its judges, and what all of them have.

A mechanism is in the matrix once it is registered, with every value of every option that its paper leaves open.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairbook as fb
from book.common.oracle_drf import leximin_tasks
from book.dmfa_srq import oracle as srq
from book.dmfa_srq.printed import REPAIRS, algorithm_1, algorithm_1_printed
from book.gdrf.oracle import exact_drfh, exact_gdrf, exact_mdrf, exact_per_server
from fairbook.mechanisms import registry
from fairbook.mechanisms.placing import engine as placing, fairest_machine as tournament
from fairbook.mechanisms.pool.dmfa_srq import exact_levels
from tests.cells import cells, instance, random_cell, same
from tests.judges import credits, pool
from tests.strategies import FEW, REPEATABLE, Instance, close, instances

GRANTS = ("scaled", "weighted", "capped")
ALPHAS = (Fraction(0), Fraction(1, 4), Fraction(2, 3), Fraction(1))
RNG = np.random.default_rng(2016)


def plain(case: Instance) -> Instance:
    """The same with weights that HiGHS can judge."""
    return case._replace(weights=[Fraction(i) for i in range(1, len(case.weights) + 1)])


def dyadic(case: Instance) -> Instance:
    """The same with numbers that floats hold exactly and add exactly, so that ties stay ties."""

    def near(x: Fraction) -> Fraction:
        return Fraction(max(1, round(x * 16)), 16) if x else x

    return Instance(
        [[near(d) / 16 for d in row] for row in case.demands],
        [Fraction(1)] * len(case.weights),
        [Fraction(1)] * len(case.capacities),
        case.max_tasks,
    )


def recorded(case: Instance) -> Instance:
    """The same with records and credits in the place of weights, many of them 1 or 0; the lightest user is away."""
    light = [weight < Fraction(1, 100) for weight in case.weights]
    return case._replace(
        demands=[[d * (not away) for d in row] for row, away in zip(case.demands, light, strict=True)],
        weights=[Fraction(1) if bound is None else min(bound / 2, Fraction(1)) for bound in case.max_tasks],
    )


def credited(case: Instance) -> Instance:
    """The same with credits in the place of weights, some of them 0."""
    return case._replace(weights=[weight * (weight > Fraction(1, 100)) for weight in case.weights])


class Engine(NamedTuple):
    """A mechanism as it is called with floats (demands, weights, capacities, bounds), and the numbers that are judged.

    Machines are called with a cell. ``symmetric`` says that the order of users does not matter; ``prepare`` makes of a
    drawn instance one for it; ``weights`` are as in the registry. What ``ends_early`` may leave what could be had.
    """

    call: Callable[..., Any]
    numbers: str = "tasks"
    symmetric: bool = True
    prepare: Callable[[Instance], Instance] = lambda case: case
    weights: str | None = None
    ends_early: bool = False


def crossed(name: str) -> list[dict[str, str]]:
    """Give every combination of the options that a paper leaves open; what is fluid is no placement."""
    readings = registry[name].readings
    values = [[value for value in one.values if value != "fluid"] for one in readings.values()]
    return [dict(zip(readings, chosen, strict=True)) for chosen in itertools.product(*values)]


def registered(name: str, **options: Any) -> Engine:
    """Call a registered mechanism with what it takes of the data; in each of two phases with the same."""
    row = registry[name]

    def call(*data: Any) -> Any:
        given = dict(zip(("demands", "weights", "capacities", "max_tasks"), data, strict=True))
        if row.kind == "phases":
            given |= {name: [given[name]] * 2 for name in ("demands", "max_tasks")}
            given["released"] = np.minimum(given["weights"], 1)
        if row.kind == "machines":
            given = {"demands": instance(data)}
        return row.function(**{name: value for name, value in given.items() if name in row.takes}, **options)

    numbers = "lowest" if row.kind == "arrivals" else "tasks"
    ends_early = options.get("stuck") == "stop"
    if row.kind == "pool" and row.in_order:  # whole tasks
        return Engine(call, numbers, symmetric=False, prepare=dyadic, weights=row.weights, ends_early=ends_early)
    return Engine(call, numbers, symmetric=not row.in_order, weights=row.weights)


IN_THE_MATRIX = {name for name, row in registry.items() if row.kind in ("pool", "arrivals", "phases", "machines")}
ENGINES: dict[str, Engine] = {
    **{name: registered(name) for name in sorted(IN_THE_MATRIX)},
    **{
        f"{name}, {value}": registered(name, **{option: value})
        for name in sorted(IN_THE_MATRIX)
        for option, reading in registry[name].readings.items()
        for value in reading.values[1:]
        if value != "fluid"
    },
    "drf, plain": registered("drf")._replace(prepare=plain),
    "dmfa_srq, plain": registered("dmfa_srq")._replace(prepare=plain),
    # one phase with any credits
    **{
        f"cbdrf, grants {grant}": Engine(
            lambda d, w, c, b, grant=grant: fb.grant_tasks(d, w, capacities=c, grant=grant), prepare=recorded
        )
        for grant in GRANTS
    },
    **{
        f"karma, {alpha}": Engine(
            lambda d, w, c, b, alpha=float(alpha): fb.karma_phase(d, w, capacities=c, max_tasks=b, alpha=alpha),
            prepare=credited,
        )
        for alpha in ALPHAS
    },
}


def given_to(name: str, **options: Any) -> st.SearchStrategy[Any]:
    """Draw what an engine is called with: a cell of machines, or an instance."""
    if registry[name.split(",")[0]].kind == "machines":
        return cells()
    return instances(**options).map(ENGINES[name].prepare).map(lambda case: case.floats)


class Judge(NamedTuple):
    """What finds the same numbers in another way from the exact instance, or from floats, and how near it must be."""

    judge: Callable[[Instance], Any]
    rtol: float = 1e-12
    atol: float = 0.0


#: Where users lie 10^6 apart; :mod:`tests.library.test_judges` has each option on small numbers.
JUDGES: dict[tuple[str, str], Judge] = {
    ("drf", "level by level"): Judge(lambda c: pool.drf(*c)["tasks"]),
    ("drf_by_task", "naive loop"): Judge(lambda c: pool.drf_by_task(*c)["tasks"], 0.0),
    ("drf_by_task, stop", "naive loop"): Judge(lambda c: pool.drf_by_task(*c, stuck="stop")["tasks"], 0.0),
    ("sequential_minmax", "in turn"): Judge(lambda c: pool.sequential_minmax(*c, ties="first")["tasks"], 0.0),
    ("sequential_minmax, last", "in turn"): Judge(lambda c: pool.sequential_minmax(*c, ties="last")["tasks"], 0.0),
    ("dmfa_srq", "fractions"): Judge(lambda c: srq.exact_levels(c.demands, c.weights)),
    ("dmfa_srq", "own steps in fractions"): Judge(lambda c: exact_levels(c.demands, c.weights)),
    ("dmfa_srq", "many digits"): Judge(lambda c: srq.decimal_levels(*c.floats[:2])),
    # these subtract use from capacity
    ("dmfa_srq", "Algorithm 1"): Judge(lambda c: algorithm_1(*c.floats[:2]).lowest, 1e-9),
    ("dmfa_srq", "Algorithm 1 as printed, repaired"): Judge(
        lambda c: algorithm_1_printed(*c.floats[:2], repairs=REPAIRS).lowest, 1e-9
    ),
    ("dynamic_drf", "level by level"): Judge(lambda c: pool.dynamic_drf(c.demands)["lowest"]),
    ("static_optimum", "equation (5)"): Judge(lambda c: pool.static_optimum(c.demands, c.weights)["lowest"]),
    **{
        (f"cbdrf, grants {grant}", "level by level"): Judge(
            lambda c, grant=grant: credits.grants(c.demands, c.weights, c.capacities, grant), 1e-11
        )
        for grant in GRANTS
    },
    **{
        (f"karma, {alpha}", "level by level"): Judge(
            lambda c, alpha=alpha: credits.karma(
                [c.demands], c.capacities, [c.max_tasks], c.weights, alpha, Fraction(0)
            )["tasks"][0],
            1e-12,
            1e-13,
        )
        for alpha in ALPHAS
    },
}
#: The same by linear programs.
PROGRAMS = {
    "drf, plain": Judge(lambda c: leximin_tasks(*c.floats), 1e-6, 1e-7),
    "dmfa_srq, plain": Judge(lambda c: srq.lp_levels(*c.floats[:2]), 1e-7),
}


class Rule(NamedTuple):
    """A mechanism for machines with one choice of its options, and the judge in fractions."""

    place: Callable[..., fb.Placement]
    judge: Callable[..., Any]
    options: dict[str, Any]

    def agrees(self, cell: Any, **given_: Any) -> None:
        """Compare task by task."""
        weights = given_.pop("weights", None)
        placed = self.place(instance(cell, weights), **given_, **self.options)
        plain = self.place(instance(cell, weights), **given_, **self.options, engine="plain")
        assert (plain.violations(), plain.mechanism, plain.full) == ([], placed.mechanism, placed.full)
        found = list(zip(placed.placed_user.tolist(), placed.placed_machine.tolist()))
        rows = [
            None if one is None else np.floor(one).tolist() if k == 3 else np.asarray(one).tolist()
            for k, one in enumerate(cell)
        ]
        if self.judge is exact_per_server:  # the order of placing is open
            assert sorted(found) == sorted(self.judge(*rows, weights=weights).placed)
        else:
            given_ |= {} if weights is None else {"weights": weights}
            assert found == self.judge(*rows, **given_, **self.options).placed, self
        assert placed.violations() == [], self


#: Every choice of every mechanism that places whole tasks.
RULES = {
    name: [Rule(registry[name].function, judge, options) for options in crossed(name)]
    for name, judge in (
        ("gdrf", exact_gdrf),
        ("drfh", exact_drfh),
        ("mdrf", exact_mdrf),
        ("per_server_drf", exact_per_server),
    )
}


@pytest.mark.parametrize(("name", "by"), JUDGES)
@REPEATABLE
@given(drawn=instances())
def test_engine_and_judge_agree(name: str, by: str, drawn: Instance) -> None:
    agrees(name, JUDGES[name, by], drawn)


@pytest.mark.parametrize("name", PROGRAMS)
@FEW
@given(drawn=instances(max_n=5))
def test_engine_and_program_agree(name: str, drawn: Instance) -> None:
    agrees(name, PROGRAMS[name], drawn)


def agrees(name: str, judge: Judge, drawn: Instance) -> None:
    engine = ENGINES[name]
    case = engine.prepare(drawn)
    result = engine.call(*case.floats)
    assert close(getattr(result, engine.numbers), judge.judge(case), judge.rtol, judge.atol)


@pytest.mark.parametrize("name", [name for name in ENGINES if name.split(",")[0] not in RULES])
@FEW
@given(drawn=instances(), unit=st.integers(-20, 20), random=st.randoms(use_true_random=False))
def test_order_and_units_do_not_matter(name: str, drawn: Instance, unit: int, random: Any) -> None:
    engine = ENGINES[name]
    demands, weights, capacities, bounds = engine.prepare(drawn).floats
    first = getattr(engine.call(demands, weights, capacities, bounds), engine.numbers)
    n, m = demands.shape
    users = random.sample(range(n), n) if engine.symmetric else list(range(n))
    resources = random.sample(range(m), m)
    mixed = engine.call(demands[users][:, resources], weights[users], capacities[resources], bounds[users])
    assert close(getattr(mixed, engine.numbers), first[..., users], 1e-10, 1e-13)
    power = 2.0**unit
    if engine.numbers == "lowest":  # of amounts that are brought; powers of two change no digit
        other = engine.call(demands * power, weights * 2.0**-unit, capacities, bounds)
        tenfold = engine.call(demands * np.arange(1.0, n + 1)[:, None], weights, capacities, bounds)
        assert close(tenfold.lowest, first)
    else:  # credits are amounts
        part = 0.5**unit if engine.weights == "parts" else 1
        other = engine.call(demands * power, weights * part, capacities * power, bounds)
    assert (getattr(other, engine.numbers) == first).all()


def changed(result: Any) -> Iterator[Any]:
    """Give more and less to each whom something stops, and say that something else stops it."""
    if isinstance(result, fb.Placement):
        users, machines = result.placed_user, result.placed_machine
        if len(users):
            yield replace(result, placed_user=np.repeat(users, 50), placed_machine=np.repeat(machines, 50))
        if result.full and len(users):
            yield replace(result, placed_user=users[:-1], placed_machine=machines[:-1])
            yield replace(result, placed_user=np.append(users, users[-1]), placed_machine=np.append(machines, 0))
        return
    drf, whole = (getattr(result, "rule", "") == rule for rule in ("max_min", "whole_tasks"))
    name, stops = ("lowest", "binding") if isinstance(result, fb.DynamicAllocation) else ("tasks", "bottlenecks")
    numbers, why = getattr(result, name), getattr(result, stops)
    idle = np.asarray(result.slack) > 1e-6 * np.asarray(result.capacities)
    last = len(numbers) - 1 if name == "lowest" else 0  # of arrivals the certificate is of the last one
    for at in (at for at in np.ndindex(numbers.shape) if at[0] >= last and numbers[at] > 0 and (drf or why[at] >= 0)):
        for value in (numbers[at] + 1, numbers[at] - 1, numbers[at] * 1.01, numbers[at] * 0.99, np.nan):
            wrong = numbers.copy()
            wrong[at] = value
            yield replace(result, **{name: wrong})
        unneeded = result.demands[at] == 0 if name == "tasks" else False
        other = (idle[at[0]] if idle.ndim == 2 else idle) & (not whole) | unneeded
        for j in [-2] * drf + np.flatnonzero(other).tolist():
            wrong = why.copy()
            wrong[at] = j
            yield replace(result, **{stops: wrong})


def misstated(run: Any, first: int) -> Iterator[Any]:
    """Change each ninth of the other numbers that a run of phases tells, from the first on, one at a time."""
    for name, numbers in vars(run).items():
        if isinstance(numbers, np.ndarray) and name not in ("demands", "capacities", "max_tasks", "bottlenecks"):
            for at in list(np.ndindex(numbers.shape))[first::9]:
                wrong = numbers.copy()
                wrong[at] = ~wrong[at] if wrong.dtype == bool else wrong[at] - 0.001 - 0.001 * wrong[at]
                if name != "ratios" or run.tasks[at[:2]] > 0:  # who is granted nothing holds nothing, whatever it says
                    yield replace(run, **{name: wrong})


@pytest.mark.parametrize("name", ENGINES)
@settings(REPEATABLE, max_examples=30)
@given(data=st.data(), first=st.integers(0, 8))
def test_certificates_hold_and_notice_what_was_changed(name: str, data: st.DataObject, first: int) -> None:
    result = ENGINES[name].call(*data.draw(given_to(name)))
    assert result.violations() == [] or ENGINES[name].ends_early
    more = misstated(result, first) if np.ndim(result.tasks) == 2 else ()
    for wrong in itertools.chain(changed(result), more):
        assert wrong.violations() != []


@pytest.mark.parametrize("name", ENGINES)
def test_there_is_something_to_change(name: str) -> None:
    one, two = [[1.0, 4.0], [3.0, 1.0]], [1.0, 1.0]
    cell = registry[name.split(",")[0]].kind == "machines"
    given_ = (
        (one, [[9.0, 18.0]], [2], None)
        if cell
        else (np.array(one), np.array(two), np.array([9.0, 18.0]), np.full(2, np.inf))
    )
    assert list(changed(ENGINES[name].call(*given_)))


# --------------------------------------------------------------------------------------------------- machines


@pytest.mark.parametrize("kind", ["whole", "zeros", "real", "alike", "small machines"])
def test_every_reading_against_the_rules(kind: str) -> None:
    for n, m, K in ((1, 1, 1), (2, 2, 3), (5, 3, 2)):
        cell = random_cell(RNG, kind, n, m, K)
        for rule in RULES["gdrf"]:
            rule.agrees(cell, seed=3)
    for n, m, K in ((3, 2, 4), (8, 2, 20), (90, 2, 5)):
        cell = random_cell(RNG, kind, n, m, K)
        for rule in (*RULES["gdrf"][::41], *RULES["mdrf"]):
            rule.agrees(cell, seed=4)
        for rule, weights in itertools.product(
            RULES["drfh"] + RULES["per_server_drf"], (None, RNG.choice([1.0, 1.0, 2.0, 4.0], n).tolist())
        ):
            rule.agrees(cell, weights=weights)


@pytest.mark.parametrize(
    ("n", "choice", "match"),
    [
        (64, "fairness", "nearest"),
        (65, "fairness_empty_last", "same"),
        (70, "fairness_after", "any"),
        *((150, "first", match) for match in registry["gdrf"].readings["match"].values),
    ],
)
def test_more_users_than_kinds(n: int, choice: str, match: str) -> None:
    """Beyond 16 different demands a branch may seem to have room and have none."""
    rng = np.random.default_rng(n)
    demands, machines = rng.uniform(0.02, 0.4, (n, 2)), rng.uniform(0.3, 1, (15, 2))
    demands[rng.random((n, 2)) < 0.2] = 0.01
    cell = demands, machines, np.full(15, 3), rng.integers(0, 5, n)
    Rule(fb.gdrf, exact_gdrf, {"match": match, "choice": choice}).agrees(cell, seed=1)


@pytest.mark.parametrize("kinds", [1, 2, 5])
def test_few_kinds_give_the_same(monkeypatch: pytest.MonkeyPatch, kinds: int) -> None:
    """Where memory is short users share what the tree knows about room."""
    cell = random_cell(np.random.default_rng(kinds), "whole", 8, 2, 5)
    monkeypatch.setattr(tournament, "MOST_SHARED", int(cell[2].sum()) * kinds)
    RULES["gdrf"][0].agrees(cell)


@REPEATABLE
@given(bounds=st.lists(st.integers(0, 40), min_size=2, max_size=2), count=st.integers(1, 9))
def test_bounds_used_up_on_the_way(bounds: list[int], count: int) -> None:
    """Machines of a class are done at once, server by server, only as long as no bound is near."""
    RULES["per_server_drf"][0].agrees(([[1, 2], [2, 1]], [[7, 8]], [count], bounds))


def test_who_may_have_room_for_a_first_task_hides_nobody() -> None:
    """On the second machine the second user's task fits but for rounding, so the third's does not, but the fourth's."""
    demands, machines = [[0, 0.1], [0.02, 0.2], [0.04, 0], [0.02, 0]], [[0.06, 0.5], [0.05, 0.3]]
    given: dict[str, Any] = {"max_tasks": [np.inf, 2, np.inf, np.inf], "weights": [7.75, 1.75, 7.375, 0.875]}
    assert fb.per_server_drf(demands, machines, **given).tasks.tolist() == [4, 2, 1, 1]


@pytest.mark.parametrize("name", [name for name in ENGINES if name.split(",")[0] in RULES])
@FEW
@given(cell=cells(), times=st.sampled_from([2.0, 64.0, 0.25]))
def test_neither_units_nor_classes_nor_blocks_matter(name: str, cell: Any, times: float) -> None:
    call, (demands, machines, counts, bounds) = ENGINES[name].call, cell
    one = call(*cell)
    expected = one.placed_user.tolist(), one.placed_machine.tolist()
    assert same(call(demands * times, machines * times, counts, bounds), expected)
    assert same(call(demands, np.repeat(machines, counts, axis=0), None, bounds), expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placing, "_BLOCK", 3)
        assert same(call(*cell), expected)


@pytest.mark.parametrize("name", [name for name in ENGINES if name.split(",")[0] in RULES])
def test_nothing_fits_nothing_is_asked_and_ten_tenths_fill_a_machine(name: str) -> None:
    call = ENGINES[name].call
    assert call([[3, 3], [9, 1]], [[2, 2], [2, 1]], None, None).tasks.tolist() == [0, 0]
    assert call([[1, 1]], [[2, 2]], None, [0.9]).tasks.tolist() == [0]
    assert call([[0.1, 0.1]], [[1, 1]], None, None).tasks.tolist() == [10]
