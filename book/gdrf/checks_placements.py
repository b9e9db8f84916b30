"""The claims about what GDRF places where (Algorithm 3), and section 2.4 on fairness.

Statements about rules are asked in whole numbers, where every comparison can be decided exactly; a refuted statement
has a witness of a few numbers that was judged in fractions.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from book.common.claims.registry import FULL, Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import in_words, sampled_claim, witnessed
from book.common.packing import packs
from book.common.runs import stream
from book.gdrf import properties as props
from book.gdrf.checks_queue import QUEUES
from book.gdrf.properties import BROKEN, RULES, Case, Filling, Outcome, Rule

Vector = Sequence[Any]


def single(holds: bool, grade: Any, found: str, size: int, witness: Any = None) -> Evidence:
    """Give the evidence of one part."""
    return Evidence.of(Part(holds, grade, found, size, witness=witness))


def rule_named(name: str) -> Mechanism:
    return Mechanism(name, (RULES | BROKEN)[name])


# ------------------------------------------------------------------------------------------------ Algorithm 3 and 2.4


def _course(outcome: Outcome) -> str:
    """Write where the tasks go, in the order of placing."""
    return ", ".join(f"{i + 1} on {j + 1}" for i, j in outcome.placed) or "nothing"


def _free(case: Case, outcome: Outcome) -> list[tuple[Any, ...]]:
    """Give what is left of each machine."""
    used = Filling(case, outcome.placed).used
    return [tuple(c - u for c, u in zip(*pair, strict=True)) for pair in zip(case.machines, used, strict=True)]


def _past_a_less_used_one(case: Case, outcome: Outcome) -> str:
    """Name the first task that goes past a less used machine, and f and the use of each machine before it."""
    firsts = [Outcome.of(case, outcome.placed[:t]) for t in range(len(outcome.placed) + 1)]
    before = next(a for a, b in zip(firsts, firsts[1:], strict=False) if props.least_used_first(case, b) < 0)
    words = []
    for j, (machine, free) in enumerate(zip(case.machines, _free(case, before), strict=True)):
        shares = sum((max(case.shares[i]) for i, at in before.placed if at == j), Fraction(0))
        used = 1 - Fraction(sum(free), sum(machine))
        words.append(f"machine {j + 1} has f = ({shares})^({used}) = {float(shares) ** float(used):.3f}")
    task = len(before.placed)
    return (f"Before VM {task + 1}, which goes to machine {outcome.placed[task][1] + 1}, {', '.join(words)}; "
            "the exponent is the part in use")  # fmt: skip


def _room(case: Case, outcome: Outcome) -> str:
    """Name who has room on which machine, and the resource of which each has the largest share."""
    left, filling = _free(case, outcome), Filling(case, outcome.placed)
    room = [f"user {i + 1} on machine {j + 1}" for i, j in product(range(len(case.demands)), range(len(left)))
            if filling.fits(i, j)]  # fmt: skip
    users, machines = (in_words([row.index(max(row)) + 1 for row in rows]) for rows in (case.shares, case.parts))
    return (f"The machines have {in_words(left)} left: room for {', '.join(room)}. The dominant resources of the users "
            f"are {users}, the types of the machines {machines}")  # fmt: skip


def _better(case: Case, outcome: Outcome) -> str:
    """Give a placement in which one user has a task more and all others keep theirs, found by trying all."""
    for i in range(len(case.demands)):
        users = [h for h, has in enumerate(outcome.tasks) for _ in range(has + (h == i))]
        for places in product(range(len(case.machines)), repeat=len(users)):
            other = Outcome.of(case, list(zip(users, places, strict=True)))
            if min(map(min, _free(case, other))) >= 0:
                return f"Better is {_course(other)}"
    return "Nothing is better"


def _envied(case: Case, outcome: Outcome) -> str:
    """Say what each could run on what another holds, less one task of the other."""
    pairs = [(i, h) for i in range(len(case.demands)) for h in range(len(case.demands)) if i != h and outcome.tasks[h]]
    held = {h: [(outcome.tasks[h] - 1) * d for d in case.demands[h]] for _, h in pairs}
    runs = {(i, h): min(Fraction(x, d) for x, d in zip(held[h], case.demands[i], strict=True) if d) for i, h in pairs}
    i, h = min(pairs, key=lambda pair: outcome.tasks[pair[0]] - runs[pair])
    return (f"The machines have {in_words(_free(case, outcome))} left. Less one VM, user {h + 1} "
            f"holds {in_words(tuple(held[h]))}: room for {runs[i, h]} of user {i + 1}; it has "
            f"{outcome.tasks[i]}")  # fmt: skip


def _alone(case: Case, outcome: Outcome) -> str:
    alone = Outcome.of(case, props.on_own_parts(case)).tasks
    return f"Each on its part of every machine, they would run {in_words(alone)}"


def _about_outcomes(
    name: str,
    statement: str,
    check: Callable[[Case, Outcome], Any],
    mutant: str,
    *,
    rule: str = "gdrf",
    locator: str = "Section 2.4",
    variant: str = "as stated",
    proof: str | None = None,
    witness: Case | None = None,
    says: Callable[[Case, Outcome], str] = _room,
    share: int = 4,
) -> None:
    """Register a statement about what a rule has placed at the end; a witness refutes it, and ``says`` why."""

    def told(case: Case, outcome: Outcome, margin: Any) -> str:
        placed = (
            f"The users have {in_words(outcome.tasks)} VMs, placed in this order (user on machine): {_course(outcome)}"
        )
        return f"{case}. {placed}. {says(case, outcome)}."

    @claim(
        id=f"gdrf.{name}",
        locator=locator,
        kind="extension" if locator.startswith("beyond") else "statement",
        variant=variant,
        statement=statement,
        proof=proof,
        mechanism=rule_named(rule),
        mutant=rule_named(mutant),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        if against := witnessed(judged, witness, check, told, lambda c, found: c.as_data(judged.name, found.tasks)):
            return against
        search = partial(props.search_case, evaluations=effort.evaluations // share, rng=stream(effort.seed, 16))
        margin, where, done, _ = search(lambda c: check(c, judged.run(c, False)))
        if margin < 0:
            exact = check(where, judged.run(where, True))
            return single(exact >= 0, "witness", f"{where}: margin {exact}.", done)
        words = f"Local search over cases of 2 to 4 users and 1 to 4 machines ({done} runs) found nothing"
        return single(True, "search", f"{words}; smallest margin {in_words(margin)}.", done)


_about_outcomes(
    "f.least_used",
    "The machine with the largest f is the least used one of those with room.",
    props.least_used_first,
    "least used machine",
    locator="Section 1.3",
    variant="every VM, where the paper says 'as far as possible'",
    witness=Case(((1, 1),), ((2, 2), (6, 6))),
    says=_past_a_less_used_one,
)
_about_outcomes(
    "maximal.nearest",
    "At the end nobody who wants more could get one more VM while all stay where they are.",
    props.maximality,
    "last task taken back",
    variant="machines of the nearest type with room",
    proof="thm-gdrf-maximal",
)
_about_outcomes(
    "maximal.printed",
    "At the end nobody who wants more could get one more VM while all stay where they are.",
    props.maximality,
    "gdrf",
    rule="gdrf_same",
    variant="Algorithm 3 as printed",
    witness=Case(((2, 1),), ((4, 2), (2, 4))),
)
_about_outcomes(
    "pareto",
    "At the end nobody could get more and all others keep the number of their VMs, wherever VMs are put.",
    props.pareto_optimality,
    "largest packing",
    variant="VMs may move",
    witness=Case(((2,), (3,)), ((4,), (3,))),
    says=_better,
    share=40,
)
_about_outcomes(
    "envy.end",
    "At the end nobody could run more VMs than it has on what another holds, less one VM of the other.",
    props.envy_up_to_one,
    "nothing placed",
    locator="beyond the paper (section 2.4)",
    witness=Case(((1, 1), (2, 2)), ((5, 5),)),
    says=_envied,
)
_about_outcomes(
    "together.nearest",
    "Users share machines: none that one user has for itself has room for another who wants more.",
    props.side_by_side,
    "each on its part",
    variant="machines of the nearest type with room",
    proof="prop-gdrf-together",
)
_about_outcomes(
    "together.printed",
    "Users share machines: none that one user has for itself has room for another who wants more.",
    props.side_by_side,
    "gdrf",
    rule="gdrf_same",
    variant="Algorithm 3 as printed",
    witness=Case(((3, 1), (1, 2)), ((4, 3), (2, 4))),
)
_about_outcomes(
    "sharing",
    "Nobody runs fewer VMs than on its n-th part of every machine.",
    props.sharing_incentive,
    "each on its part",
    locator="beyond the paper (sharing incentive)",
    witness=Case(((1, 1), (2, 3)), ((4, 4),)),
    says=_alone,
    share=40,
)


def _about_lies(name: str, variant: str, rule: str) -> None:
    """Register that lies gain nothing, unless one gets a user a VM that it would not have."""
    case, said = Case(((5,), (6,)), ((7,),)), (7,)

    @claim(
        id=f"gdrf.lie.{name}",
        locator="Section 2.4",
        kind="statement",
        variant=variant,
        statement="A user gains nothing by stating a larger demand than it has, and paying for it.",
        mechanism=rule_named(rule),
        mutant=rule_named("nothing placed"),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        gain = props.gain_of_lie(judged.run, case, 0, said, True)
        if gain > 0:
            honest, lied = (judged.run(one, True) for one in (case, case.with_demand(0, said)))
            runs = honest.tasks[0] + gain
            use = Fraction(runs * case.demands[0][0], lied.tasks[0] * said[0])
            words = (
                f"{case}. With honest demands the placement (user on machine) is: {_course(honest)}. If the first user "
                f"claims {in_words(said)}, it is: {_course(lied)}. The liar then runs {runs} instead of "
                f"{honest.tasks[0]} of its true tasks, and uses the part {use} of what it pays for."
            )
            return single(False, "witness", words, 1, witness=case.as_data(judged.name, honest.tasks))
        rng = stream(effort.seed, 17)
        best, where, lie, done = props.search_lie_in(judged.run, evaluations=effort.evaluations // 4, rng=rng)
        if best > 0:
            exact = props.gain_of_lie(judged.run, where, 0, lie, True)
            return single(exact <= 0, "witness", f"{where}: saying {lie} gains {exact}.", done)
        return single(True, "search", f"None of {done} lies pays.", done)


_about_lies("nearest", "machines of the nearest type with room", "gdrf")
_about_lies("printed", "Algorithm 3 as printed", "gdrf_same")


@claim(
    id="gdrf.lie.next",
    locator="Section 2.4",
    kind="statement",
    statement="A user who gets more in a round by a lie gets nothing in the next rounds.",
    **QUEUES,
)
def _next(effort: Effort, judged: Mechanism) -> Evidence:
    (one, two), rounds, room = ((1,), (2,)), 3, (20,)
    honest, lied = (judged.run((said, two), rounds, room).rounds for said in (one, two))
    more = honest[0][0] * one[0] < lied[0][0] * two[0]
    slots = [row[0] for row in lied]
    words = (
        f"Two users need {in_words((one, two))} on a machine of {in_words(room)}. If the first claims {in_words(two)}, "
        f"it holds {slots[0] * two[0]} units instead of {honest[0][0] * one[0]} after the first round, and then gets "
        f"{' and '.join(map(str, slots[1:]))} slots in the next two rounds."
    )
    return single(not (more and any(slots[1:])), "witness", words, 1)


def _no_bound(
    name: str, statement: str, mutant: str, cases_of: Callable[[int], Sequence[Callable[[Rule], bool]]], words: str
) -> None:
    """Register that a family of cases, one or more for each size, comes out as the text counts it."""

    @claim(
        id=f"gdrf.{name}",
        locator="beyond the paper (section 2.4)",
        kind="extension",
        statement=statement,
        proof="prop-gdrf-no-bound",
        mechanism=rule_named("gdrf"),
        mutant=rule_named(mutant),
    )
    def _check(effort: Effort, judged: Mechanism) -> Evidence:
        largest = 8 if effort.evaluations < FULL.evaluations else 20
        asked = [one for size in range(3, largest + 1) for one in cases_of(size)]
        wrong = sum(not holds(judged.run) for holds in asked)
        said = f"{words.format(largest)}, in fractions: {wrong} of {len(asked)} cases differ."
        return single(wrong == 0, "numbers", said, len(asked))


def _gains(case: Case, said: Vector, factor: int) -> Callable[[Rule], bool]:
    """Ask whether the first user runs one task with the truth and so many with the lie."""
    return lambda rule: (
        rule(case, True).tasks[0] == 1 and props.gain_of_lie(rule, case, 0, tuple(said), True) == factor - 1
    )


def _lies_of_size(k: int) -> list[Callable[[Rule], bool]]:
    in_one = _gains(Case(((1,), (k - 1,)), ((k,),)), (k,), k)
    each_in_one = _gains(Case(((1, 1), (k, 1)), ((k, k * k), (k * k, 0), (1, 1))), (1, k), k)
    return [in_one, each_in_one]


def _packed_apart(size: int) -> list[Callable[[Rule], bool]]:
    """Large tasks that need a whole machine, and one small task on each of the others.

    For an odd number of machines a round ends with one slot each, the large task comes first and gets one more.
    """
    if size % 2:
        return []
    case = Case(((2 * size,), (1,)), ((2 * size,),) * size, (None, size - 1))
    fits = packs(case.machines, case.demands, (size - 1, size - 1))
    return [lambda rule: rule(case, True).tasks == (1, size - 1) and fits]


_no_bound(
    "lie.unbounded",
    "No factor bounds the gain of a lie: for each K from 3 on a user has one VM with the truth and runs K of its "
    "tasks with a lie, all in one VM that is claimed to be K times as large, or each in one of its own.",
    "drfh_first_fit",
    _lies_of_size,
    "K from 3 to {}, both ways",
)
_no_bound(
    "packing.unbounded",
    "No factor bounds what packing loses: on N machines one user has one VM where N - 1 would fit beside all that "
    "the other has and wants, for each even N.",
    "drfh_first_fit",
    _packed_apart,
    "Even N from 4 to {}",
)


# ------------------------------------------------------------------------------ Algorithm 3 to the letter, engine


_ZERO, _ONE = (Mechanism(f"0^0 = {x}", partial(props.printed_algorithm, zero_to_zero=x)) for x in (0, 1))
_STARTS = "The printed comparison, fmax < f from fmax = 0, finds a machine for the first VM."


@sampled_claim(
    key=24,
    share=20,
    said="It does in {count} random cells in which a machine of the first user's type has room.",
    again=True,
    id="gdrf.printed.starts",
    locator="Algorithm 3",
    kind="algorithm",
    variant="0^0 = 1, and a machine of the user's type has room",
    statement=_STARTS,
    proof="prop-gdrf-empty",
    mechanism=_ONE,
    mutant=_ZERO,
)
def _starts(rng: np.random.Generator, judged: Mechanism, at: int) -> bool | None:
    case = props.cases(rng)
    has = any(props.same_type(case, 0, j) and Filling(case).fits(0, j) for j in range(len(case.machines)))
    # alone, the user has the first VM
    return bool(judged.run(Case(case.demands[:1], case.machines)).placed) if has else None


@claim(
    id="gdrf.printed.stuck",
    locator="Algorithm 3",
    kind="algorithm",
    variant="0^0 = 0",
    statement=_STARTS,
    mechanism=_ZERO,
    mutant=_ONE,
)
def _stuck(effort: Effort, judged: Mechanism) -> Evidence:
    case = Case(((2, 1), (1, 2)), ((8, 4), (4, 8)))
    found = len(judged.run(case).placed)
    words = (
        f"{case}. The printed loop, run line by line, places {found} of the {len(case.demands)} VMs of the first round"
    )
    return single(found > 0, "witness", f"{words}.", 1, witness=case.as_data())


def _last_taken_back(rule: Rule) -> Rule:
    """Take the last task back, in floats only."""

    def run(case: Case, exact: bool) -> Outcome:
        found = rule(case, exact)
        return found if exact else Outcome.of(case, found.placed[:-1])

    return run


@claim(
    id="gdrf.engine",
    locator="beyond the paper (engine)",
    kind="number",
    statement="Tournaments in floats place every VM where a scan of all machines in fractions places it.",
    mechanism=Mechanism("engine", lambda rule: rule),
    mutant=Mechanism("last task taken back", _last_taken_back),
)
def _engine(effort: Effort, judged: Mechanism) -> Evidence:
    rng, count = stream(effort.seed, 18), effort.evaluations // 20
    drawn = [props.cases(rng) for _ in range(count)]
    same = [props.places_as_judged(judged.run(rule), case) for rule in RULES.values() for case in drawn]
    words = f"{count} random cases, {len(RULES)} rules: {same.count(False)} of {len(same)} runs differ."
    return single(all(same), "numbers", words, len(same))
