"""Table 1 of the cbDRF paper cell by cell, in which sense each property holds, and what the repaired rules promise."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from book.cbdrf.histories import seen
from book.cbdrf.phases import (
    CAPPED,
    DRF,
    KARMA,
    LITERAL_EF,
    LITERAL_PE,
    LITERAL_SI,
    SCALED,
    WEIGHTED,
    Check,
    Records,
    about_a_phase,
    all_good,
    any_record,
    attacked,
    below_drf,
    broken,
    equal_credits,
    exact_rule,
    karma_credits,
    of_drf,
    someone_good,
    someone_with_credit,
    strictly,
)
from book.cbdrf.properties import (
    EXACT_PHASES,
    PHASE_MUTANTS,
    gain_from_record,
    justified_envy_freeness,
    pareto_optimality_within_caps,
    sharing_incentive_by_record,
    sharing_incentive_in_good_standing,
)
from book.common.claims.registry import Effort, Evidence, Mechanism, claim
from book.common.evidence import EXACT, as_data, computed, in_words
from book.common.instances import Instance, sampler
from fairbook.mechanisms.credit.cbdrf import cbdrf
from fairbook.mechanisms.credit.karma import karma
from fairbook.mechanisms.pool.drf import drf
from fairbook.model.allocation import Allocation
from fairbook.properties.lies import true_tasks

# ------------------------------------------------------------------------------------------------ Table 1, cell by cell

COLUMNS = {"drf": DRF, "scaled": SCALED, "weighted": WEIGHTED, "capped": CAPPED, "karma": KARMA}
HEADS = {
    "drf": "DRF",
    "scaled": "cbDRF as printed",
    "weighted": "cbDRF, weighted",
    "capped": "cbDRF, capped",
    "karma": "Karma, nobody bounded",
}


def _where(column: str) -> str:
    return "Table 1" if column in ("drf", "scaled") else "beyond the paper (Table 1)"


_CELLS: tuple[tuple[str, str, Check | None, dict[str, str]], ...] = (
    ("sharing_incentive", "Every node runs at least what it could alone on an equal part of the pool.", LITERAL_SI,
     {"drf": "thm-foundations-si"}),
    ("envy_freeness", "No node would rather have the bundle of another.", LITERAL_EF, {"drf": "thm-foundations-ef"}),
    ("strategy_proofness", "Credits given, no claim about its demand lets a node run more true tasks in the phase.",
     None, {"drf": "thm-foundations-sp", "karma": "prop-cbdrf-karma"} | dict.fromkeys(("scaled", "weighted", "capped"),
                                                                                     "thm-cbdrf-5")),
    ("pareto_efficiency", "no allocation of the pool gives one node more and none less.", LITERAL_PE,
     {"drf": "thm-foundations-po", "weighted": "prop-cbdrf-weighted-pe", "karma": "prop-cbdrf-karma"}),
)  # fmt: skip


def _less_one(name: str) -> Mechanism:
    """A broken rule that takes Karma's credits less 1."""
    return Mechanism(name, lambda demands, credit: PHASE_MUTANTS[name](demands, credit + 1))


_MUTANTS: dict[tuple[str, str], Mechanism] = {
    **{("sharing_incentive", c): DRF for c in COLUMNS},
    ("sharing_incentive", "drf"): broken("by_sum"),
    **{("envy_freeness", c): DRF for c in COLUMNS},
    ("envy_freeness", "drf"): broken("by_tasks"),
    **{("strategy_proofness", c): broken("by_tasks") for c in COLUMNS},
    ("strategy_proofness", "capped"): broken("capped_at_drf"),
    ("strategy_proofness", "karma"): _less_one("by_tasks"),
    **{("pareto_efficiency", c): WEIGHTED for c in COLUMNS},
    ("pareto_efficiency", "karma"): _less_one("wasted"),
    ("pareto_efficiency", "drf"): broken("wasted"),
    ("pareto_efficiency", "weighted"): broken("wasted"),
}
#: Where the rule has something to grant, or credit can buy all.
_SOMETHING = {"drf": "N", "karma": "Where some credit is at least 1, n"}
for _row, _statement, _test, _proofs in _CELLS:
    for _column in COLUMNS:
        _efficient = _row == "pareto_efficiency"
        _head = _SOMETHING.get(_column, "Where some psi is positive, n") if _efficient else _statement[0]
        about_a_phase(
            f"table_1.{_row}.{_column}",
            _where(_column),
            _head + _statement[1:],
            _test,
            subject=COLUMNS[_column],
            mutant=_MUTANTS[_row, _column],
            records=karma_credits
            if _column == "karma" and _proofs.get(_column)
            else someone_with_credit
            if _efficient
            else any_record,
            kind="statement",
            variant=HEADS[_column],
            proof=_proofs.get(_column),
            zeros=_column == "drf" or (_test is None and _column != "karma"),
            sample=_test is None and _column == "capped",
        )


