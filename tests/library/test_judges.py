"""Who judges what: each value of each option of each mechanism against a judge that shares no function with it.

Numbers are those that people write: tenths, hundredths, thirds, GiB of whole bytes. A judge counts with them as they
are meant, in fractions; a mechanism gets doubles.
"""

import ast
import inspect
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from fairbook import kernels
from fairbook.mechanisms import registry
from fairbook.mechanisms.placing import fairest_machine, nearest_machine
from fairbook.mechanisms.tv_drf.rule import tv_drf_rule
from tests.judges import clusters, credits, machines, periods, pool

F = Fraction
#: What is given, and how it is worked out: no options of a mechanism.
DATA = {"weights", "capacities", "max_tasks", "released", "engine", "progress", "placement", "seed", "node_limit"}


#: Where the judge of a mechanism of each kind is, under its name.
JUDGES = {
    "pool": pool, "arrivals": pool, "phases": credits, "periods": periods, "machines": machines, "clusters": clusters,
}  # fmt: skip
#: Values of the options, or ways to give data, that a judge judges.
VALUES: dict[str, dict[str, tuple[Any, ...]]] = {
    "drf": {
        "weights": ("equal", "by user", "by resource"),
        "min_tasks": (None, "some"),
        "floor": ("counted", "apart"),
    },
    "drf_by_task": {"stuck": ("skip", "stop"), "running": (None, "some")},
    "sequential_minmax": {"ties": ("first", "last")},
    "cbdrf": {
        "rho": (F(3, 4), F(1, 3)),
        "step_up": (F(1, 10), F(1, 3)),
        "step_down": (F(1, 10), F(2, 5)),
        "initial_credit": (F(1), F(7, 10)),
        "credit_cap": ("initial", None, F(13, 10)),
        "credit_floor": (F(0), F(1, 5)),
        "held": ("returns", "stays"),
        "grant": ("scaled", "weighted", "capped"),
        "penalty": ("step", "graded"),
        "ratio": ("least", "mean", "dominant"),
    },
    "karma": {"alpha": (F(0), F(1, 2), F(2, 3), F(1)), "initial_credit": (None, F(1, 5), "by user")},
    "tv_drf": {
        "method": ("heuristic", "lexicographic"),
        "alone": ("bundles", "whole_bundles", "resources"),
        "unserved": ("expires", "waits"),
        "memory": (True, False),
        "weights": (None, "by user"),
    },
    "gdrf": {
        "match": ("nearest", "same", "any"),
        "least": ("amount", "dominant_share", "shares"),
        "machine_type": ("share", "amount"),
        "choice": ("fairness", "fairness_empty_last", "fairness_after", "first"),
        "queue": ("rounds", "one_by_one"),
    },
    "drfh": {"method": ("best_fit", "first_fit", "fluid")},
    "mdrf": {"reading": ("entropy", "type")},
    "virtual_cluster": {
        "method": (
            "relaxation", "greedy", "mixed_knapsack", "metagreedy", "vector_packing", "exact", "spanning",
        ),
        "whole": (True, False),
        "load": ("relative", "free"),
        "fit": ("least_wanted", "best_fit", "first_fit"),
        "general": ("greedy", "relaxation", "metagreedy"),
        "small": (0, 1, 8),
        "top_up": (False, True),
    },
}  # fmt: skip
#: Where an option counts.
WHERE: dict[str, dict[str, Any]] = {
    "load": {"method": "relaxation"},
    "fit": {"method": "greedy"},
    **{option: {"method": "mixed_knapsack"} for option in ("general", "small", "top_up")},
}
CASES = [
    (name, option, value)
    for name in registry
    for option, values in VALUES.get(name, {"": ("",)}).items()
    for value in values
]

# ------------------------------------------------------------------------------------------- what people write

#: Ones, tenths, hundredths, thirds, GiB of a billion bytes.
UNITS = (F(1), F(1, 10), F(1, 100), F(1, 3), F(10**9, 2**30))


def numbers(rng: Random, least: int, most: int, *shape: int, units: Any = None) -> Any:
    """Draw an array of multiples, the last axis with a unit for each place."""
    each = units or rng.choices(UNITS, k=shape[-1])
    if len(shape) == 1:
        return [unit * rng.randint(least, most) for unit in each]
    return [numbers(rng, least, most, *shape[1:], units=each) for _ in range(shape[0])]


