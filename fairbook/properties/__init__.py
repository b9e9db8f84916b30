"""Properties as predicates with a witness or a certificate, and the search for lies.

>>> import fairbook as fb
>>> r = fb.dmfa_srq([[1, 1/2], [1/2, 1], [1/2, 1]], weights=[1/4, 1/4, 1/2])
>>> bool(dynamic_envy_freeness(r))
True
>>> bool(strategy_proofness(fb.dmfa_srq, r.demands, r.weights, evaluations=200))
True
"""

from fairbook.properties.dynamic import (
    dynamic_envy_freeness,
    dynamic_feasibility,
    dynamic_pareto_optimality,
    dynamic_sharing_incentive,
    irrevocability,
)
from fairbook.properties.finding import Finding, Trajectory, show
from fairbook.properties.lies import claimed_tasks, strategy_proofness, true_tasks
from fairbook.properties.static import (
    envy_freeness,
    feasibility,
    pareto_optimality,
    sharing_incentive,
)

__all__ = [
    "Finding",
    "Trajectory",
    "claimed_tasks",
    "dynamic_envy_freeness",
    "dynamic_feasibility",
    "dynamic_pareto_optimality",
    "dynamic_sharing_incentive",
    "envy_freeness",
    "feasibility",
    "irrevocability",
    "pareto_optimality",
    "sharing_incentive",
    "show",
    "strategy_proofness",
    "true_tasks",
]


def __dir__() -> list[str]:
    return sorted(__all__)
