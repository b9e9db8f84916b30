"""SequentialMinMax against the paper's rule in fractions, and what its predicates and its two dictators say by hand."""

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from book.common.runs import stream
from book.sequential_minmax import checks, oracle
from book.sequential_minmax.properties import Case, Margin, envy_other_task, envy_own_task, pareto, sharing
from fairbook.mechanisms.readings import Ties


@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("scale", [1, 0.1, 1 / 3, 1e-9])
def test_the_engine_is_the_paper_s_rule_in_whole_tasks_whatever_the_unit(scale: float, ties: Ties) -> None:
    """In other units the doubles round: fits and ties must be those of the fractions all the same."""
    rng = stream(1, int(1 / scale))
    for at in range(150):
        case = checks.drawn(rng, weighted=at % 2 == 1)
        most = rng.integers(0, 6, len(case.demands)) + 0.5 if at % 3 == 0 else None
        given = fb.sequential_minmax(
            np.multiply(case.demands, scale),
            weights=case.weights,
            capacities=np.multiply(case.capacities, scale),
            max_tasks=most,
            ties=ties,
        )
        assert given.tasks.tolist() == oracle.served_in_turn(case, ties, None if most is None else [*most]), case
        assert given.violations() == []


def test_bounds_names_and_reasons() -> None:
    users = pd.DataFrame({"cpu": [2, 5], "gpu": [0, 1]}, index=["small", "large"])
    pool = pd.Series({"gpu": 4, "cpu": 8})
    assert fb.sequential_minmax(users, capacities=pool).to_frame()["bottleneck"].tolist() == ["cpu", "cpu"]
    bounded = fb.sequential_minmax(users, capacities=pool, max_tasks=pd.Series({"large": 3, "small": 1.9}))
    assert bounded.tasks.tolist() == [1, 1]
    assert bounded.to_frame()["bottleneck"].tolist() == ["own bound", "cpu"]
    assert bounded.violations() == []


def test_more_tasks_than_can_be_counted_out_are_refused() -> None:
    with pytest.raises(fb.InvalidInput, match="large enough"):
        fb.sequential_minmax([[1e-10]])
    assert fb.sequential_minmax([[1e-10]], max_tasks=[5]).tasks.tolist() == [5]


THREE = Case(((1, 0), (2, 1), (1, 1)), (6, 3), (1, 1, 1))


@pytest.mark.parametrize(("margin", "case", "tasks", "found"), [
    (pareto, THREE, (2, 1, 1), -1), (pareto, THREE, (3, 1, 1), 0),
    (sharing, THREE, (3, 0, 3), -1), (sharing, THREE, (2, 1, 1), 0), (sharing, THREE, (4, 1, 0), -1),
    (envy_own_task, THREE, (0, 0, 3), -2), (envy_own_task, THREE, (2, 0, 3), 0),
    (envy_other_task, THREE, (0, 0, 3), -2), (envy_other_task, THREE, (1, 0, 3), -1),
    (envy_own_task, checks.HEAVY, (0, 3), -1), (envy_own_task, checks.HEAVY._replace(weights=(1, 1)), (0, 3), 0),
    (sharing, Case(((1,), (1,)), (3,), (2, 1)), (1, 2), -1),
])  # fmt: skip
def test_margins_by_hand(margin: Margin, case: Case, tasks: tuple[int, ...], found: int) -> None:
    assert margin(case, tasks) == found


def test_the_only_honest_mechanisms_for_two_units_are_the_dictators() -> None:
    honest = [one for one in checks.mechanisms() if not checks.lie_pays(one)]
    first = {(a, b): (2 // a, (2 - 2 // a * a) // b) for a in (1, 2) for b in (1, 2)}
    second = {(a, b): tasks[::-1] for (b, a), tasks in first.items()}
    assert honest == [second, first]


def test_a_lie_pays_under_the_rule() -> None:
    assert fb.sequential_minmax([[2], [2]], capacities=[2]).tasks.tolist() == [1, 0]
    assert fb.sequential_minmax([[2], [1]], capacities=[2]).tasks.tolist() == [0, 2]  # in which a task of 2 runs
