"""The rule of "One level" under the reader's hand computes what the library does, and works without a mouse."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbook as fb
from fairbook.mechanisms.pool.dmfa_srq import raise_lowest
from tests.conftest import ROOT
from tests.visits import SETTLED, press
from tools.chromium import Chromium
from tools.one_level import MECHANISMS, PRESETS, risen, still, user

pytestmark = pytest.mark.browser

SCRIPTS = [(ROOT / "book" / "assets" / name).read_text("utf8") for name in ("explore.js", "one-level.js")]
STYLES = [(ROOT / "book" / "assets" / name).read_text("utf8") for name in ("explore.css", "one-level.css")]
SAID = "document.querySelector('.explore-said').textContent"
State = dict[str, Any]


@pytest.fixture
def shown(chromium: Chromium, tmp_path: Path) -> Iterator[Chromium]:
    """Yield a browser that shows two users of DRF."""
    data = json.dumps({"mechanisms": MECHANISMS, "state": PRESETS["drf"]})
    page = tmp_path / "page.html"
    page.write_text(
        f"<!doctype html><meta charset=utf-8><style>{''.join(STYLES)}</style>"
        f"<script>{'</script><script>'.join(SCRIPTS)}</script>"
        f'<figure class="one-level"><script type="application/json">{data}</script>{still(PRESETS["drf"])}'
        "<figcaption>A <b>caption</b>.</figcaption></figure>",
        encoding="utf8",
    )
    chromium.look(800, still=True)
    assert chromium.open(page.as_uri()).errors == []
    chromium.send("Emulation.setFocusEmulationEnabled", enabled=True)
    yield chromium
    assert chromium.seen().errors == []
    chromium.look()


def drawn(rng: random.Random, kind: str) -> State:
    """Draw users who have all that a mechanism asks for; floors fit, since no user owns more than its part."""
    pool, n = [rng.randint(4, 20), rng.randint(4, 20)], rng.randint(2, 5)
    needs = [(rng.choice((0.001, 1, 2, 3, 4)), rng.randint(0, 4)) for _ in range(n)]
    users = [user(name, need, weight=rng.randint(1, 4)) for name, need in zip("ABCDE", needs, strict=False)]
    total = sum(one["weight"] for one in users)
    for one in users:
        part = one["weight"] / total / max(d / size for d, size in zip(one["need"], pool, strict=True))
        if kind == "virtual_cluster":
            part = pool[0] / n
        one |= {"floor": rng.choice((0, 0.5, 1)) * part, "start": rng.choice((0, 0, 0.4, 2)) * part}
        one |= {"lid": rng.choice((None, 1.1, 2)), "credit": rng.choice((0, 0.3, 0.7, 1))}
        one["lid"] = one["lid"] and one["lid"] * part
        if kind == "virtual_cluster":
            one["lid"] = one["lid"] or part * 1.5
    return {"kind": kind, "pool": pool, "users": users}


def allotted(browser: Chromium, states: list[State]) -> list[list[float]]:
    """Give the tasks of each state, as the page computes them."""
    call = "(states => states.map(one => document.querySelector('.one-level').allot(one).users.map(who => who.tasks)))"
    return browser.evaluate(f"{call}({json.dumps(states)})")


def test_it_computes_the_filling_of_the_library_and_every_limit_matters(shown: Chromium) -> None:
    """Random periods of TV-DRF have all of it: weights, floors, lids, late starts and two resources."""
    rng = random.Random(51)
    states = [drawn(rng, "tv_drf") for _ in range(200)]
    without: dict[str, Any] = {
        "floor": lambda one: one | {"users": [who | {"floor": 0} for who in one["users"]]},
        "lid": lambda one: one | {"users": [who | {"lid": None} for who in one["users"]]},
        "late start": lambda one: one | {"users": [who | {"start": 0} for who in one["users"]]},
        "second resource": lambda one: one | {"pool": one["pool"][:1]},
    }
    expected = [risen(one)["tasks"] for one in states]
    for found, tasks in zip(allotted(shown, states), expected, strict=True):
        np.testing.assert_allclose(found, tasks, rtol=1e-9, atol=1e-9)
    for what, drop in without.items():
        others = [drop(one) for one in states]
        found = allotted(shown, others)
        for one, tasks in zip(others, found, strict=True):
            np.testing.assert_allclose(tasks, risen(one)["tasks"], rtol=1e-9, atol=1e-9)
        binds = sum(not np.allclose(*pair, rtol=1e-6) for pair in zip(found, expected, strict=True))
        assert binds >= 50, (what, binds)


def by_mechanism(state: State) -> Any:
    """Give the tasks that the mechanism's own function allocates."""
    kind, pool = state["kind"], np.array(state["pool"], float)
    need, weight, floor, lid, credit = (
        np.array([np.inf if one[key] is None else one[key] for one in state["users"]], float)
        for key in ("need", "weight", "floor", "lid", "credit")
    )
    if kind == "drf":
        return fb.drf(need, weights=weight, capacities=pool, min_tasks=floor, max_tasks=lid).tasks
    if kind == "virtual_cluster":
        part = np.minimum(floor / lid, 1)
        return fb.virtual_cluster(lid, 1 - part, pool[:1], method="spanning", whole=False).vms
    if kind != "dmfa_srq":
        grant = {"cbdrf": "capped", "cbdrf_scaled": "scaled"}[kind]
        return fb.grant_tasks(need, credit, capacities=pool, grant=grant).tasks
    rate = weight / weight.sum() / (need / pool).max(axis=1)
    levels = dict(enumerate((floor / rate).tolist()))
    raise_lowest(levels, (need / pool * rate[:, None]).tolist(), (1 - floor @ (need / pool)).tolist())
    return rate * list(levels.values())


