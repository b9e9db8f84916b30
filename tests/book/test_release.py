"""Best responses: dynamic programming against the closed form, and against playing every sequence on the mechanism."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from book.cbdrf.release import best_response, largest_worth, search_release, worth_threshold
from fairbook.errors import InvalidInput
from fairbook.mechanisms.credit.credit_rule import CreditRule

RULES = st.builds(
    lambda rho, down, up: CreditRule(rho=rho / 20, step_down=down / 20, step_up=min(up, down) / 20),
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(1, 20),
)
TWO_KINDS = [[1.0, 0.25], [0.25, 1.0]]


@settings(max_examples=15, deadline=None)
@given(rule=RULES)
def test_the_threshold_separates(rule: CreditRule) -> None:
    limit = worth_threshold(rule, discount=0.9)
    assert best_response(rule, worth=min(limit * 0.999, 1e3), discount=0.9).releases
    if limit < 1e3:
        assert not best_response(rule, worth=limit * 1.001, discount=0.9).releases


@pytest.mark.parametrize("grant", ["scaled", "weighted", "capped"])
@pytest.mark.parametrize("worth", [0.0, 0.3, 1.0])
def test_playing_every_sequence_finds_no_more_than_dynamic_programming(grant: str, worth: float) -> None:
    rule = CreditRule(step_down=0.4, step_up=0.2, grant=grant)
    played = search_release(rule, TWO_KINDS, worth=worth, discount=0.9, phases=5, tail=0)
    programmed = best_response(rule, worth=worth, discount=0.9, phases=5, demands=TWO_KINDS)
    assert played.value == pytest.approx(programmed.value, rel=1e-12)
    assert played.complying == pytest.approx(programmed.complying, rel=1e-12)
    if worth > 0:
        np.testing.assert_allclose(played.ratios, programmed.ratios)


def test_the_last_of_a_known_number_of_phases_is_held() -> None:
    found = best_response(CreditRule(step_down=1.0), worth=0.01, discount=1.0, phases=7)
    assert found.ratios.tolist() == [0.75] * 6 + [0.0]


def test_banked_credit_is_spent() -> None:
    found = best_response(CreditRule(credit_cap=None), worth=0.1, discount=1.0, phases=8)
    assert (found.ratios == 0).sum() == 4
    assert found.value == pytest.approx(8 + 0.1 * (4 + 4 * 0.25))  # psi is 1 throughout: nothing is lost


def test_holding_costs_oneself_where_it_stays() -> None:
    returns, stays = (
        search_release(CreditRule(held=held), [[1.0], [1.0]], worth=0.5, phases=4, tail=40)
        for held in ("returns", "stays")
    )
    assert returns.gain > 0.01
    assert stays.releases


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: best_response(CreditRule(credit_cap=None), worth=0.5), "phases"),
        (lambda: best_response(CreditRule(step_up=1e-4, step_down=3e-5), worth=0.5), "rule"),
        (lambda: worth_threshold(CreditRule(grant="capped")), "rule"),
        (lambda: worth_threshold(CreditRule(credit_cap=None)), "rule"),
        (lambda: worth_threshold(CreditRule(), discount=1.0), "discount"),
        (lambda: largest_worth(CreditRule(credit_cap=None)), "phases"),
    ],
)
def test_bad_input_is_named(call: object, argument: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()  # type: ignore[operator]
    assert caught.value.where == argument


def test_the_closed_form_for_tiny_steps_up_is_that_without() -> None:
    tiny, none = (worth_threshold(CreditRule(step_up=up)) for up in (1e-12, 0.0))
    assert tiny == pytest.approx(none, rel=1e-9)


def test_the_numbers_that_the_pages_say_in_words() -> None:
    equal, slow = CreditRule(), CreditRule(step_up=0.01)
    assert round(worth_threshold(equal), 3) == 0.137
    assert worth_threshold(equal, discount=1 - 1e-9) == pytest.approx(4 / 29)
    assert round(worth_threshold(slow), 3) == 0.855
    shown = worth_threshold(CreditRule(rho=0.9, step_down=0.155, step_up=0.0155))
    assert 1 < shown < 1.01
