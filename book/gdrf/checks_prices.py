"""The claims about DRFH in fractions of tasks, and about the prices that bound every placement."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import in_words, margin_in_words, sampled_claim
from book.common.runs import stream
from book.gdrf.oracle import fluid_share, most_tasks, same_mix
from book.gdrf.properties import RULES, Case, fluid_slack
from fairbook import metrics
from fairbook.mechanisms.placing.drfh import drfh

# --------------------------------------------------------------------------------------------------------- DRFH, fluid


def _fluid(demands: Any, machines: Any, weights: Any = None) -> Any:
    return drfh(demands, machines, weights=weights, method="fluid").by_class


FLUID = Mechanism("drfh, fluid", _fluid)
FIRST = Mechanism("only the first user", lambda d, machines: _fluid(d, machines) * (np.arange(len(d)) == 0))


def _small(distance: float) -> str:
    """Write what the solver's accuracy leaves of a zero."""
    return margin_in_words(distance if distance > 1e-6 else 0.0)


def _cell(rng: np.random.Generator, least: int = 1, most: int = 5) -> tuple[Any, Any]:
    """Draw demands and machines."""
    n, K, m = int(rng.integers(least, 5)), int(rng.integers(1, most)), int(rng.integers(1, most))
    return rng.uniform(0.1, 1, (n, m)), rng.uniform(0.5, 4, (K, m))


def _about_fluid(
    name: str, statement: str, mutant: Mechanism, margin: Callable[[Any, Any, Any], float], words: str
) -> None:
    @sampled_claim(
        id=f"gdrf.drfh.{name}",
        locator="beyond the paper (DRFH)",
        kind="extension",
        statement=statement,
        proof="thm-gdrf-drfh",
        mechanism=FLUID,
        mutant=mutant,
        key=19,
        share=50,
        most=200,
        said=lambda margins: f"{len(margins)} random cells: {words} {_small(-min(margins))}.",
        right=lambda margins: min(margins) > -1e-6,
    )
    def _look(rng: np.random.Generator, judged: Mechanism, at: int) -> float:
        demands, machines = _cell(rng)
        return margin(demands, machines, judged.run(demands, machines))


def _equal(demands: Any, machines: Any, by_class: Any) -> float:
    """All at the level that the certificate in fractions allows at most."""
    shares = by_class.sum(axis=0) * (demands / machines.sum(axis=0)).max(axis=1) * len(demands)
    upper = float(fluid_share(demands.tolist(), machines.tolist()).upper)
    return float(min(shares.min() - shares.max(), shares.min() - upper))


_about_fluid(
    "level",
    "Without bounds and without zero demands all dominant shares are equal, as high as prices allow.",
    FIRST,
    _equal,
    "the largest distance between levels, and from the certified bound, is",
)
_about_fluid(
    "envy",
    "Without bounds and without zero demands nobody could run more VMs on what another holds.",
    FIRST,
    lambda demands, machines, by_class: -float((metrics.envy_matrix(by_class.sum(axis=0), demands) - 1).max()),
    "what anybody could run on what another holds is above its own by a part of",
)
_about_fluid(
    "pareto",
    "Without bounds and without zero demands nobody can have more unless somebody has less, even if everything may be "
    "moved.",
    Mechanism("half of everything", lambda demands, machines: _fluid(demands, machines) / 2),
    # nothing to gain for anybody if nobody has less: a linear program over all placements
    lambda demands, machines, by_class: -fluid_slack(demands.tolist(), machines.tolist(), by_class.sum(axis=0)),
    "the most that dominant shares could gain in all, by a linear program, is",
)