@pytest.mark.parametrize("kind", [kind for kind in MECHANISMS if kind != "tv_drf"])
def test_it_computes_what_the_mechanism_allocates(kind: str, shown: Chromium) -> None:
    rng = random.Random(kind)
    states = [drawn(rng, kind) for _ in range(60)]
    for found, one in zip(allotted(shown, states), states, strict=True):
        np.testing.assert_allclose(found, by_mechanism(one), rtol=1e-9, atol=1e-9)


def test_a_period_of_tv_drf_is_the_library_s_second_one(shown: Chromium) -> None:
    """What was received, and what is owed, are those of a first period of the same tasks."""
    rng, states, expected = random.Random(2019), [], []
    for _ in range(60):
        one = drawn(rng, "tv_drf")
        need, pool = np.array([who["need"] for who in one["users"]], float), np.array(one["pool"], float)
        weight = np.array([who["weight"] for who in one["users"]], float)
        part = weight / weight.sum()
        alone = part / (need / pool).max(axis=1)
        asked = np.array([[rng.choice((0, 0.5, 1, 3)) * a for a in alone] for _ in range(2)])
        run = fb.tv_drf([need, need], asked, [pool], part[:, None], method="lexicographic")
        owed = np.maximum(np.minimum(asked, alone).sum(axis=0) - run.tasks[0], 0)
        limits = zip(one["users"], run.tasks[0].tolist(), owed.tolist(), asked[1].tolist(), strict=True)
        states.append(one | {"users": [who | {"start": s, "floor": f, "lid": u} for who, s, f, u in limits]})
        expected.append(run.tasks[1])
    for found, tasks in zip(allotted(shown, states), expected, strict=True):
        np.testing.assert_allclose(found, tasks, rtol=1e-7, atol=1e-7)


def test_who_leaves_dmfa_srq_takes_its_part_and_the_highest_come_down(shown: Chromium) -> None:
    pool, brought = fb.DmfaSrq(2), [3, 3, 6]
    for i, (need, weight) in enumerate(zip([[1, 0.5], [0.5, 1], [0.5, 1]], brought, strict=True)):
        pool.arrive(i, need, weight)
    shown.evaluate("document.querySelector('[value=dmfa_srq]').click()")
    shown.evaluate(
        f"location.hash = '#level=dmfa_srq;12,12;A,1,.5,3,4,,0,1;B,.5,1,3,4,,0,1;C,.5,1,6,6,,0,1'; {SETTLED}"
    )
    shown.evaluate("document.querySelector('[aria-label=\"remove B\"]').click()")
    pool.depart(1, contribution="leaves")
    a, c = pool.levels * [3, 6]
    assert f"A runs {a:.3g}".rstrip("0") in shown.evaluate(SAID)
    assert f"C {c:.3g}".rstrip("0") in shown.evaluate(SAID)


