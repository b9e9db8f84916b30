"""Every page, opened from disk in headless Chromium with the network off, is typeset, complete and silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chromium import Chromium
from tests.conftest import Book, toc_files

pytestmark = [pytest.mark.book, pytest.mark.browser]

PAGES = [str(Path(name).with_suffix(".html")) for name in toc_files()]
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


def problems(browser: Chromium, url: str) -> list[str]:
    """Open a page and say all that is wrong with it."""
    browser.open(url)
    state = browser.evaluate(STATE)
    page = browser.seen()
    found = [f"requested from outside: {u}" for u in page.requests if not u.startswith(("file:", "data:", "blob:"))]
    found += [f"failed: {entry}" for entry in page.failed] + [f"console: {entry}" for entry in page.errors]
    found += [f"formula not typeset: {entry}" for entry in state["untypeset"]]
    found += [f"formula in error: {entry}" for entry in state["wrong"]]
    found += [f"unknown macro in a formula: {entry}" for entry in state["unknown"]]
    found += [f"picture not loaded: {entry}" for entry in state["broken"]]
    found += [f"picture without alt text: {entry}" for entry in state["speechless"]]
    found += [f"font not loaded: {entry}" for entry in state["fonts"]]
    if state["overflow"] > 0:
        found.append(f"the page is {state['overflow']} pixels wider than the window")
    return found


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, width: int, book: Book, chromium: Chromium) -> None:
    chromium.look(width)
    assert problems(chromium, (book.html / name).as_uri()) == []


def test_chapters_have_formulas_and_figures(book: Book, chromium: Chromium) -> None:
    chromium.look()
    chapters = [name for name in PAGES if "/chapters/" in name]
    assert chapters
    for name in chapters:
        chromium.open((book.html / name).as_uri())
        state = chromium.evaluate(STATE)
        shown = (book.html / name).read_text("utf8").count("<figure")
        assert state["formulas"] == state["sources"] > 0
        assert len(state["pictures"]) >= shown > 0


def test_dark_scheme_keeps_a_white_face_behind_figures(book: Book, chromium: Chromium) -> None:
    chromium.look(scheme="dark")
    for name in PAGES:
        chromium.open((book.html / name).as_uri())
        assert chromium.evaluate("document.documentElement.dataset.theme") == "dark"
        faces = chromium.evaluate(
            "[...document.querySelectorAll('.bd-article figure img')].map(i => getComputedStyle(i)).map("
            "s => s.backgroundColor + ' ' + s.filter)"
        )
        assert set(faces) <= {"rgb(255, 255, 255) none"}, name
    chromium.look()


def test_search_works_from_disk(book: Book, chromium: Chromium) -> None:
    chromium.look()
    assert problems(chromium, (book.html / "search.html").as_uri() + "?q=mechanism") == []
    found = chromium.evaluate(
        "(async () => { for (let i = 0; i < 100 && !document.querySelector('ul.search li'); i++) "
        "await new Promise(r => setTimeout(r, 50)); return document.querySelectorAll('ul.search li').length })()"
    )
    assert found > 0


def test_a_link_into_a_folded_proof_opens_it(book: Book, chromium: Chromium) -> None:
    chromium.look()
    for name in (name for name in PAGES if "/chapters/" in name):
        chromium.open((book.html / name).as_uri())
        inside = "document.querySelector('details.sd-dropdown [id]')"
        assert chromium.evaluate(f"!{inside}.closest('details').open"), "proofs are folded at first"
        chromium.evaluate(f"location.hash = '#' + {inside}.id; new Promise(r => setTimeout(r, 100))")
        assert chromium.evaluate(f"{inside}.closest('details').open")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ('<img src="missing.png" alt="a picture">', "picture not loaded"),
        (
            '<p class="bd-article"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=" alt=""></p>',
            "without alt text",
        ),
        ('<script src="https://cdn.example.org/x.js"></script>', "requested from outside"),
        ("<script>console.error('no')</script>", "console: no"),
        ("<script>throw new Error('no')</script>", "console: Error: no"),
        ('<div style="width: 3000px">wide</div>', "wider than the window"),
        ('<span class="math">\\(x\\)</span>', "formula not typeset"),
        ('<span class="math">\\(\\left( x\\)</span><script src="{mathjax}"></script>', "formula in error"),
        ('<span class="math">\\(\\unknown\\)</span><script src="{mathjax}"></script>', "unknown macro"),
    ],
    ids=["picture", "alt", "network", "console", "exception", "overflow", "no-mathjax", "bad-tex", "unknown-macro"],
)
def test_a_broken_page_is_noticed(body: str, word: str, book: Book, chromium: Chromium, tmp_path: Path) -> None:
    chromium.look()
    page = tmp_path / "broken.html"
    mathjax = (book.html / "_static" / "mathjax" / "tex-chtml.js").as_uri()
    page.write_text(f"<!doctype html><title>broken</title>{body.replace('{mathjax}', mathjax)}")
    assert any(word in problem for problem in problems(chromium, page.as_uri()))
