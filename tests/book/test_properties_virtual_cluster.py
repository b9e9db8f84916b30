"""Properties of virtual clusters: engine against judge, rules that break them, and cases worked by hand."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from book.common.claims.registry import QUICK, Mechanism, Part, claims
from book.virtual_cluster import properties as props
from book.virtual_cluster.judging import search_claim
from book.virtual_cluster.properties import BROKEN, RULES, Case, Outcome, Tariff

HALF = Fraction(1, 2)
ANY = Mechanism("any", lambda *_: None)


def test_broken_rules_are_broken() -> None:
    case = Case((4, 4), (Fraction(0), Fraction(1)), (5,), whole=False)
    assert RULES["pool"](case).vms == (4, 1)
    assert BROKEN["in proportion"](case).vms == (Fraction(5, 2), Fraction(5, 2))  # below the first's minimum
    assert BROKEN["minima only"](case).vms == (4, 0)
    part = Case((4, 4), (Fraction(1), Fraction(1, 3)), (5,), whole=False)
    assert BROKEN["rule b as printed"](part).vms == (Fraction(7, 3), Fraction(8, 3))
    assert BROKEN["equal numbers"](Case((1, 9), (HALF, HALF), (5,))).vms == (1, 4)


def test_what_users_say_and_pay() -> None:
    case = Case((4, 6), (HALF, Fraction(0)), (9,))
    assert case.minimum == (2, 6)
    assert case.saying(0, tolerance=Fraction(1)).minimum == (0, 6)
    assert case.saying(1, max_vms=5).minimum == (2, 5)
    outcome = Outcome((0, 0), (3, 6))
    assert props.total_cost(case, outcome, Tariff()) == (2 * 2 + 1) + 12
    assert Tariff(Fraction(3), Fraction(0)).cost(4, HALF, 3) == 6
    assert str(case) == "users who want (4, 6) VMs and tolerate (1/2, 0) on clusters of (9)"


def test_all_allocations_of_a_small_case() -> None:
    case = Case((2, 2), (HALF, HALF), (3,))
    assert {outcome.vms for outcome in props.allocations(case)} == {(1, 1), (1, 2), (2, 1)}
    assert max(outcome.level(case) for outcome in props.allocations(case)) == RULES["exact"](case).level(case)


@pytest.mark.parametrize(("key", "vms"), [("tolerance", (2, 1)), ("gap", (2, 1)), ("small", (1, 2))])
def test_free_vms_are_handed_out(key: str, vms: tuple[int, ...]) -> None:
    case = Case((10, 2), (Fraction(9, 10), HALF), (3,))
    assert props.hand_out(case, key) == vms
    assert props.mean_fraction(case, (1, 2)) == Fraction(11, 20)
    assert props.mean_slowdown(case, (1, 2)) == Fraction(11, 2)


def test_a_search_finds_what_is_there_and_counts() -> None:
    seen: set[Case] = set()

    def margin(_: None, case: Case) -> int | None:
        seen.add(case)
        return None if case.whole else 1 - len(case.capacities)

    def says(about: Callable[[Any, Case], Any], name: str) -> Part:
        search_claim(about, 3, id=f"test.{name}", locator="", kind="statement", statement="", mechanism=ANY, mutant=ANY)
        return claims()[f"test.{name}"].check(QUICK, ANY).parts[0]

    found = says(margin, "found")
    assert (found.holds, found.size) == (False, len(seen))
    assert "Violated by 1: users who want" in found.found
    assert says(lambda _, case: None, "silent").holds is None
    held = says(lambda _, case: len(case.capacities) if case.whole else None, "held")
    assert held.holds
    assert f"Searched 500 cases in fractions, {held.size} of them" in held.found
    assert held.found.endswith("the smallest margin is 1.")
