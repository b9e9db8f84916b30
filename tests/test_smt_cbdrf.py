"""cbDRF's statements settled by the solver: the statuses, the witnesses, and that every encoding can fail."""

import itertools
import random
from fractions import Fraction

import pytest

from fairbook.errors import InvalidInput

z3 = pytest.importorskip("z3")

from book.cbdrf import smt as cbdrf  # noqa: E402
from book.cbdrf.smt import GRANTS, MECHANISMS, STATEMENTS, settle  # noqa: E402
from book.common import smt  # noqa: E402
from book.common.oracle_drf import exact_tasks  # noqa: E402
from fairbook.mechanisms.cbdrf import grant_tasks_rule  # noqa: E402

F = Fraction

#: Grants under which a statement holds for up to three nodes; under all others it is refuted.
HOLDS = {
    "feasibility": set(GRANTS),
    "sharing_incentive": {"drf"},
    "sharing_incentive_good_standing": set(GRANTS),
    "sharing_incentive_scaled_by_record": set(GRANTS),
    "envy_freeness": {"drf"},
    "justified_envy_freeness": set(GRANTS),
    "pareto_optimality": {"drf"},
    "pareto_optimality_someone_with_credit": {"drf", "weighted"},
    "pareto_optimality_someone_in_good_standing": set(GRANTS) - {"scaled"},
    "pareto_optimality_all_in_good_standing": set(GRANTS),
    "strategy_proofness": set(GRANTS) - {"capped_at_drf"},
    "punitive_in_company": set(GRANTS) - {"drf"},
    "never_below_drf_in_good_standing": set(GRANTS),
    "punished_below_drf": {"scaled", "capped", "capped_at_drf"},
    "clean_records_as_drf": set(GRANTS),
    "equal_records_as_drf": {"drf", "weighted"},
}
ALL = [(statement, grant) for statement in STATEMENTS for grant in GRANTS]
CAUGHT = [
    (statement, grant, mutant, n)
    for statement, grants in HOLDS.items()
    for grant in GRANTS
    if grant in grants
    for mutant, n in STATEMENTS[statement].caught.items()
]
HALF, THIRD = F(1, 2), F(1, 3)


def exact(demands, credit, grant):
    """Tasks from the oracles in fractions, which know neither the encoding nor a solver."""
    drf = exact_tasks(demands)
    if grant == "drf":
        return tuple(drf)
    if grant == "capped_at_drf":
        return tuple(exact_tasks(demands, max_tasks=[None if p == 1 else p * x for p, x in zip(credit, drf)]))
    return tuple(grant_tasks_rule(demands, credit, grant=grant))


def check_witness(witness, grant):
    """Tasks of a counterexample are those of the oracles."""
    assert witness["tasks"] == exact(witness["demands"], witness["credit_factor"], grant)
    assert witness["drf_tasks"] == exact(witness["demands"], witness["credit_factor"], "drf")
    assert witness["k"] == len(witness["demands"])
    assert all(isinstance(x, Fraction) for row in witness["demands"] for x in row)


@pytest.mark.parametrize(("statement", "grant"), ALL)
def test_status_with_up_to_three_nodes(statement, grant):
    result = settle(statement, 3, 2, grant=grant)
    assert result.status == ("holds" if grant in HOLDS[statement] else "refuted")
    assert result.unknown == 0
    if result.status == "holds":
        assert result.premises_satisfiable
        assert result.witness is None
        assert result.unsat == result.cases > result.vacuous
        # Nothing here needs more than that products grow in each factor.
        assert result.method == "linear relaxation"
    else:
        assert result.sat == 1
        check_witness(result.witness, grant)


@pytest.mark.parametrize(("statement", "grant"), ALL)
def test_true_products_agree_with_up_to_two_nodes(statement, grant):
    result = settle(statement, 2, 2, grant=grant, method="nonlinear")
    assert result.status == ("holds" if grant in HOLDS[statement] else "refuted")
    assert result.method == "nonlinear"
    if result.witness is not None:
        check_witness(result.witness, grant)


@pytest.mark.parametrize(("statement", "grant", "mutant", "n"), CAUGHT)
def test_every_encoding_fails_on_a_mutant(statement, grant, mutant, n):
    assert settle(statement, n, 2, grant=grant, mechanism=mutant).status == "refuted"


def test_every_statement_and_every_mutant_is_shown_to_matter():
    assert set(HOLDS) == set(STATEMENTS)
    assert {(statement, grant) for statement, grant, _, _ in CAUGHT} == {
        (statement, grant) for statement, grants in HOLDS.items() for grant in grants
    }
    assert {mutant for _, _, mutant, _ in CAUGHT} == set(MECHANISMS) - {"cbdrf"}


