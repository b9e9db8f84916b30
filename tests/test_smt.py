"""Statements settled by the solver: the statuses, the witnesses, and that every encoding can fail."""

import sys
from fractions import Fraction

import pytest

from fairbook.errors import InvalidInput, MissingDependency

z3 = pytest.importorskip("z3")

from book.common import smt  # noqa: E402
from book.dmfa_srq import smt as dmfa_srq  # noqa: E402
from book.dmfa_srq.oracle import exact_levels  # noqa: E402
from book.dmfa_srq.smt import STATEMENTS, is_violated, settle  # noqa: E402

#: What no mechanism has: the others must fail on some mutant.
REFUTED = {"lemma_4_any", "theorem_1_whole_pool", "theorem_3_printed", "weight_order", "harmless_lie"}
CAUGHT = [(name, mutant, n) for name, entry in STATEMENTS.items() for mutant, n in entry.caught.items()]


def levels(weights, demands):
    """Levels after each step from the oracle in fractions, which knows neither the encoding nor a solver."""
    lowest = exact_levels(demands, weights)
    return tuple(tuple(max(lowest[i:k]) for i in range(k)) for k in range(1, len(lowest) + 1))


def test_the_encoded_step_is_the_optimum():
    # That the statements of the paper hold is asked of its claims.
    result = settle("optimality", 3, 2)
    assert result.status == "holds"
    assert result.premises_satisfiable
    assert result.unsat == result.cases > result.vacuous
    assert result.witness is None


@pytest.mark.parametrize("statement", ["lemma_1", "theorem_1", "equation_5"])
def test_falls_with_zero_demands(statement):
    result = settle(statement, 2, 2, demands="nonnegative")
    assert result.status == "refuted"
    witness = result.witness
    assert any(x == 0 for row in witness["demands"] for x in row)
    # One user's resource is left over at the end, though the user has a use for it and for nothing else.
    y = levels(witness["weights"], witness["demands"])[-1]
    used = [
        sum(w * d[j] * level for w, d, level in zip(witness["weights"], witness["demands"], y, strict=True))
        for j in (0, 1)
    ]
    assert any(
        all(use < sum(witness["weights"]) for use, x in zip(used, row, strict=True) if x > 0)
        for row in witness["demands"]
    )


def test_lemma_4_is_refuted_at_a_later_t_by_a_witness_checked_by_hand():
    result = settle("lemma_4_any", 3, 2)
    witness = result.witness
    assert result.status == "refuted"
    assert witness["weights"] == (1, 1, 1)
    assert witness["demands"] == ((1, 1), (1, Fraction(1, 2)), (Fraction(1, 2), 1))
    assert witness["claims"] == {1: (Fraction(1, 2), 1)}
    assert (witness["t"], witness["i"]) == (3, 1)
    told = (witness["claims"][1], *witness["demands"][1:])
    assert levels(witness["weights"], witness["demands"]) == witness["levels"]
    assert levels(witness["weights"], told) == witness["levels_under_lie"]
    assert witness["levels"] == ((1,), (1, 1), (Fraction(6, 5),) * 3)
    assert witness["levels_under_lie"] == ((1,), (Fraction(4, 3),) * 2, (Fraction(4, 3), Fraction(4, 3), 1))
    assert settle("lemma_4_any", 2, 2).status == "holds"


@pytest.mark.parametrize(
    ("statement", "n"),
    [("theorem_1_whole_pool", 2), ("theorem_3_printed", 2), ("weight_order", 3)],
)
def test_refuted_readings_have_witnesses_that_plain_arithmetic_confirms(statement, n):
    result = settle(statement, n, 2)
    assert result.status == "refuted"
    assert is_violated(statement, result.witness)
    assert levels(result.witness["weights"], result.witness["demands"]) == result.witness["levels"]


@pytest.mark.parametrize(("statement", "mutant", "n"), CAUGHT)
def test_every_encoding_fails_on_a_mutant(statement, mutant, n):
    assert settle(statement, n, 2, mechanism=mutant).status == "refuted"


def test_every_statement_can_fail():
    assert set(STATEMENTS) - REFUTED == {name for name, _, _ in CAUGHT}
    assert {mutant for _, mutant, _ in CAUGHT} == set(dmfa_srq.MECHANISMS) - {"dmfa_srq"}