def some_of_each(demands: Any) -> Any:
    """Let everybody need something."""
    unit = next((d for row in demands for d in row[:1] if d), F(1))
    return [row if any(row) else [unit, *row[1:]] for row in demands]


def by_user(rng: Random, n: int, least: int = 1) -> Any:
    return [rng.choice(UNITS) * rng.randint(least, 4) for _ in range(n)]


def bounds(rng: Random, n: int) -> Any:
    return [rng.choice((None, F(rng.randint(0, 12), 2))) for _ in range(n)]


# ------------------------------------------------------------------------------------------- data of each kind


def of_pool(rng: Random, options: dict[str, Any]) -> dict[str, Any]:
    n, m = rng.randint(1, 5), rng.randint(1, 3)
    units, limits = rng.choices(UNITS, k=m), bounds(rng, n)
    demands, capacities = some_of_each(numbers(rng, 0, 5, n, m, units=units)), numbers(rng, 5, 40, m, units=units)
    each = {"equal": [F(1)] * n, "by user": by_user(rng, n), "by resource": numbers(rng, 1, 4, n, m)}
    for has in [name for name in ("running", "min_tasks") if options.get(name) == "some"]:  # tasks, where they fit
        options[has], unit = [0] * n, F(1) if has == "running" else rng.choice(UNITS)
        for i in rng.choices(range(n), k=3):
            more = [x + unit * (h == i) for h, x in enumerate(options[has])]
            within = has == "min_tasks" or limits[i] is None or more[i] <= limits[i]
            if within and pool.fits(pool.total(pool.times(demands, more)), capacities):
                options[has] = more
    weights = each[options.pop("weights", "by user")]
    return {"demands": demands, "weights": weights, "capacities": capacities, "max_tasks": limits}


def of_arrivals(rng: Random, options: dict[str, Any]) -> dict[str, Any]:
    n, m = rng.randint(1, 6), rng.randint(1, 3)
    return {"demands": some_of_each(numbers(rng, 0, 5, n, m)), "weights": by_user(rng, n)}


def of_phases(rng: Random, options: dict[str, Any]) -> dict[str, Any]:
    n, m, T = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 4)
    if options.get("initial_credit") == "by user":
        options["initial_credit"] = by_user(rng, n, 0)
    return {
        "demands": numbers(rng, 0, 5, T, n, m),
        "capacities": numbers(rng, 5, 40, m),
        "max_tasks": [bounds(rng, n) for _ in range(T)],
        "released": numbers(rng, 0, 10, T, n, m, units=[F(1, 10)] * m),
    }


def of_periods(rng: Random, options: dict[str, Any]) -> dict[str, Any]:
    fluid = (
        options["method"] == "lexicographic"
    )  # in one pool; queues of several groups, some of which do not move beta
    n, m, T, K = (
        rng.randint(1 + fluid, 3),
        rng.randint(1 + fluid, 2 + fluid),
        rng.randint(1, 3 + fluid),
        rng.randint(1, 3),
    )
    if options["weights"] == "by user":
        weights = by_user(rng, n)
        options["weights"] = [w / sum(weights) for w in weights]
    units = rng.choices(UNITS, k=m)
    demands, machines = numbers(rng, 0, 5, T, n, m, units=units), numbers(rng, 3, 12, K, m, units=units)
    if fluid:
        demands = [[[d * (rng.random() < 0.7) for d in row] for row in rows] for rows in demands]
        machines = [[c * k for c in machines[0]] for k in rng.choices(range(1, 4), k=K)]
    tasks = numbers(
        rng, fluid, 6, T, n, units=rng.choices((F(1), F(2, 3), F(1, 10)), (4, 4, 1), k=n) if fluid else [F(1)] * n
    )
    tasks = [[x * any(row) for x, row in zip(*both, strict=True)] for both in zip(tasks, demands, strict=True)]
    shares = [[rng.randint(0, 3) + (i == k % n) + (k == 0) for i in range(n)] for k in range(K)]
    parts = [[F(row[i], sum(row)) for row in shares] for i in range(n)]
    return {"demands": demands, "tasks": tasks, "machines": machines, "contributions": parts}