def _tenth(like: Any) -> Any:
    return Fraction(1, 10) if isinstance(like, Fraction) else 0.1


def _two_credits(row: str, credit: Any) -> tuple[Any, Any]:
    """Two credits of a node, over C_0, that its conduct decides between: the worse and the better one."""
    if row == "punitive_allocation":
        return credit, max(credit, credit * 0 + 1)
    low, high = max(credit * 0, credit - _tenth(credit)), credit + _tenth(credit)
    return low, high if row == "release_incentive" else min(1, high)


def _with_credit(credit: Any, node: int, one: Any) -> Any:
    """Credit factors where one node has another credit."""
    psi = np.minimum(credit, 1)
    psi[node] = min(one, 1)
    return psi


def _rewarded(row: str, subject: Mechanism, company: bool) -> Check:
    """Margin: how much more each node gets with the better of two credits; ``company``: beside others with credit."""

    def check(allocation: Allocation, credit: Any) -> Any:
        exact = allocation.tasks.dtype == object
        rule = exact_rule(subject) if exact else subject.run
        assert rule is not None
        margins = []
        for i in range(len(credit)):
            low, high = _two_credits(row, credit[i])
            if low < high and (not company or np.delete(credit, i).any()):
                psi = _with_credit(credit, i, low)
                margins.append(strictly(gain_from_record(rule, allocation.demands, psi, i, min(high, 1))))
        return np.array(margins or [np.inf])

    return check


