"""Properties as predicates with a witness or a certificate, and the adversarial search for what breaks them.

>>> import fairbook as fb
>>> r = fb.dmfa_srq([[1, 1/2], [1/2, 1], [1/2, 1]], weights=[1/4, 1/4, 1/2])
>>> bool(dynamic_envy_freeness(r))
True
>>> print(search_lie(fb.dmfa_srq, r.demands, r.weights, user=0, evaluations=200).found)
False
"""

from fairbook.properties.cbdrf import (
    justified_envy_freeness,
    pareto_optimality_within_caps,
    sharing_incentive_by_record,
    sharing_incentive_in_good_standing,
)
from fairbook.properties.dmfa_srq import (
    MUTANTS,
    EventRun,
    exact_dmfa_srq,
    lemma_1,
    lemma_2,
    lemma_3,
    lemma_4,
    lowest_level_optimality,
    with_departures,
)
from fairbook.properties.dynamic import (
    dynamic_envy_freeness,
    dynamic_feasibility,
    dynamic_pareto_optimality,
    dynamic_sharing_incentive,
    irrevocability,
)
from fairbook.properties.finding import Finding, Trajectory, show
from fairbook.properties.instances import CORNERS, Instance, Sampler, sampler
from fairbook.properties.mutants import STATIC_MUTANTS, exact_drf
from fairbook.properties.release import Response, best_response, largest_worth, search_release, worth_threshold
from fairbook.properties.search import (
    Lie,
    Search,
    claimed_tasks,
    lie_gain,
    minimise_margin,
    search_instance,
    search_lie,
    shrink,
    strategy_proofness,
    structured_lies,
    true_tasks,
)
from fairbook.properties.static import (
    envy_freeness,
    feasibility,
    pareto_optimality,
    pareto_slack_lp,
    sharing_incentive,
)

__all__ = [
    "CORNERS", "MUTANTS", "STATIC_MUTANTS", "EventRun", "Finding", "Instance", "Lie", "Response", "Sampler", "Search",
    "Trajectory", "best_response", "claimed_tasks", "dynamic_envy_freeness", "dynamic_feasibility",
    "dynamic_pareto_optimality", "dynamic_sharing_incentive", "envy_freeness", "exact_dmfa_srq", "exact_drf",
    "feasibility", "irrevocability", "justified_envy_freeness", "largest_worth", "lemma_1", "lemma_2", "lemma_3",
    "lemma_4", "lie_gain", "lowest_level_optimality", "minimise_margin", "pareto_optimality",
    "pareto_optimality_within_caps", "pareto_slack_lp", "sampler", "search_instance", "search_lie", "search_release",
    "sharing_incentive", "sharing_incentive_by_record", "sharing_incentive_in_good_standing", "show", "shrink",
    "strategy_proofness", "structured_lies", "true_tasks", "with_departures", "worth_threshold",
]