def test_a_mutant_that_breaks_nothing_here_is_not_blamed():
    # Ignoring the record leaves DRF, which is strategy-proof and Pareto optimal.
    for statement in ("strategy_proofness", "pareto_optimality"):
        assert settle(statement, 2, 2, grant="scaled", mechanism="credit_ignored").status == "holds"


def test_impossible_premises_are_counted():
    alone = settle("punitive_in_company", 1, 2, grant="capped")
    assert (alone.status, alone.premises_satisfiable, alone.vacuous, alone.cases) == ("vacuous", False, 1, 1)
    result = settle("punitive_in_company", 3, 2, grant="capped")
    assert (result.status, result.premises_satisfiable, result.vacuous, result.cases) == ("holds", True, 1, 6)
    # Envy needs two: there is no case at all.
    nobody = settle("envy_freeness", 1, 2)
    assert (nobody.status, nobody.cases) == ("vacuous", 0)


def test_relaxation_never_refutes():
    assert settle("envy_freeness", 2, 2, method="linear").status == "unknown"


def test_an_answer_does_not_depend_on_what_was_asked_before():
    first = settle("strategy_proofness", 2, 2, grant="capped")
    settle("envy_freeness", 3, 2, grant="weighted")
    assert settle("strategy_proofness", 2, 2, grant="capped") == first


@pytest.mark.parametrize("grant", list(GRANTS))
def test_filling_agrees_with_the_oracles(grant):
    draw = random.Random(14)
    for _ in range(200):
        n, m = draw.randint(1, 4), draw.randint(1, 3)
        demands = []
        for _ in range(n):
            row = [F(draw.randint(1, 6), 6) for _ in range(m)]
            demands.append(tuple(x / max(row) for x in row))
        credit = [F(draw.choice((0, 1, 2, 3, 3)), 3) for _ in range(n)]
        world = cbdrf._World(demands, credit, {}, grant, "cbdrf")
        assert tuple(world.share) == exact(demands, credit, grant)
        assert (world.drf(),) * n == exact(demands, credit, "drf")


@pytest.mark.parametrize(("grant", "mechanism"), list(itertools.product(GRANTS, MECHANISMS)))
def test_encoding_and_plain_arithmetic_define_the_same_shares(grant, mechanism):
    demands = ((F(1), THIRD), (HALF, F(1)), (F(1), F(2, 3)))
    case = cbdrf._Case(STATEMENTS["strategy_proofness"], (3, 2), 3, 2, mechanism, grant)
    for credit in ((F(1), HALF, F(1, 4)), (HALF, HALF, F(0)), (F(1), F(1), F(1)), (F(0), F(0), F(0))):
        world = case.instance(demands, credit, {1: (F(1), F(1, 4))})
        encoded, e = case.assertions(linear=False, negate=False)
        lied = e.lying()
        premises = [*case.fixed(world, negate=False), *encoded, *e.premises]
        shares = [*zip(e.share, world.share, strict=True), *zip(lied, world.granted(lying=True), strict=True)]
        same = z3.And([share == z3.RealVal(str(value)) for share, value in shares])
        assert smt.ask([*premises, same], linear=False, rlimit=10**6).result == "sat"
        assert smt.ask([*premises, z3.Not(same)], linear=False, rlimit=10**6).result == "unsat"


@pytest.mark.parametrize("grant", list(GRANTS))
def test_the_relaxation_is_true_of_real_instances(grant):
    # Whatever an instance gives, the relaxation must allow: its products are given their true values.
    case = cbdrf._Case(STATEMENTS["strategy_proofness"], (2, 1), 2, 2, "cbdrf", grant)
    for credit in ((F(1), HALF), (HALF, F(0)), (F(0), F(0))):
        world = case.instance(((F(1), THIRD), (HALF, F(1))), credit, {0: (F(2, 3), F(1))})
        formulas, e = case.assertions(linear=True, negate=False)
        known = list(zip(e.psi, credit, strict=True))
        for row, values in [*zip(e.d, world.d, strict=True), (e.claim[0], world.claims[0])]:
            known += zip(row, values, strict=True)
        products = [product == base * level for base, level, product in e.products._table.values()]
        truth = [variable == z3.RealVal(str(value)) for variable, value in known]
        assert smt.ask([*formulas, *products, *truth], linear=False, rlimit=10**6).result == "sat"


@pytest.mark.parametrize("argument", ["grant", "mechanism"])
def test_bad_arguments_are_named(argument):
    with pytest.raises(InvalidInput) as caught:
        settle("feasibility", 2, 2, **{argument: "x"})
    assert caught.value.where == argument
