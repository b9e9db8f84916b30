"""The forms that remember, one table: what is saved goes on digit for digit, what was not saved is refused."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from tests.strategies import random_arrivals

PHASES = np.random.default_rng(9).uniform(0.1, 1, (8, 3, 2))
Step = Callable[[Any], Any]


def _arrivals(departures: int = 3, names: Any = 2) -> fb.DmfaSrq:
    demands, weights = random_arrivals(np.random.default_rng(0), 12, 2, decades=1)
    pool = fb.DmfaSrq(names)
    for row, weight in zip(demands, weights, strict=True):
        pool.arrive(row, weight)
    for user in range(departures):
        pool.depart(user, "stays" if user % 2 else "leaves")
    return pool


def _more_arrivals(pool: fb.DmfaSrq) -> list[Any]:
    demands, weights = random_arrivals(np.random.default_rng(1), 20, 2, decades=3)
    found = [pool.arrive(row, weight) for row, weight in zip(demands, weights, strict=True)]
    for user in pool.users[::3]:
        pool.depart(user)
    return [found, pool.tasks.tolist(), pool.to_json()]


def _credits(granted: bool = True, **terms: Any) -> fb.CbDrf:
    pool = fb.CbDrf(["ann", "bob", "cyd"], pd.Series([9.0, 18.0], ["cpu", "memory"]),
                    **{"credit_cap": 1.0, "held": "stays", "rho": [0.5, 0.6, 0.7], **terms})
    for demands in PHASES[:3]:
        pool.allocate(demands)
        pool.release([1.0, 0.5, 0.1])
    if granted:
        pool.allocate(PHASES[3])
    return pool


def _more_phases(pool: fb.CbDrf) -> list[Any]:
    if json.loads(pool.to_json())["granted"]:
        pool.release(0.6)
    return [pool.allocate(PHASES[4]).tasks.tolist(), pool.to_json()]


def _karma() -> fb.Karma:
    pool = fb.Karma(["ann", "bob", "cyd"], pd.Series([9.0, 18.0], ["cpu", "memory"]), initial_credit=2)
    pool.allocate(PHASES[0])
    return pool


class Form(NamedTuple):
    """One stateful mechanism."""

    made: Callable[[], Any]
    go_on: Callable[[Any], list[Any]]
    """What it gives in further events, all digits."""
    arrays: tuple[str, ...]
    """What can be read."""
    misuse: tuple[tuple[Step, str], ...]
    """Events that are refused, each with the argument that is to blame."""
    unkept: tuple[tuple[Step, str], ...]
    """Pools with names that JSON cannot keep."""
    certified: tuple[str, ...]
    """Keys of which no number can be changed even a little."""
    may: tuple[tuple[str, Any], ...] = ()
    """Odd values that a key may have."""


FORMS = {
    "DmfaSrq": Form(
        _arrivals, _more_arrivals, ("tasks", "levels", "slack"),
        ((lambda p: p.arrive([1.0], 1.0), "demand"), (lambda p: p.arrive([1.0, math.nan], 1.0), "demand"),
         (lambda p: p.arrive([0.0, 0.0], 1.0), "demand"), (lambda p: p.arrive([1.0, 1.0], 0.0), "weight"),
         (lambda p: p.arrive([1.0, 1.0], 1.0, user=["a"]), "user"), (lambda p: p.arrive([1, 1], 1, user=5), "user"),
         (lambda p: p.depart("nobody"), "user"), (lambda p: p.depart(5, "goes"), "contribution")),
        ((lambda _: fb.DmfaSrq([("a", 1)]), "resources"),),  # type: ignore[list-item]
        ("demands", "weights", "start", "level", "rate", "slack", "left_behind"), (("arrivals", 10**12),)),
    "CbDrf, granted": Form(
        _credits, _more_phases, ("credit", "credit_factor", "pool", "capacities"),
        ((lambda p: p.allocate(PHASES[0]), "demands"), (lambda p: p.release(1.1), "ratios"),
         (lambda p: p.release(pd.Series([1, 1, 1], ["x", "y", "z"])), "ratios"),
         (lambda p: p.release(1.0, rho=np.ones((3, 2))), "rho")),
        ((lambda _: fb.CbDrf([("a", 1)], [1.0]), "nodes"),
         (lambda _: fb.CbDrf(["a"], [1.0], resources=[("r", 1)]), "resources")),
        ("tasks",), (("resources", None), ("granted", True), ("phase", 10**12))),
    "CbDrf, waiting": Form(
        lambda: _credits(granted=False), _more_phases, ("credit", "credit_factor", "pool", "capacities"),
        ((lambda p: p.release(1.0), "ratios"), (lambda p: p.allocate(-PHASES[0]), "demands"),
         (lambda p: p.allocate(PHASES), "demands"), (lambda p: p.allocate("x"), "demands")),
        (), (), (("resources", None), ("granted", False), ("phase", 10**12))),
    "Karma": Form(
        _karma, lambda pool: [pool.allocate(PHASES[1]).tasks.tolist(), pool.to_json()], ("credit", "capacities"),
        ((lambda p: p.allocate(PHASES[0][:2]), "demands"), (lambda p: p.allocate(-PHASES[0]), "demands"),
         (lambda p: p.allocate(PHASES[0], [1, 1]), "max_tasks"),
         (lambda p: p.allocate(PHASES[0], [-1, 1, 1]), "max_tasks")),
        ((lambda _: fb.Karma([("a", 1)], [1.0]), "users"),), (),
        (("resources", None), ("phase", 1), ("phase", 10**12), ("alpha", 1), ("alpha", 0.5))),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def state(form: Form) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(form.made().to_json())
    return parsed


def refused(form: Form, text: Any) -> fb.InvalidInput:
    with pytest.raises(fb.InvalidInput) as caught:
        type(form.made()).from_json(text if isinstance(text, (str, bytes)) or text is None else json.dumps(text))
    return caught.value


@each_form
def test_what_is_restored_or_copied_goes_on_digit_for_digit(form: Form) -> None:
    pool = form.made()
    text = pool.to_json()
    twins = [type(pool).from_json(text), type(pool).from_json(text.encode()), copy.deepcopy(pool)]
    expected = form.go_on(pool)
    assert expected[-1] != text
    for twin in twins:
        assert twin.to_json() == text
        assert form.go_on(twin) == expected


@each_form
def test_what_is_read_cannot_change_it(form: Form) -> None:
    pool = form.made()
    before = pool.to_json()
    for name in form.arrays:
        array = getattr(pool, name)
        array *= 2
    assert pool.to_json() == before


@each_form
def test_misuse_changes_nothing(form: Form) -> None:
    pool = form.made()
    before = pool.to_json()
    for step, argument in form.misuse:
        with pytest.raises(fb.InvalidInput) as caught:
            step(pool)
        assert caught.value.argument.startswith(argument), caught.value
        assert pool.to_json() == before
    form.go_on(pool)


@each_form
def test_names_that_json_cannot_keep_are_refused(form: Form) -> None:
    for make, argument in form.unkept:
        with pytest.raises(fb.InvalidInput, match=f"^{argument}"):
            make(None).to_json()


JUNK: list[Any] = [None, True, "", "x", "1", -1, 1, 0.5, 1e400, math.nan, 10**12, 10**400, [], {}, [[]], [None],
                   ["a", "a", "b"], [True], [1, 2, 3, 4], [[1], [1, 2]], [[["deep"]]], {"a": 1}]


@each_form
def test_a_state_with_another_key_or_value_is_refused(form: Form) -> None:
    good = state(form)
    for key, value in good.items():
        refused(form, {name: one for name, one in good.items() if name != key})
        refused(form, {**good, key + "_": 1})
        for junk in JUNK:
            if not any(key == name and type(junk) is type(odd) and junk == odd for name, odd in form.may):
                refused(form, {**good, key: junk})
        for part in value if isinstance(value, dict) else ():
            refused(form, {**good, key: {name: one for name, one in value.items() if name != part}})
            refused(form, {**good, key: {**value, part + "_": 1}})
            refused(form, {**good, key: {**value, part: [["deep"]]}})


def altered(value: Any, change: Callable[[Any], Any]) -> list[Any]:
    """Give the value once for each number in it, with that number changed."""
    if isinstance(value, list):
        return [[*value[:i], new, *value[i + 1 :]] for i, part in enumerate(value) for new in altered(part, change)]
    return [change(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


IMPOSSIBLE: tuple[Callable[[Any], Any], ...] = (
    lambda x: -x - 1, lambda x: math.nan, lambda x: math.inf, str, lambda x: None, lambda x: [x], bool, lambda x: 1e99)


@each_form
def test_an_impossible_number_or_a_lost_part_is_refused(form: Form) -> None:
    good = state(form)
    for key, value in good.items():
        for change in IMPOSSIBLE if isinstance(value, list) and key not in ("users", "nodes", "resources") else ():
            for wrong in altered(value, change):
                refused(form, {**good, key: wrong})
        for i in range(len(value)) if isinstance(value, list) else ():
            refused(form, {**good, key: value[:i] + value[i + 1 :]})
            refused(form, {**good, key: value[:i] + [value[i]] + value[i:]})
    for key in form.certified:
        for wrong in altered(good[key], lambda x: x * 1.0001 + 0.0001):
            refused(form, {**good, key: wrong})


@each_form
def test_text_that_is_no_state_is_refused(form: Form) -> None:
    text = form.made().to_json()
    for end in range(0, len(text), 7):
        refused(form, text[:end])
    for bad in (None, "null", "[]", "3", "{}", "[" * 100_000, b"\xff\xfe\x00", text + "}", text.replace("/1", "/2", 1)):
        refused(form, bad)