def test_by_keyboard_numbers_are_typed_and_users_come_and_go(shown: Chromium) -> None:
    assert shown.evaluate(SAID).startswith("A runs 3 tasks and B 2. CPU is full and stops A and B.")
    shown.evaluate("document.querySelector('[name=\"0.need.1\"]').select()")
    press(shown, "2", 50, "2")
    assert shown.evaluate(SAID).startswith("A runs 4.5 tasks (before: 3) and B 1.5 (before: 2).")
    shown.evaluate("document.querySelector('[name=add]').focus()")
    press(shown, "Enter", 13, "\r")
    address, said = shown.evaluate("location.hash"), shown.evaluate(SAID)
    assert address == "#level=drf;9,18;A,1,2,1,0,,0,1;B,3,1,1,0,,1,0.5;C,2,2,1,0,,0,1"
    shown.evaluate("document.querySelector('[aria-label=\"remove B\"]').focus()")
    press(shown, " ", 32, " ")
    assert " B " not in shown.evaluate(SAID)
    shown.evaluate(f"location.hash = {address!r}; {SETTLED}")
    assert shown.evaluate(SAID).split(". ", 1)[1] == said.split(". ", 1)[1]
    shown.evaluate("document.querySelector('[name=pour]').focus()")
    press(shown, "ArrowLeft", 37)
    assert shown.evaluate(SAID).endswith("The water still rises under A, B and C. Idle: 0.09 cores and 8.1 GB.")


def test_what_is_no_number_changes_nothing_and_an_unreadable_address_neither(shown: Chromium) -> None:
    said = shown.evaluate(SAID)
    weight = "document.querySelector('[name=\"0.weight\"]')"
    for typed in ("", "-1"):
        shown.evaluate(f"{weight}.value = {typed!r}; {weight}.dispatchEvent(new Event('input', {{ bubbles: true }}))")
        assert shown.evaluate(SAID) == said
    for address in ("#level=", "#level=drf;9,x;A,1", "#level=%ff", "#level=none;9;A,1,1,1,0,,0,1"):
        shown.evaluate(f"location.hash = {address!r}; {SETTLED}")
        assert shown.evaluate(SAID) == said


def test_floors_that_do_not_fit_and_users_without_need_are_told(shown: Chromium) -> None:
    for users, said in (
        ("A,0,4,1,0,,0,1;B,3,1,1,0,,0,1", "A runs 0 tasks (before: 3) and B 3 (before: 2). CPU is full and stops B."),
        ("A,1,4,1,5,,0,1;B,3,1,1,2,,0,1", "These floors do not fit: of CPU they take 11, and there is 9."),
    ):
        shown.evaluate(f"location.hash = '#level=drf;9;{users}'; {SETTLED}")
        assert said in shown.evaluate(SAID)


@pytest.mark.parametrize("name", PRESETS)
def test_without_scripts_and_on_paper_the_preset_stands_there(name: str, shown: Chromium) -> None:
    state = PRESETS[name]
    np.testing.assert_allclose(allotted(shown, [state])[0], risen(state)["tasks"], rtol=1e-9)
    html = still(state)
    assert html.count("<tr>") == 1 + len(state["users"]) == 1 + html.count("<text")
    visible = "['.still', '.level-form'].map(one => document.querySelector(one).checkVisibility())"
    assert shown.evaluate(visible) == [False, True]
    shown.send("Emulation.setEmulatedMedia", media="print")
    assert shown.evaluate(visible) == [True, False]
    shown.send("Emulation.setEmulatedMedia", media="")