@sampled_claim(
    id="gdrf.drfh.truth",
    locator="beyond the paper (DRFH)",
    kind="extension",
    statement="Without bounds and without zero demands no user can run more of its true tasks by stating another "
    "demand.",
    proof="thm-gdrf-drfh",
    mechanism=FLUID,
    mutant=Mechanism("weights by amount", lambda d, machines: _fluid(d, machines, np.sum(d, axis=1) ** 2)),
    key=20,
    share=50,
    most=400,
    said=lambda gains: (
        f"{len(gains)} random cells, one random lie in each: the largest gain, as a part of the honest "
        f"number, is {_small(max(gains))}."
    ),
    right=lambda gains: max(gains) < 1e-6,
)
def _truth(rng: np.random.Generator, judged: Mechanism, at: int) -> float:
    demands, machines = _cell(rng, 2, 4)
    factors = rng.uniform(0.5 if at % 2 else 1, 2, demands.shape[1])  # every other lie overstates
    lied = np.vstack([demands[:1] * factors, demands[1:]])
    honest, claimed = (float(judged.run(d, machines)[:, 0].sum()) for d in (demands, lied))
    return float(claimed * factors.min() / honest - 1)


@claim(
    id="gdrf.drfh.sharing",
    locator="beyond the paper (DRFH)",
    kind="extension",
    statement="Nobody runs fewer VMs than on its n-th part of every machine, VMs divisible.",
    mechanism=FLUID,
    mutant=Mechanism(
        "each on its part", lambda d, rooms: np.min(np.asarray(rooms)[:, None] / np.asarray(d)[None], axis=2) / len(d)
    ),
)
def _fluid_sharing(effort: Effort, judged: Mechanism) -> Evidence:
    demands, machines = ((2, 1), (1, 1)), ((4, 2), (2, 4))
    top = max(Fraction(d, sum(column)) for d, column in zip(demands[0], zip(*machines, strict=True), strict=True))
    at_most = fluid_share(demands, machines).upper / len(demands) / top
    alone = sum(min(Fraction(c, d) for c, d in zip(row, demands[0], strict=True)) / len(demands) for row in machines)
    runs = float(judged.run(demands, machines)[:, 0].sum())
    return Evidence.of(
        Part(
            runs > float(alone) - 1e-6,
            "witness",
            f"Users {in_words(demands)} on machines {in_words(machines)}: the first runs "
            f"{Fraction(runs).limit_denominator(1000)}, and alone on half "
            f"of each machine {alone}; at the level that prices allow at most it runs {at_most}.",
            1,
            witness=Case(demands, machines).as_data(),
        )
    )


# ------------------------------------------------------------------------------------------------------------ prices


@claim(
    id="gdrf.prices",
    locator="beyond the paper (bounds)",
    kind="extension",
    statement="Prices bound every placement: the number of VMs, how many times its own mix would fit, the least "
    "dominant share; and the best such bounds are the optima in fractions of VMs.",
    proof="prop-gdrf-prices",
    mechanism=Mechanism("prices of all machines", lambda case: (case.demands, case.machines)),
    mutant=Mechanism("prices of all but one machine", lambda case: (case.demands, case.machines[1:])),
)
def _prices(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count, over, slack = stream(effort.seed, 21), min(effort.evaluations // 50, 200), 0, 0.0
    for _ in range(count):
        demands, machines = rng.integers(1, 5, (int(rng.integers(2, 5)), 2)), rng.integers(4, 17, (3, 2))
        case = Case(tuple(map(tuple, demands.tolist())), tuple(map(tuple, machines.tolist())))
        priced = judged.run(case)
        tops = [max(Fraction(d, s) for d, s in zip(row, case.pool, strict=True)) for row in case.demands]
        most, level = most_tasks(*priced), fluid_share(*priced)
        slack = max(slack, abs(float(most.upper) / most.value - 1), abs(float(level.upper) / level.level - 1))
        for rule in RULES.values():
            tasks = rule(case, False).tasks
            least = min(t * top for t, top in zip(tasks, tops, strict=True))
            over += (sum(tasks) > most.upper or least > level.upper / len(tops)
                     or same_mix(tasks, *priced).upper < 1)  # fmt: skip
    return Evidence.of(
        Part(
            over == 0,
            "numbers",
            f"{count} random cells, {len(RULES)} rules: {over} of {count * len(RULES)} placements are above a bound.",
            count * len(RULES),
        ),
        Part(
            slack < 1e-6,
            "numbers",
            f"The largest distance of a bound from the optimum is {_small(slack)}.",
            count,
        ),
    )
