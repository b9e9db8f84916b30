"""How the claims about virtual clusters are judged: rules by name, cases in small numbers, searches, one witness."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, get_args

import numpy as np

from book.common.cases import lowest_margin
from book.common.claims.registry import FULL, Effort, Evidence, Kind, Mechanism, Part, claim
from book.common.evidence import as_data, in_words, margin_in_words
from book.common.runs import stream
from book.virtual_cluster.properties import BROKEN, RULES, Case, Outcome, cases, moved
from book.virtual_cluster.settings import Instance
from fairbook.mechanisms.clusters.virtual_cluster import Method, virtual_cluster
from fairbook.model.clusters import VirtualClusters

Number = Any
FEW, ALL = 6, 100  # runs at quick effort, and those of the stored frame, so that page and ledger show the same


def runs_of(effort: Effort) -> int:
    """Give the runs of an experiment."""
    return FEW if effort.evaluations < FULL.evaluations else ALL


def nearest_mixed(case: Instance) -> VirtualClusters:
    """Run mixed knapsack in the reading nearest to the text: users by k, METAGREEDY in step 7a."""
    by_k = np.argsort(case.tolerance, kind="stable")
    found = virtual_cluster(
        case.max_vms[by_k], case.tolerance[by_k], case.capacities, method="mixed_knapsack", general="metagreedy"
    )
    back = np.argsort(by_k)
    return replace(found, requests=found.requests.only(back), vms=found.vms[back], cluster=found.cluster[back])


def by_name(name: str) -> Mechanism:
    """Give a rule, whole or broken."""
    return Mechanism(name, (RULES | BROKEN)[name])


def small_case(wanted: Sequence[int], tolerance: Sequence[str], capacities: Sequence[int], whole: bool = True) -> Case:
    """Write a case down; tolerances are texts such as "1/3"."""
    return Case(tuple(wanted), tuple(map(Fraction, tolerance)), tuple(capacities), whole)


def opening(case: Case) -> str:
    """Describe a case at the beginning of a sentence."""
    words = str(case)
    return words[0].upper() + words[1:]


def handed_out(outcome: Outcome) -> str:
    """Write the VMs of each user and its cluster, counted from 1; "-" where it has none of its own."""
    return (
        f"VMs {in_words(outcome.vms)} on clusters {in_words([str(j + 1) if j >= 0 else '-' for j in outcome.cluster])}"
    )


def shown(case: Case, rule: str = "", vms: Any = ()) -> dict[str, Any]:
    """Give a case as data, and what a rule of the library gives to each user."""
    method = "exact" if rule == "pool" and len(case.capacities) == 1 else rule
    options = ("" if case.whole else ", whole=False") + (", small=0" if method == "mixed_knapsack" else "")
    call = f'fb.virtual_cluster(wishes, tolerance, clusters, method="{method}"{options}).vms'
    given = (call, vms) if method in get_args(Method) else ()
    return as_data(*given, wishes=case.max_vms, tolerance=case.tolerance, clusters=case.capacities)


def witness(holds: Any, found: str, size: int = 1, shown: dict[str, Any] | None = None) -> Evidence:
    """Decide by one instance, or by all there is of one."""
    return Evidence.of(Part(bool(holds), "witness", found, size, witness=shown))


def search_claim(
    margin: Callable[[Any, Case], Number | None],
    key: int,
    *,
    fewer: int = 4,
    drawn: dict[str, Any] | None = None,
    **about: Any,
) -> None:
    """Register a statement that is decided by a search for a case of negative margin.

    Parameters
    ----------
    margin : callable
        Of what is judged and a case; None where the statement does not speak of the case.
    key : int
        Of the random stream.
    fewer : int
        How many of the effort's evaluations make one here.
    drawn : dict, optional
        Of :func:`book.virtual_cluster.properties.cases`.
    **about
        Of :func:`book.common.claims.claim`.
    """

    @claim(**about)
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        value, where, done, spoken = lowest_margin(
            partial(margin, judged.run),
            lambda rng: cases(rng, **(drawn or {})),
            moved,
            evaluations=effort.evaluations // fewer,
            rng=stream(effort.seed, key),
        )
        if value < 0:
            return Evidence.of(Part(False, "search", f"Violated by {margin_in_words(-float(value))}: {where}.", done))
        return Evidence.of(
            Part(
                True if spoken else None,
                "search",
                f"Searched {done} cases in fractions, {spoken} of them of the kind the statement speaks of; "
                f"the smallest margin is {margin_in_words(float(value))}.",
                spoken,
            )
        )


def about_a_case(
    name: str,
    locator: str,
    statement: str,
    case: Case,
    right: Callable[[Case, Any], bool],
    says: Callable[[Case, Any], str],
    judged_by: str | Mechanism,
    mutant: Mechanism,
    *,
    variant: str = "one cluster per user",
    kind: Kind = "statement",
) -> None:
    """Register a statement that fails in one case, for a rule by its name or for anything that takes the case."""

    @claim(
        id=f"virtual_cluster.{name}",
        locator=locator,
        kind=kind,
        variant=variant,
        statement=statement,
        mechanism=by_name(judged_by) if isinstance(judged_by, str) else judged_by,
        mutant=mutant,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        outcome = judged.run(case)
        data = shown(case, judged.name, outcome.vms) if isinstance(outcome, Outcome) else shown(case)
        return witness(right(case, outcome), opening(case) + ". " + says(case, outcome), shown=data)
