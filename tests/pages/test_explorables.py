"""Experiments under the reader's hand: every setting shows the state that the library computed."""

import itertools
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import fairbook as fb
from book.common import checkout
from book.common.explore import Control, Explorable, State
from tests.conftest import ROOT
from tests.visits import SETTLED, press
from tools.chromium import Chromium

SCRIPT = (ROOT / "book" / "assets" / "explore.js").read_text("utf8")
MADE = {
    f"{key}.{name}": getattr(import_module(f"book.{key}.explorable"), name)
    for key in checkout.papers("explorable")
    for name in import_module(f"book.{key}.explorable").__all__
}
SET = """((values) => {
  const form = document.querySelector(".explore-form");
  const names = [...new Set([...form.elements].map(e => e.name).filter(Boolean))];
  values.forEach((value, i) => { form.elements[names[i]].value = String(value); });
  form.dispatchEvent(new Event("input"));
  const parts = [...form.querySelectorAll("figure.panel")].map(one => [one.querySelector("figcaption").textContent,
    [...one.querySelectorAll("rect")].map(r => [r.dataset.who, Number(r.dataset.size),
      Number(r.getAttribute("width")), Number(r.getAttribute("height"))])]);
  const ranked = [...form.querySelectorAll("tbody tr")].map(row => [
    row.className, row.querySelector("small").textContent,
    [...row.querySelectorAll("td")].map(cell => cell.textContent),
    [...row.querySelectorAll("rect")].map(bar => Number(bar.getAttribute("width")))]);
  return { parts, ranked, said: form.querySelector(".explore-said").textContent };
})"""


@pytest.mark.browser
@pytest.mark.parametrize("name", MADE)
def test_every_setting_shows_its_state(name: str, chromium: Chromium, tmp_path: Path) -> None:
    made = MADE[name]()
    page = tmp_path / "page.html"
    page.write_text(
        f"<!doctype html><meta charset=utf-8><script>{SCRIPT}</script>{made._repr_html_()}", encoding="utf8"
    )
    seen = chromium.open(page.as_uri())
    assert seen.errors == []
    assert chromium.evaluate("document.querySelector('.explore-said').textContent") == made.first.said
    settings = itertools.product(*(range(len(control.values)) for control in made.controls))
    for values, state in zip(settings, made.states, strict=True):
        shown = chromium.evaluate(f"{SET}({list(values)})")
        assert shown["said"] == state.said
        for (title, parts), panel in zip(shown["parts"], state.panels, strict=True):
            assert title == panel.title
            drawn = [part for column in panel.columns[panel.corner :] for part in column.parts]
            assert [(who, size) for who, size, *_ in parts] == [(who, pytest.approx(size)) for who, size in drawn]
            heights = [height for *_, height in parts]
            scale = max(heights, default=0) / (max((size for _, size in drawn), default=0) or 1)
            assert heights == pytest.approx([size * scale for _, size in drawn], abs=0.03)
            if panel.corner:
                wide = [size * scale for _, size in panel.columns[0].parts]
                assert [width for _, _, width, _ in parts] == pytest.approx(wide, abs=0.03)
        told = state.ranking
        assert shown["ranked"] == [
            [
                row.kind,
                row.note and f": {row.note}",
                list(row.numbers),
                pytest.approx([100 * float(one) / top for one, top in zip(row.numbers, told.tops)], abs=0.01),
            ]
            for row in (told.rows if told else [])
        ]


@pytest.mark.browser
def test_it_is_stepped_drawn_and_kept_in_the_address(chromium: Chromium, tmp_path: Path) -> None:
    """By the keyboard, by a finger along the curve, by a link."""
    made, page = MADE["tv_drf.lie"](), tmp_path / "page.html"
    claims = len(made.controls[-1].values)
    style = (ROOT / "book" / "assets" / "explore.css").read_text("utf8")
    page.write_text(
        f"<!doctype html><meta charset=utf-8><style>{style}</style><script>{SCRIPT}</script>{made._repr_html_()}",
        encoding="utf8",
    )
    chromium.look(390, still=True)
    chromium.open(page.as_uri())
    said = "document.querySelector('.explore-said').textContent"
    chromium.send("Emulation.setFocusEmulationEnabled", enabled=True)
    chromium.evaluate("document.querySelector('button[name=previous]').focus()")
    press(chromium, "Enter", 13, "\r")
    assert chromium.evaluate(said) == made.states[claims - 2].said
    best = max(range(claims), key=lambda k: made.curves[0].lines["A"][k])
    box = chromium.evaluate("(b => [b.x, b.y, b.width])(document.querySelector('svg.curve').getBoundingClientRect())")
    ends = chromium.evaluate("(d => [Number(d.from), Number(d.to)])(document.querySelector('svg.curve').dataset)")
    x = box[0] + ends[0] + (ends[1] - ends[0]) * best / (claims - 1)
    for kind, at in (("mousePressed", box[0] + 60), ("mouseMoved", x), ("mouseReleased", x)):
        chromium.send(
            "Input.dispatchMouseEvent", type=kind, x=at, y=box[1] + 60, button="left", buttons=1, clickCount=1
        )
    assert chromium.evaluate(said) == made.states[best].said
    assert chromium.evaluate("location.hash") == f"#try-1=0.{best}"
    chromium.evaluate(f"location.hash = '#try-1=1.3'; {SETTLED}")
    assert chromium.evaluate(said) == made.states[claims + 3].said
    chromium.evaluate("document.querySelector('button[name=play]').click()")  # to the end at once, for stillness
    assert chromium.evaluate(said) == made.states[2 * claims - 1].said
    chromium.look()


@pytest.mark.parametrize("name", MADE)
def test_it_is_a_table_without_scripts_and_no_column_overflows(name: str) -> None:
    made = MADE[name]()
    html = made._repr_html_()
    assert made.first.said in html
    told = made.first.ranking
    rows = len(told.rows) if told else sum(len(panel.columns) for panel in made.first.panels)
    assert html.count("<tr>") == 1 + rows
    for state in made.states:
        for panel in state.panels:
            for column in panel.columns:
                assert sum(size for _, size in column.parts) <= panel.top * (1 + 1e-9)
                assert {who for who, _ in column.parts} <= set(made.users)


def test_a_setting_without_a_state_is_refused() -> None:
    state: Any = State([], "nothing")
    with pytest.raises(fb.InvalidInput, match="must be 2, one for each setting"):
        Explorable("A", [Control("c", ["1", "2"])], [state])