@pytest.mark.parametrize("statement", ["lemma_1", "lemma_4_rises", "theorem_1", "theorem_4", "equation_5"])
def test_true_products_and_relaxation_agree(statement):
    direct, relaxed = (settle(statement, 2, 2, method=how) for how in ("nonlinear", "linear"))
    assert direct.status == relaxed.status == "holds"
    assert direct.cases > relaxed.cases


def test_a_limit_that_is_too_low_gives_unknown_not_a_verdict():
    assert settle("theorem_4", 2, 2, method="nonlinear", rlimit=100).status == "unknown"


def test_the_rule_of_the_relaxation_is_true_of_products():
    b, r, s = z3.Reals("b r s")
    rules = smt.monotone(b, r, b * r, s, b * s)
    answer = smt.ask([b >= 0, r >= 0, s >= 0, z3.Not(z3.And(rules))], linear=False, rlimit=10**6)
    assert answer.result == "unsat"
    # And it says something: without it the products are free.
    assert smt.ask([b >= 0, r >= 0, s >= 0, z3.And(rules)], linear=False, rlimit=10**6).result == "sat"


def test_levels_agree_with_the_oracle_and_with_the_paper_example():
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    demands = ((1, half), (half, 1), (half, 1))
    weights = (quarter, quarter, half)
    world = dmfa_srq._World(weights, tuple(tuple(map(Fraction, row)) for row in demands), {}, "dmfa_srq")
    x = [tuple(w * world.truth[i, k] for i, w in enumerate(weights[:k])) for k in (1, 2, 3)]
    assert x == [(quarter,), (Fraction(1, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(1, 3), half)]
    assert levels(weights, demands)[-1] == tuple(world.truth[i, 3] for i in range(3))


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"statement": "theorem_9"}, "statement"),
        ({"n": 0}, "n"),
        ({"m": True}, "m"),
        ({"demands": "any"}, "demands"),
        ({"mechanism": "x"}, "mechanism"),
        ({"mechanism": "first_resource", "demands": "nonnegative"}, "mechanism"),
        ({"method": "x"}, "method"),
        ({"rlimit": 0}, "rlimit"),
    ],
)
def test_bad_arguments_are_named(change, argument):
    with pytest.raises(InvalidInput) as caught:
        settle(**{"statement": "theorem_2", "n": 2, "m": 2} | change)
    assert caught.value.where == argument


def test_without_the_solver_the_message_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(MissingDependency, match="z3-solver"):
        settle("theorem_2", 2, 2)


@pytest.mark.parametrize("mechanism", list(dmfa_srq.MECHANISMS))
@pytest.mark.parametrize("demands", ["positive", "nonnegative"])
def test_encoding_and_plain_arithmetic_define_the_same_levels(mechanism, demands):
    if mechanism == "first_resource" and demands == "nonnegative":
        pytest.skip("divides by demands that may be zero")
    least = 0 if demands == "nonnegative" else Fraction(1, 3)
    rows = ((1, least), (Fraction(1, 2), 1), (1, Fraction(2, 3)))
    claims = {1: (1, Fraction(1, 4))}
    case = dmfa_srq._Case(STATEMENTS["theorem_4"], (3, 2), 3, 2, mechanism, demands == "nonnegative")
    exact = [tuple(map(Fraction, row)) for row in rows]
    told = {i: tuple(map(Fraction, row)) for i, row in claims.items()}
    world = dmfa_srq._World([Fraction(w) for w in (1, 2, 1)], exact, told, mechanism)
    premises = case.fixed(world, negate=False)
    same = []
    for name, known in (("y", world.truth), ("z", world.run(lying=True))):
        # Before the liar arrives both runs share their variables.
        same += [
            z3.Real(f"{name}{i + 1}_{k}") == z3.RealVal(str(level))
            for (i, k), level in known.items()
            if name == "y" or k >= 2
        ]
    assert smt.ask([*premises, *same], linear=False, rlimit=10**6).result == "sat"
    assert smt.ask([*premises, z3.Not(z3.And(same))], linear=False, rlimit=10**6).result == "unsat"
