"""Water filling under the reader's hand shows what the library computes, by mouse and keyboard, and stays a picture."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fairbook as fb
from tests.conftest import ROOT
from tests.visits import SETTLED, press
from tools.chromium import Chromium

pytestmark = pytest.mark.browser

SCRIPT = (ROOT / "book" / "assets" / "water-filling.js").read_text("utf8")
FIGURE = '<figure class="water-filling"><img alt="The fallback."><figcaption>A <b>caption</b>.</figcaption></figure>'
SET = """((teams, level) => {
  const form = document.querySelector(".water-filling-form"), fields = form.elements;
  teams.forEach((team, i) => ["cpu", "memory", "weight"].forEach((key, j) => { fields[key + i].value = team[j]; }));
  fields.level.value = level;
  form.dispatchEvent(new Event("input"));
  const said = form.querySelector(".water-filling-outcome");
  return [JSON.parse(said.dataset.tasks), said.textContent];
})"""


@pytest.fixture
def pool(chromium: Chromium, tmp_path: Path) -> Iterator[Chromium]:
    """Yield a browser that shows the tanks."""
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><script>{SCRIPT}</script>{FIGURE}", encoding="utf8")
    chromium.look(800, still=True)
    seen = chromium.open(page.as_uri())
    assert seen.errors == []
    yield chromium
    assert chromium.seen().errors == []
    chromium.look()


def test_it_pours_what_the_library_allocates(pool: Chromium) -> None:
    draw = random.Random(5)
    for _ in range(150):
        teams = [[draw.choice([0, 0, 1, 2, 3, 4, 5, 6]) for _ in range(2)] + [draw.randint(1, 4)] for _ in range(3)]
        if not any(team[0] or team[1] for team in teams):
            continue
        asking = [team for team in teams if team[0] or team[1]]
        expected = fb.drf([team[:2] for team in asking], weights=[team[2] for team in asking], capacities=[9, 18])
        tasks, said = pool.evaluate(f"{SET}({json.dumps(teams)}, 100)")
        shown = [amount for amount, team in zip(tasks, teams, strict=True) if team[0] or team[1]]
        np.testing.assert_allclose(shown, expected.tasks, rtol=1e-9)
        for i, name in enumerate(name for name, team in zip("ABC", teams, strict=True) if team[0] or team[1]):
            stop = ("CPU", "memory")[expected.bottlenecks[i]]
            assert f"{name} runs" in said, (teams, said)
            assert f"{stop} is full and stops" in said, (teams, said)


def test_half_way_all_are_at_one_level(pool: Chromium) -> None:
    tasks, said = pool.evaluate(f"{SET}([[1, 4, 1], [3, 1, 2], [0, 0, 1]], 50)")
    assert tasks[0] * 4 / 18 == pytest.approx(tasks[1] * 3 / 9 / 2)
    assert said.endswith("A and B still rise.")


def test_examples_sliders_and_pouring_work_by_keyboard(pool: Chromium) -> None:
    form = "document.querySelector('.water-filling-form')"
    assert pool.evaluate(f"{form}.querySelector('[aria-pressed=true]').value") == "Two teams"
    pool.send("Emulation.setFocusEmulationEnabled", enabled=True)
    pool.evaluate(f"{form}.querySelector('[value=\"Three teams\"]').focus()")
    press(pool, "Enter", 13, "\r")
    assert pool.evaluate(f"{form}.querySelector('[aria-pressed=true]').value") == "Three teams"
    pool.evaluate(f"{form}.elements.level.focus()")
    press(pool, "ArrowLeft", 37)
    assert "still rise" in pool.evaluate(f"{form}.querySelector('.water-filling-outcome').textContent")
    pool.evaluate(f"{form}.elements.pour.click()")
    assert "still rise" not in pool.evaluate(f"{form}.querySelector('.water-filling-outcome').textContent")
    address = pool.evaluate("location.hash")
    assert address == "#water-1=1,4,1;3,1,1;2,2,1@99"
    pool.evaluate(f"{form}.querySelector('[value=\"Two teams\"]').click()")
    pool.evaluate(f"location.hash = {address!r}; {SETTLED}")
    assert pool.evaluate(f"{form}.querySelector('[aria-pressed=true]').value") == "Three teams"
    nameless = f"[...{form}.querySelectorAll('input')].filter(i => !i.labels.length).length"
    assert pool.evaluate(nameless) == 0
    assert pool.evaluate("document.querySelector('.water-filling').textContent").strip().endswith("A caption.")


def test_where_one_needs_only_what_is_left_it_goes_on_when_the_others_have_stopped(pool: Chromium) -> None:
    """What the caption in Foundations says of the last example."""
    form = "document.querySelector('.water-filling-form')"
    pool.evaluate(f"{form}.querySelector('[value=\"C needs no memory\"]').click()")
    said = pool.evaluate(f"{form}.querySelector('.water-filling-outcome').textContent")
    assert "memory is full and stops A and B" in said
    assert "CPU is full and stops C" in said
