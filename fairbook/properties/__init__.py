"""Properties as predicates with a witness or a certificate, and the adversarial search for what breaks them.

>>> import fairbook as fb
>>> r = fb.dmfa_srq([[1, 1/2], [1/2, 1], [1/2, 1]], weights=[1/4, 1/4, 1/2])
>>> bool(dynamic_envy_freeness(r))
True
>>> print(search_lie(fb.dmfa_srq, r.demands, r.weights, user=0, evaluations=200).found)
False
"""

from fairbook.properties.dynamic import (
    dynamic_envy_freeness,
    dynamic_feasibility,
    dynamic_pareto_optimality,
    dynamic_sharing_incentive,
    irrevocability,
)
from fairbook.properties.finding import Finding, Trajectory, show
from fairbook.properties.instances import CORNERS, Instance, Sampler, sampler
from fairbook.properties.lies import (
    Lie,
    claimed_tasks,
    lie_gain,
    search_instance,
    search_lie,
    strategy_proofness,
    true_tasks,
)
from fairbook.properties.search import Search, minimise_margin
from fairbook.properties.shrinking import shrink
from fairbook.properties.static import (
    envy_freeness,
    feasibility,
    pareto_optimality,
    sharing_incentive,
)

__all__ = [
    "CORNERS",
    "Finding",
    "Instance",
    "Lie",
    "Sampler",
    "Search",
    "Trajectory",
    "claimed_tasks",
    "dynamic_envy_freeness",
    "dynamic_feasibility",
    "dynamic_pareto_optimality",
    "dynamic_sharing_incentive",
    "envy_freeness",
    "feasibility",
    "irrevocability",
    "lie_gain",
    "minimise_margin",
    "pareto_optimality",
    "sampler",
    "search_instance",
    "search_lie",
    "sharing_incentive",
    "show",
    "shrink",
    "strategy_proofness",
    "true_tasks",
]