def _credit_cell(row: str, column: str, statement: str, proof: str | None, terms: str = "") -> None:
    """Register a cell about what a better credit brings; ``row`` says which two credits are compared."""
    company = column == "weighted"  # alone, or where nobody needs the same, a weight decides nothing
    where = " (two nodes or more, another with credit, positive demands)." if company else "."

    @claim(
        id=f"cbdrf.table_1.{row}.{column}",
        locator=_where(column),
        kind="statement",
        variant=HEADS[column] + terms,
        statement=statement + where,
        proof=proof,
        mechanism=COLUMNS[column],
        mutant=replace(COLUMNS[column], name=f"{column}, with a cap") if row == "release_incentive" else DRF,
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        compared = "release_incentive_cap" if judged.name.endswith("with a cap") else row
        records = np.asarray if compared == "release_incentive" else any_record
        test = _rewarded(compared, judged, company)

        def run(demands: Any, credit: Any) -> Allocation:
            return judged.run(demands, np.minimum(credit, 1))

        def told(i: Instance) -> str:
            credit, rule = records(i.weights), exact_rule(judged)
            assert rule is not None
            for node in range(len(credit)):
                low, high = _two_credits(compared, credit[node])
                tasks = [rule(i.demands, _with_credit(credit, node, one)).tasks[node] for one in (low, high)]
                if low < high and tasks[0] >= tasks[1]:
                    return (
                        f"node {node + 1} is granted {tasks[0]} of its tasks if its credit falls to {low} C_0, and "
                        f"no more, {tasks[1]}, if it rises to {high} C_0"
                    )
            return "no node gains"

        zeros = not company
        small = sampler(users=(2 if company else 1, 4), resources=(1, 3), zeros=zeros)  # two allocations a node
        tried = replace(judged, run=run, zeros=zeros)
        return Evidence.of(attacked(test, effort, tried, records, strict=True, sample=small, explain=told))


_PUNITIVE = "gets fewer tasks than with a clean record, all else equal"
_RELEASE = (
    "A node that was granted something and releases enough gets more tasks in the next phase, if it needs something "
    "again, than if it had not, all else equal"
)


def _blind_cell(row: str, column: str, statement: str) -> None:
    """Register a cell about releases for a mechanism that does not see them."""

    @claim(
        id=f"cbdrf.table_1.{row}.{column}",
        locator=_where(column),
        kind="statement",
        variant=HEADS[column],
        statement=f"{statement}.",
        mechanism=Mechanism(column, _second_phase[column]),
        mutant=Mechanism("scaled", _second_phase["scaled"]),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        held, released = (judged.run(ratio) for ratio in (0.0, 1.0))
        return Evidence.of(
            computed(
                released > held,
                f"Two nodes want all of one resource in two phases; the first has {held:.3g} of it in phase 2 if it "
                f"releases nothing after phase 1, and {released:.3g} if it releases all.",
                2,
            )
        )


_ONES = np.ones((2, 2, 1))
#: Tasks of node 0 in phase 2, from what it releases after phase 1; DRF and Karma are told nothing of that.
_second_phase: dict[str, Callable[[float], float]] = {
    "drf": lambda ratio: float(drf(_ONES[1]).tasks[0]),
    "karma": lambda ratio: float(karma(_ONES).tasks[1, 0]),
    "scaled": lambda ratio: float(cbdrf(_ONES, capacities=None, released=[ratio, 1.0]).tasks[1, 0]),
}
for _column in ("scaled", "weighted", "capped"):
    _credit_cell("punitive_allocation", _column, f"A node with psi < 1 {_PUNITIVE}",
                 "prop-cbdrf-weighted-punitive" if _column == "weighted" else "thm-cbdrf-3")  # fmt: skip
    _credit_cell("release_incentive", _column, _RELEASE, None, ", credit without a cap, what is held returns")
    _credit_cell(
        "release_incentive_cap",
        _column,
        _RELEASE,
        "prop-cbdrf-monotone",
        ", credit never above C_0, what is held returns",
    )
for _column in ("drf", "karma"):
    _blind_cell("punitive_allocation", _column, f"A node that failed to release {_PUNITIVE}")
    _blind_cell("release_incentive", _column, _RELEASE)


# ----------------------------------------------------------------------------------------- in which sense each holds


def _sense(
    row: str,
    column: str,
    statement: str,
    check: Check,
    mutant: Mechanism,
    proof: str | None,
    records: Records = any_record,
) -> None:
    about_a_phase(
        f"sense.{row}.{column}",
        "beyond the paper (Table 1)",
        statement,
        check,
        subject=COLUMNS[column],
        mutant=mutant,
        records=records,
        kind="extension",
        variant=HEADS[column],
        proof=proof,
        sample=column == "capped",
        zeros=row != "pareto" and column != "karma",
    )


_PROOFS = {
    "scaled": {
        "good_standing": "prop-cbdrf-scaled-si",
        "by_record": "prop-cbdrf-scaled-si",
        "justified": "thm-cbdrf-4",
    },
    "weighted": {
        "good_standing": "prop-cbdrf-weighted-si",
        "by_record": "prop-cbdrf-weighted-si",
        "justified": "thm-cbdrf-4",
        "pareto": "prop-cbdrf-weighted-pe",
    },
    "capped": dict.fromkeys(("good_standing", "by_record", "justified", "pareto"), "thm-cbdrf-capped"),
    "karma": dict.fromkeys(("good_standing", "justified"), "prop-cbdrf-karma"),
}
INVERSE = broken("inverse")
for _column in ("scaled", "weighted", "capped", "karma"):
    _richest = "A user with the largest credit, of at least 1," if _column == "karma" else "Every node with psi = 1"
    _sense("good_standing", _column, f"{_richest} runs at least what it could alone on an equal part.",
           sharing_incentive_in_good_standing, INVERSE,
           _PROOFS[_column].get("good_standing"), someone_good if _column == "karma" else any_record)  # fmt: skip
    if _column != "karma":  # its credit is not a part of anything
        _sense("by_record", _column, "Every node runs at least psi times what it could alone on an equal part.",
               sharing_incentive_by_record, INVERSE,
               _PROOFS[_column].get("by_record"))  # fmt: skip
    _other = "with no more credit" if _column == "karma" else "whose record is no better"
    _sense("justified", _column, f"No node would rather have the bundle of one {_other}.",
           justified_envy_freeness, INVERSE, _PROOFS[_column].get("justified"))  # fmt: skip
    if _column == "karma":
        continue  # in Table 1 already
    _sense("pareto", _column, "Where some psi is 1, no allocation of the pool gives one node more and none less.",
           LITERAL_PE, broken("wasted") if _column != "scaled" else
           WEIGHTED, _PROOFS[_column].get("pareto"), someone_good)  # fmt: skip


def _asks_for_nothing(subject: Mechanism, demands: Any, released: Any) -> str | None:
    """A user that claims nothing in phase 1 has more in phase 2 than if it had claimed without bound."""
    two = demands[:2]
    if two.shape[1] < 2:
        return None
    needs = np.full(two.shape[:2], np.inf)
    asked = subject.run(two, max_tasks=needs).tasks[1, 0]
    needs[0, 0] = 0
    modest = subject.run(two, max_tasks=needs).tasks[1, 0]
    return None if modest > asked * (1 + 1e-12) else f"node 0 then has {modest:.4g}, not more than {asked:.4g}"


class _Again(NamedTuple):
    """DRF in each phase, with the attribute that Karma's runs have."""

    tasks: Any


claim(
    id="cbdrf.karma.memory",
    locator="beyond the paper (Table 1)",
    kind="extension",
    variant="Karma, alpha below 1, equal credits for both phases, unlimited needs of the others",
    statement="A user that claims nothing in a phase gets more tasks in the next than if it had claimed without bound "
    "(two users or more, positive demands).",
    proof="prop-cbdrf-karma",
    mechanism=Mechanism("karma", karma),
    mutant=Mechanism("drf", lambda d, max_tasks: _Again(np.stack([drf(d[0]).tasks, drf(d[1]).tasks]))),
)(lambda effort, judged: seen(_asks_for_nothing, effort, judged, "Asking for nothing brings more next time"))


# ------------------------------------------------------------------------------------------- the repaired mechanisms


def _at_least_drf(allocation: Allocation, factor: Any) -> Any:
    """Margin: by which part nodes in good standing stand above their DRF amount."""
    good = factor == 1
    return (of_drf(allocation, factor) - 1)[good] if good.any() else np.array([np.inf])


def _exactly_capped(allocation: Allocation, factor: Any) -> Any:
    """Margin: minus the distance of punished nodes from psi times an equal split, in equal splits."""
    share = (allocation.demands / allocation.capacities).max(axis=1)
    part = allocation.tasks * share * len(factor)
    return -np.abs(part - factor)[factor < 1] if (factor < 1).any() else np.array([np.inf])


def _same_as_drf(allocation: Allocation, factor: Any) -> Any:
    return -np.abs(of_drf(allocation, factor) - 1)


_REPAIRED = partial(about_a_phase, kind="extension", proof="thm-cbdrf-capped", subject=CAPPED, sample=True)
_REPAIRED(
    "repaired.at_least_drf",
    "beyond the paper (repair)",
    "A node in good standing gets at least what DRF would give it.",
    _at_least_drf,
    mutant=INVERSE,
    variant=HEADS["capped"],
)
_REPAIRED(
    "repaired.exact_cap",
    "beyond the paper (repair)",
    "A punished node gets exactly psi times what it could run alone on an equal part of the pool.",
    _exactly_capped,
    mutant=SCALED,
    variant=HEADS["capped"],
    zeros=True,
)
_REPAIRED(
    "repaired.below_drf",
    "beyond the paper (repair)",
    "A punished node gets less than DRF would give it.",
    below_drf,
    mutant=DRF,
    variant=HEADS["capped"],
    zeros=True,
)
_REPAIRED(
    "repaired.within_caps",
    "beyond the paper (repair)",
    "Among the allocations that leave punished nodes no more than they have, it is Pareto efficient for any records.",
    pareto_optimality_within_caps,
    mutant=broken("wasted"),
    variant=HEADS["capped"],
    zeros=True,
)
_REPAIRED(
    "repaired.clean",
    "beyond the paper (repair)",
    "Where all are in good standing it is DRF.",
    _same_as_drf,
    mutant=broken("by_sum"),
    records=all_good,
    variant=HEADS["capped"],
    zeros=True,
)
about_a_phase(
    "weighted.below_drf",
    "beyond the paper (repair)",
    "A punished node gets less than DRF would give it.",
    below_drf,
    subject=WEIGHTED,
    mutant=SCALED,
    kind="extension",
    variant=HEADS["weighted"],
)
about_a_phase(
    "weighted.equal_records",
    "beyond the paper (repair)",
    "Where all records are equal and positive it is DRF: nobody is punished.",
    _same_as_drf,
    subject=WEIGHTED,
    mutant=SCALED,
    records=equal_credits,
    kind="extension",
    variant=HEADS["weighted"],
    proof="prop-cbdrf-weighted-punitive",
    zeros=True,
)
_TEMPTING = [[Fraction(1), Fraction(1, 3)], [Fraction(1, 3), Fraction(1)]]


@claim(
    id="cbdrf.tempting_cap",
    locator="beyond the paper (repair)",
    kind="extension",
    variant="cap at psi times the DRF amount",
    statement="With the cap at psi times the DRF amount, no claim about its demand lets a node run more true tasks "
    "(positive demands).",
    mechanism=Mechanism("capped_at_drf", EXACT_PHASES["capped_at_drf"]),
    mutant=Mechanism("capped", EXACT_PHASES["capped"]),
)
def _tempting_cap(effort: Effort, subject: Mechanism) -> Evidence:
    psi, lie = np.array([Fraction(1), Fraction(1, 2)]), [Fraction(1), Fraction(2, 3)]
    honest, lying = (subject.run(np.array(rows), psi).tasks for rows in (_TEMPTING, [lie, _TEMPTING[1]]))
    true = true_tasks(lying[0], np.array(_TEMPTING[0]), np.array(lie))
    text = (
        f"{EXACT}demands {in_words(_TEMPTING)}, psi {in_words(psi.tolist())}. Node 1 claims {in_words(lie)}, gets "
        f"{in_words(lying.tolist())} instead of {in_words(honest.tolist())} and runs {true} true tasks."
    )
    return Evidence.of(computed(true <= honest[0], text, 1, as_data(demands=_TEMPTING, psi=psi)))
