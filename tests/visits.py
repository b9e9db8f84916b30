"""One visit to a page: opened once, then looked at wide and narrow, in both schemes, by eye, ear and keyboard."""

import json
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from tools.chromium import Chromium, Page

#: axe-core as the package ships it, which is not imported: it would need playwright. Then what axe does not know.
AXE = Path(str(distribution("axe-playwright-python").locate_file("axe_playwright_python/axe.min.js")))
ACCESSIBILITY = AXE.read_text("utf8") + ";" + Path(__file__).with_name("accessibility.js").read_text("utf8") + ";0"
WIDE, NARROW = 1400, 400
STATE = """(() => ({
  sources: document.querySelectorAll(".math").length,
  formulas: document.querySelectorAll("mjx-container").length,
  untypeset: [...document.querySelectorAll(".math")].filter(e => !e.querySelector("mjx-container"))
             .map(e => e.textContent),
  wrong: [...document.querySelectorAll("mjx-merror, [data-mml-node=merror]")].map(e => e.textContent),
  unknown: [...document.querySelectorAll("mjx-mtext[style*='color: red']")].map(e => e.textContent),
  pictures: [...document.querySelectorAll(".bd-article img")].map(i => [i.src, i.naturalWidth]),
  broken: [...document.images].filter(i => !i.naturalWidth).map(i => i.src),
  speechless: [...document.querySelectorAll(".bd-article img")].filter(i => !i.alt.trim()).map(i => i.src),
  overflow: document.documentElement.scrollWidth - innerWidth,
  fonts: [...document.fonts].filter(f => f.status === "error").map(f => f.family),
  icons: document.fonts.check('900 12px "Font Awesome 6 Free"'),
}))()"""
SETTLED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 80))))"
FACES = """[...document.querySelectorAll('.bd-article figure img')].map(i => getComputedStyle(i)).map(
  s => s.backgroundColor + ' ' + s.filter)"""
# A link into a folded proof: whether it was folded at first, and is open now.
LINKED = """(async () => {
  const inside = document.querySelector("details.sd-dropdown [id]");
  if (!inside) return null;
  const fold = inside.closest("details"), before = fold.open;
  location.hash = "#" + inside.id;
  await new Promise(done => setTimeout(done, 60));
  const after = fold.open;
  fold.open = false;
  return [before, after];
})()"""


@dataclass
class Visit:
    """What was seen on one page."""

    seen: Page
    wide: dict[str, Any]
    narrow: dict[str, Any]
    linked: list[bool] | None
    theme: str
    faces: list[str]
    faults: dict[str, list[str]] = field(default_factory=dict)


def press(browser: Chromium, name: str, code: int, text: str = "") -> None:
    """Press and release a key."""
    for kind in ("keyDown", "keyUp"):
        typed = {"text": text} if text and kind == "keyDown" else {}
        browser.send("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **typed)


def tab(browser: Chromium) -> None:
    """Press Tab."""
    press(browser, "Tab", 9)


def enter(browser: Chromium) -> None:
    """Press Enter."""
    press(browser, "Enter", 13, "\r")


def by_keyboard(browser: Chromium) -> list[str]:
    """Go through a page that was just opened by keyboard; say what does not work."""
    found = []
    browser.send("Emulation.setFocusEmulationEnabled", enabled=True)
    tab(browser)
    if not browser.evaluate("/^#/.test(document.activeElement.getAttribute('href') ?? '')"):
        return ["the first stop of the keyboard is no link that skips to the content"]
    enter(browser)
    tab(browser)
    if not browser.evaluate("Boolean(document.activeElement.closest('main'))"):
        found.append("after the link that skips to the content the next stop is not in the content")
    for what, control, opened in (
        ("proof", "details.sd-dropdown > summary", "parentElement.open"),
        ("solution", "button.toggle-button", "getAttribute('aria-expanded')"),
    ):
        one = f"document.querySelector('{control}')"
        if browser.evaluate(f"{one} !== null"):
            before = browser.evaluate(f"{one}.focus(); {one}.{opened}")
            enter(browser)
            after = browser.evaluate(f"{SETTLED}.then(() => {one}.{opened})")
            enter(browser)  # folded again
            if after == before:
                found.append(f"Enter does not unfold the {what}")
    return found


def visit(browser: Chromium, url: str, judged: dict[str, list[str]]) -> Visit:
    """Open a page once and look at it in every way.

    ``judged`` holds what was judged on other pages: looks of text and links by scheme, kinds of controls; this
    one's are added.
    """

    def but_what_was_judged(name: str, where: str) -> list[str]:
        looks = judged.setdefault(where, [])
        found, fresh = browser.evaluate(
            f"accessibility.{name}({json.dumps(looks)}).then(found => [found, accessibility.looks()])"
        )
        looks += fresh
        return list(found)

    browser.look(WIDE, still=True)
    browser.open(url)
    wide = browser.evaluate(STATE)
    faults = {"keyboard": by_keyboard(browser)}
    linked = browser.evaluate(LINKED)
    browser.evaluate(ACCESSIBILITY)
    browser.evaluate("accessibility.unfold()")
    faults["motion"] = browser.evaluate("accessibility.motion()")
    faults["structure"] = but_what_was_judged("structure", "light")
    faults["focus"] = but_what_was_judged("focus", "controls")
    browser.look(WIDE, scheme="dark", still=True)
    theme, faces = browser.evaluate(f"{SETTLED}.then(() => [document.documentElement.dataset.theme, {FACES}])")
    faults["contrast, dark"] = but_what_was_judged("contrast", "dark")
    browser.look(NARROW, scheme="dark", still=True)  # to change the scheme as well would style all anew
    narrow = browser.evaluate(f"{SETTLED}.then(() => {STATE})")
    for name in ("own", "touch"):
        faults[f"{name}, phone"] = browser.evaluate(f"accessibility.{name}()")
    seen = browser.seen()
    browser.open("about:blank")  # what the window does next, the page need not follow
    browser.look()
    return Visit(seen, wide, narrow, linked, theme, faces, faults)


def problems(seen: Page, state: dict[str, Any]) -> list[str]:
    """Say all that is wrong with how a page loaded and how it was typeset in one window."""
    found = [f"requested from outside: {u}" for u in seen.requests if not u.startswith(("file:", "data:", "blob:"))]
    found += [f"failed: {entry}" for entry in seen.failed] + [f"console: {entry}" for entry in seen.errors]
    found += [f"formula not typeset: {entry}" for entry in state["untypeset"]]
    found += [f"formula in error: {entry}" for entry in state["wrong"]]
    found += [f"unknown macro in a formula: {entry}" for entry in state["unknown"]]
    found += [f"picture not loaded: {entry}" for entry in state["broken"]]
    found += [f"picture without alt text: {entry}" for entry in state["speechless"]]
    found += [f"font not loaded: {entry}" for entry in state["fonts"]]
    if state["overflow"] > 0:
        found.append(f"the page is {state['overflow']} pixels wider than the window")
    return found
