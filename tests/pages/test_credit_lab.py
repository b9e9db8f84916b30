"""The credit laboratory: its numbers are those of the rule, and its controls work."""

import json
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairbook as fb
from tests.conftest import ROOT
from tests.visits import SETTLED, press as strike
from tools.chromium import Chromium

pytestmark = pytest.mark.browser

ASSETS = ROOT / "book" / "assets"
SCRIPTS = [(ASSETS / name).read_text("utf8") for name in ("explore.js", "credit-lab.js")]
STYLE = (ASSETS / "credit-lab.css").read_text("utf8")
PICTURE = "<svg xmlns='http://www.w3.org/2000/svg' width='600' height='300'><rect width='600' height='300'/></svg>"
FIGURE = f"""<figure id="fig"><img alt="The fallback." src="data:image/svg+xml,{PICTURE}">
<figcaption><p>A caption.</p></figcaption></figure>"""
# what MyST-NB makes of a cell with the tag credit-lab
CELL = f"""<div class="cell tag_credit-lab docutils container">
<div class="cell_input docutils container"><pre>draw</pre></div>
<div class="cell_output docutils container">{FIGURE}</div></div>"""

Settings = dict[str, Any]
Rows = list[tuple[float, float, str]]

SET = """(settings => {
  const form = document.querySelector(".credit-lab-form"), fields = form.elements;
  const change = () => form.dispatchEvent(new Event("input"));
  fields.phases.value = settings.phases;
  change();  // a slider cannot be moved past the number of phases
  for (const [name, value] of Object.entries(settings))
    if (name === "capped") fields.capped.checked = value;
    else fields[name].value = value;
  change();
  return (READ)();
})"""
READ = """(() => {
  const cells = [...document.querySelectorAll(".credit-lab-numbers tbody tr")].map(row => [...row.cells].slice(1));
  const number = cell => Number(cell.querySelector("data").value);
  return [0, 3].map(i => cells.map(row => [number(row[i]), number(row[i + 1]), row[i + 2].textContent]));
})"""


def page(folder: Path, body: str) -> str:
    """Write a page with the laboratory's script and style, and return its address."""
    path = folder / "page.html"
    path.write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>A page</title><style>{STYLE}</style><script>{'</script><script>'.join(SCRIPTS)}</script>{body}</html>",
        encoding="utf8",
    )
    return path.as_uri()


@pytest.fixture
def lab(chromium: Chromium, tmp_path: Path) -> Iterator[Chromium]:
    """Yield a browser that shows a laboratory."""
    chromium.look(1000)
    seen = chromium.open(page(tmp_path, CELL))
    assert (seen.errors, seen.failed) == ([], [])
    yield chromium
    chromium.look()
    assert chromium.seen().errors == []


def releases(pattern: str, k: int) -> Callable[[int], bool]:
    return {
        "always": lambda t: True,
        "never": lambda t: False,
        "from": lambda t: t >= k,
        "until": lambda t: t <= k,
        "second": lambda t: t % 2 == 0,
    }[pattern]


def expected(settings: Settings, node: str) -> list[tuple[Fraction, Fraction, str]]:
    """Follow one node through the rule in exact fractions; credit is in units of the initial credit."""
    down, up, floor = (Fraction(settings[name]) for name in ("down", "up", "floor"))
    released = releases(settings[f"pattern-{node}"], settings[f"from-{node}"])
    credit, rows = Fraction(1), []
    for phase in range(1, settings["phases"] + 1):
        factor = min(credit, Fraction(1))
        rows.append((credit, factor, "has nothing" if not factor else "yes" if released(phase) else "no"))
        if not factor or released(phase):
            credit += up
            if settings["capped"]:
                credit = min(credit, Fraction(1))
        else:
            credit = max(credit - down, floor)
    return rows


def drawn(rng: random.Random) -> Settings:
    """Draw settings that the controls allow, decimals as text."""
    phases = rng.choice((10, 20, 40))
    settings: Settings = {
        "phases": phases,
        "capped": rng.random() < 0.5,
        "down": f"{rng.randint(1, 50) / 100:.2f}",
        "up": f"{rng.randint(0, 50) / 100:.2f}",
        "floor": f"{rng.choice((0, 0, rng.randint(0, 50))) / 100:.2f}",
    }
    for node in "ab":
        settings[f"pattern-{node}"] = rng.choice(("always", "never", "from", "until", "second"))
        settings[f"from-{node}"] = rng.randint(1, phases)
    return settings


def put(browser: Chromium, settings: Settings) -> list[Rows]:
    """Set the controls and return the rows of both nodes."""
    return browser.evaluate(f"{SET.replace('READ', READ)}({json.dumps(settings)})")


def press(browser: Chromium, name: str) -> list[Rows]:
    """Press a button and return the rows of both nodes."""
    browser.evaluate(f"document.querySelector('.credit-lab-form button[value=\"{name}\"]').click()")
    return browser.evaluate(f"{READ}()")