def of_machines(rng: Random, options: dict[str, Any]) -> dict[str, Any]:
    n, m, K = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 3)
    units, kind = rng.choices(UNITS, k=m), rng.randrange(3)
    demands, machines = some_of_each(numbers(rng, 0, 4, n, m, units=units)), numbers(rng, 2, 14, K, m, units=units)
    if kind == 1:  # of one shape
        machines = [[c * k for c in machines[0]] for k in rng.choices(range(1, 4), k=K)]
    elif kind == 2:  # some have nothing of a resource, of which nobody needs anything where none has it
        machines = [
            [c * (r == k % m or rng.random() < 0.4) for r, c in enumerate(row)] for k, row in enumerate(machines)
        ]
        has = [any(column) for column in zip(*machines, strict=True)]
        demands = some_of_each([[d * some for d, some in zip(row, has, strict=True)] for row in demands])
    return {
        "demands": demands,
        "machines": machines,
        "machine_counts": [rng.randint(1, 3) for _ in range(K)],
        "max_tasks": bounds(rng, n),
        "seed": rng.randint(0, 9),
        "weights": by_user(rng, n),
    }


def of_clusters(rng: Random, options: dict[str, Any]) -> dict[str, Any]:
    n, H = rng.randint(1, 4 if options["method"] == "exact" else 6), rng.randint(1, 3)
    # where VMs are not whole only what doubles hold exactly ties in them, too
    part = rng.choice((10, 100, 3) if options["whole"] else (4, 8))
    return {
        "max_vms": [F(rng.randint(1, 9)) for _ in range(n)],
        "tolerance": [F(rng.randint(0, part), part) for _ in range(n)],
        "capacities": [F(rng.randint(1, 16)), *(F(rng.randint(0, 16)) for _ in range(H - 1))],
    }


#: By kind of mechanism.
DRAWN = {
    "pool": of_pool, "arrivals": of_arrivals, "phases": of_phases, "periods": of_periods, "machines": of_machines,
    "clusters": of_clusters,
}  # fmt: skip


def doubles(value: Any, none: Any = None) -> Any:
    """Give fractions as doubles, and no bound as infinite."""
    if isinstance(value, (list, tuple)):
        return [doubles(one, np.inf) for one in value]
    return none if value is None else float(value) if isinstance(value, F) else value


def check(found: Any, expected: dict[str, Any]) -> None:
    """Compare what a judge says, to 1e-9; of a solver, to 1e-6; or ask it."""
    for name, value in expected.items():
        if name == "rank":  # as many of: users served, the least fraction of theirs, all VMs
            told: Any = (found.served.sum(), np.nan_to_num(found.served_fraction), found.vms.sum())[: len(value)]
        else:
            told = getattr(found, name)
        if callable(value):
            assert value(told), name
        else:
            right, near = np.array(doubles(list(value)), dtype=float), 1e-6 if isinstance(value, np.ndarray) else 1e-9
            assert np.shape(told) == right.shape, name
            assert np.allclose(np.asarray(told, dtype=float), right, rtol=near, atol=near / 1000), (name, told, right)