def factors(rows: Rows) -> list[float]:
    return [factor for _, factor, _ in rows]


def told(browser: Chromium) -> str:
    return browser.evaluate("document.querySelector('.credit-lab-outcome').textContent").replace("\u00a0", " ")


def test_the_rule_in_fractions_is_the_library_s() -> None:
    rng, demands = random.Random(5), [[2.0, 1.0], [1.0, 3.0]]
    for settings in (drawn(rng) for _ in range(100)):
        phases = range(1, settings["phases"] + 1)
        patterns = [releases(settings[f"pattern-{node}"], settings[f"from-{node}"]) for node in "ab"]
        run = fb.cbdrf(
            np.array([demands for _ in phases]),
            capacities=[10.0, 10.0],
            released=np.array([[float(pattern(phase)) for pattern in patterns] for phase in phases]),
            step_up=float(settings["up"]),
            step_down=float(settings["down"]),
            credit_cap=1.0 if settings["capped"] else None,
            credit_floor=float(settings["floor"]),
        )
        exact = np.array([[float(factor) for _, factor, _ in expected(settings, node)] for node in "ab"]).T
        np.testing.assert_allclose(run.credit_factor, exact, atol=1e-9)
        np.testing.assert_allclose(run.tasks, exact * run.drf_tasks, atol=1e-9)


def test_numbers_are_those_of_the_rule(lab: Chromium) -> None:
    rng = random.Random(2014)
    for settings in (drawn(rng) for _ in range(300)):
        for node, rows in zip("ab", put(lab, settings), strict=True):
            exact = expected(settings, node)
            assert [word for *_, word in rows] == [word for *_, word in exact], (node, settings)
            np.testing.assert_allclose(
                [row[:2] for row in rows], [[float(x) for x in row[:2]] for row in exact], 0, 1e-9
            )


def test_settings_of_the_paper(lab: Chromium) -> None:
    decline, clean = [1 - t / 10 for t in range(10)], [1] * 10
    late = [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.6, 0.7, 0.8, 0.9]
    pressed = "[...document.querySelectorAll('.credit-lab-form button[aria-pressed=true]')].map(b => b.value)"
    assert lab.evaluate(pressed) == ["Figure 5"], "the page starts with the setting of its picture"
    for name, wanted, says in (
        ("Figure 2", (decline, clean), "node A loses 4.5 phases' worth of its DRF amount and ends at 10 %"),
        ("Figure 3", (late,), "node A"),
        ("Figure 4", (decline, decline), "node A"),
        ("Banked credit", (clean, decline), "node A loses nothing and ends at 100 %, with 1.1 times the initial"),
        ("Figure 5", (clean, decline), "node A loses nothing and ends at 100 %;"),
    ):
        rows = press(lab, name)
        assert [factors(one) for one in rows[: len(wanted)]] == [pytest.approx(one) for one in wanted]
        assert says in told(lab)
        assert lab.evaluate(pressed) == [name], "as long as its settings hold"
    put(lab, {"phases": 10, "down": "0.11"})
    assert lab.evaluate(pressed) == []


KEPT = """[...document.querySelectorAll('.credit-lab-phase[aria-checked=true]')].map(
  cell => [Number(cell.dataset.node), Number(cell.dataset.phase)])"""


def test_any_history_is_written_by_clicks_and_keys_and_kept_in_the_address(lab: Chromium) -> None:
    press(lab, "Figure 4")
    assert len(lab.evaluate(KEPT)) == 20
    press(lab, "Figure 5")  # A keeps nothing
    cell = 'document.querySelector(\'.credit-lab-phase[data-node="0"][data-phase="{}"]\')'
    box = lab.evaluate(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({cell.format(3)}.getBoundingClientRect())")
    touched = [{"x": box[0], "y": box[1]}]
    lab.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=touched)
    lab.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    lab.evaluate(SETTLED)
    lab.send("Emulation.setFocusEmulationEnabled", enabled=True)
    lab.evaluate(f"{cell.format(3)}.focus()")
    strike(lab, "ArrowRight", 39)
    strike(lab, " ", 32, " ")
    assert [one for one in lab.evaluate(KEPT) if one[0] == 0] == [[0, 3], [0, 4]]
    rows = lab.evaluate(f"{READ}()")[0]
    assert factors(rows)[:6] == pytest.approx([1, 1, 1, 0.9, 0.8, 0.9])
    assert "as clicked" in lab.evaluate("document.querySelector('.credit-lab-settings').textContent")
    address = lab.evaluate("location.hash")
    press(lab, "Figure 2")
    lab.evaluate(f"location.hash = {address!r}; {SETTLED}")
    assert lab.evaluate(f"{READ}()")[0] == rows