def drawn(name: str, option: str, value: Any, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw what a mechanism is given, and what its judge is: machines one by one, and lots in place of a seed."""
    rng, takes = Random(f"{name} {option} {value} {seed}"), registry[name].takes
    options = {one: rng.choice(values) for one, values in VALUES.get(name, {}).items()} | WHERE.get(option, {})
    options |= {option: value} if option else {}
    given = DRAWN[registry[name].kind](rng, options)
    given = {key: one for key, one in (given | options).items() if key in takes}
    judged = {key: one for key, one in given.items() if key not in ("machine_counts", "seed")}
    if "machine_counts" in given:
        rows = zip(given["machines"], given["machine_counts"], strict=True)
        judged["machines"] = [size for size, count in rows for _ in range(count)]
    if "seed" in given:
        lots = np.random.default_rng(given["seed"])
        judged["lots"] = [lots.permutation(len(axis)).tolist() for axis in (given["demands"], given["demands"][0])]
    return given, judged


def agree(name: str, option: str, value: Any, engines: tuple[str, ...]) -> None:
    """Hold a mechanism against its judge, for each value of an option on twenty instances."""
    for seed in range(20 if name in VALUES else 60):
        given, judged = drawn(name, option, value, seed)
        expected = getattr(JUDGES[registry[name].kind], name)(**judged)
        asked = {key: doubles(one) for key, one in given.items()} | (
            {"placement": True} if "placement" in expected else {}
        )
        for engine in engines:
            found = registry[name].function(**asked, engine=engine)
            check(found, expected)
            assert found.violations() == [] or given.get("stuck") == "stop"


@pytest.mark.parametrize(("name", "option", "value"), CASES)
def test_a_mechanism_and_its_judge_agree(name: str, option: str, value: Any) -> None:
    agree(name, option, value, ("fast", "plain"))


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("gdrf", "choice", "fairness"),
        ("gdrf", "choice", "first"),
        ("drfh", "method", "best_fit"),
        ("mdrf", "reading", "entropy"),
        ("tv_drf", "method", "heuristic"),
    ],
)
def test_few_machines_in_many_blocks_and_users_of_one_kind(
    name: str, option: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "MOST", np.inf)  # what is compiled keeps its constants
    monkeypatch.setattr(nearest_machine, "S", 2)
    monkeypatch.setattr(fairest_machine, "KINDS", 1)
    agree(name, option, value, ("fast",))


def test_the_fluid_rule_is_exact_in_fractions() -> None:
    for seed in range(20):
        _, judged = drawn("tv_drf", "method", "lexicographic", seed)
        expected = periods.tv_drf(**judged)["tasks"]
        assert tv_drf_rule(**judged).tasks.tolist() == expected


@pytest.mark.parametrize("name", [name for name in registry if name != "dynamic_drf"])  # which asks that of DMFA-SRQ
def test_the_plain_engine_is_the_rule_and_the_fast_one_is_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {key: doubles(one) for key, one in drawn(name, *next(c[1:] for c in CASES if c[0] == name), 0)[0].items()}

    def asked(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(f"fairbook.mechanisms.{registry[name].module}.{name}_rule", asked)
    registry[name].function(**given, engine="fast")
    with pytest.raises(ZeroDivisionError):
        registry[name].function(**given, engine="plain")


UNEVEN = {"rows": ([[F(1), F(1)], [F(1)]], [F(1)] * 2), "weights": ([[F(1), F(1)]] * 2, [F(1)])}


@pytest.mark.parametrize("name", ["drf_by_task", "sequential_minmax", "dmfa_srq", "static_optimum"])
@pytest.mark.parametrize("what", UNEVEN)
def test_a_rule_drops_nothing_where_lengths_differ(name: str, what: str) -> None:
    demands, weights = UNEVEN[what]
    with pytest.raises(ValueError, match=r"zip\(\)"):
        registry[name].rule(demands, weights=weights)


def options_of(name: str) -> dict[str, Any]:
    """Options of a mechanism, with all their values where these can be told."""
    hints, found = get_type_hints(registry[name].function), {}
    for option, parameter in inspect.signature(registry[name].function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and option not in DATA:
            kind = hints[option]
            found[option] = get_args(kind) if get_origin(kind) is Literal else (True, False) if kind is bool else None
    return found


@pytest.mark.parametrize("name", registry)
def test_every_value_has_a_judge_and_every_judge_a_value(name: str) -> None:
    options, judged = options_of(name), VALUES.get(name, {})
    assert set(options) <= set(judged)
    assert set(judged) <= set(registry[name].takes)
    for option, values in options.items():
        assert values is None or set(values) == set(judged[option]), option
    assert {option: one.values for option, one in registry[name].readings.items()}.items() <= judged.items()


def test_judges_share_nothing_with_what_they_judge() -> None:
    for path in Path(pool.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [one for one in names if one.split(".")[0] in ("fairbook", "book") or "importlib" in one], path
            if isinstance(node, ast.FunctionDef):
                assert sum(isinstance(one, ast.stmt) for one in ast.walk(node)) - 1 <= 30, node.name
