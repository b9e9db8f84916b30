"""Every page can be read by ear, by keyboard, with a finger and in both schemes; and each check can fail."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Book, toc_files
from tests.visits import ACCESSIBILITY, Visit, by_keyboard, visit
from tools.accessible_pages import mend, pieces
from tools.chromium import Chromium

pytestmark = [pytest.mark.book, pytest.mark.browser]

PAGES = [str(Path(name).with_suffix(".html")) for name in toc_files()]


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, visited: Callable[[str], Visit]) -> None:
    assert {what: faults for what, faults in visited(name).faults.items() if faults} == {}


@pytest.mark.parametrize("name", ["search.html", "genindex.html"])
def test_pages_without_a_source(name: str, book: Book, chromium: Chromium) -> None:
    seen = visit(chromium, (book.html / name).as_uri(), {})
    assert {what: faults for what, faults in seen.faults.items() if faults} == {}


# --- each check can fail -------------------------------------------------------------------------------------------

GOOD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
  body { color: #222; background: #fff; } a { color: #1155b4; display: inline-block; }
  @media (prefers-color-scheme: dark) { body { color: #ddd; background: #111; } a { color: #7fb2ff; } }
  :focus-visible { outline: 3px solid; } main { outline: none; } p { max-width: 40rem; }
  .scrolls { overflow-x: auto; width: 9rem; white-space: nowrap; }
</style></head><body>
<a href="#main">Skip to the content</a>
<nav aria-label="Pages"><a href="#main">First</a></nav>
<main id="main" tabindex="-1"><article>
<h1>A page</h1><p>A <a href="#users">link</a> and a term, <span lang="zh">\u4efd\u989d</span>.</p>
<h2 id="users">Users</h2>
<table><caption>Users</caption><thead><tr><th scope="col">CPU</th></tr></thead>
<tbody><tr><td>1</td></tr></tbody></table>
<details class="sd-dropdown"><summary style="padding: 9px">A proof</summary><p id="proof">It is so.</p></details>
<form><label>Words <input name="words" style="height: 2rem"></label> <button style="height: 2rem">Find</button></form>
<div class="scrolls" tabindex="0" role="region" aria-label="A long line">one long line that goes on and on and on</div>
<img alt="A point." src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">
</article></main></body></html>"""

BROKEN = {
    "language": ('lang="en"', "", "structure", "html-has-lang"),
    "title": ("<title>A page</title>", "", "structure", "document-title"),
    "viewport": ('<meta name="viewport"', '<meta name="other"', "structure", "no viewport"),
    "zoom": ("initial-scale=1", "maximum-scale=1", "structure", "meta-viewport"),
    "two first heads": ("<h2 id", "<h1>Again</h1><h2 id", "structure", "not one first head"),
    "heads that jump": ("h2", "h3", "structure", "heading-order"),
    "an empty head": (">Users</h2>", "></h2>", "structure", "empty-heading"),
    "no main": ("main", "div", "structure", "landmark-one-main"),
    "a nameless navigation": (' aria-label="Pages"', "", "structure", "navigation without a name"),
    "two navigations of one name": ("<main", '<nav aria-label="Pages">x</nav><main', "structure", "landmark-unique"),
    "a nameless link": (">link<", "><", "structure", "link-name"),
    "a nameless button": (">Find<", "><", "structure", "button-name"),
    "a hidden control": ("<form>", '<form aria-hidden="true">', "structure", "aria-hidden-focus"),
    "a link to nowhere": ("#users", "#nowhere", "structure", "a link to nowhere"),
    "label: ": ("<label>Words", "<label>", "structure", "label: "),
    "no alt text": ('alt="A point."', "", "structure", "image-alt"),
    "empty alt text": ('alt="A point."', 'alt=""', "structure", "without alt text"),
    "a nameless drawing": ("<form>", '<svg width="9" height="9"></svg><form>', "structure", "a drawing without a name"),
    "no header cells": ('th scope="col"', "td", "structure", "without header cells"),
    "no scope": (' scope="col"', "", "structure", "without a scope"),
    "no caption": ("<caption>Users</caption>", "", "structure", "a table without a caption"),
    "an id twice": ('id="proof"', 'id="users"', "structure", "duplicate-id"),
    "a reference to nothing": ("<form>", '<form aria-labelledby="no">', "structure", "a reference to what"),
    "an order of its own": ('tabindex="0"', 'tabindex="3"', "structure", "tabindex: "),
    "Chinese as English": (' lang="zh"', "", "structure", "without its language"),
    "a box out of reach": (' tabindex="0" role="region"', "", "structure", "scrollable-region-focusable"),
    "a box out of reach on a phone": (' tabindex="0" role="region"', "", "own, phone", "cannot be reached"),
    "a box without a role": (' role="region"', "", "structure", "no role or no name"),
    "a box without a name": (' aria-label="A long line"', "", "structure", "no role or no name"),
    "a list of paragraphs": ("<form>", "<ul><p>x</p></ul><form>", "structure", "list: "),
    "terms without terms": ("<form>", "<dl><p>x</p></dl><form>", "structure", "definition-list: "),
    "pale": ("<p>A", '<p style="color: #777; background: #ddd">A', "structure", "color-contrast"),
    "faded": ("<p>A", '<p style="opacity: .5">A', "structure", "color-contrast"),
    "pale and large": ("<h1>", '<h1 style="color: #999">', "structure", "color-contrast"),
    "pale in the dark": ("#ddd; background: #111", "#555; background: #111", "contrast, dark", "color-contrast"),
    "a link like its words": (
        'href="#users">l',
        'href="#users" style="color: #333; display: inline; text-decoration: none">l',
        "structure",
        "link-in-text-block",
    ),
    "hidden focus": (":focus-visible { outline: 3px solid; }", ":focus { outline: 0; }", "focus", "cannot be seen"),
    "motion": ("body { color", "body { transition: color 1s; color", "motion", "still is asked for"),
    "a smooth slide": ("<style>", "<style>html { scroll-behavior: smooth; }", "motion", "still is asked for"),
    "too small": ("height: 2rem", "height: 8px; padding: 0", "touch, phone", "too small for a finger"),
    "too close": ("<button style=", "<button style='margin-left:-2rem' data-x=", "touch, phone", "upon each other"),
    "no skip link": ('href="#main">Skip', 'href="other.html">Skip', "keyboard", "the first stop"),
    "a proof for the mouse alone": ("<summary", '<summary onkeydown="event.preventDefault()"', "keyboard", "unfold"),
    "two mains": ("<form>", "<main>x</main><form>", "structure", "landmark-no-duplicate-main"),
    "a fold without words": (">A proof<", "><", "structure", "summary-name"),
    "a list without words": ("<form>", "<form><select><option>x</option></select>", "structure", "select-name"),
    "a part of another kind": ("<form>", "<form><b role='button'></b>", "structure", "aria-command-name"),
    "a frame without a name": ("<form>", "<iframe></iframe><form>", "structure", "frame-title"),
    "a pale formula": ("<p>A", "<p><mjx-container style='color: #888'></mjx-container>A", "structure", "mjx-container"),
    "a wide formula": (
        "<form>",
        "<div style='overflow-x: auto'><mjx-container><i style='margin: 2000px'>x</i></mjx-container></div><form>",
        "structure",
        "cannot be reached",
    ),
    "pale on a mixture": (
        "<p>A",
        '<p style="background: color-mix(in srgb, #222, #fff 30%)">A',
        "structure",
        "color-contrast",
    ),
}


def write(folder: Path, text: str) -> str:
    page = folder / "page.html"
    page.write_text(text, encoding="utf8")
    return page.as_uri()


def test_a_good_page_passes(chromium: Chromium, tmp_path: Path) -> None:
    seen = visit(chromium, write(tmp_path, GOOD), {})
    assert {what: faults for what, faults in seen.faults.items() if faults} == {}
    assert seen.linked == [False, True]


@pytest.mark.parametrize("fault", list(BROKEN))
def test_a_broken_page_is_noticed(fault: str, chromium: Chromium, tmp_path: Path) -> None:
    old, new, what, words = BROKEN[fault]
    assert old in GOOD
    name, _, where = what.partition(", ")
    chromium.look(400 if where == "phone" else 1400, scheme="dark" if where == "dark" else "light", still=True)
    chromium.open(write(tmp_path, GOOD.replace(old, new)))
    if name == "keyboard":
        found = by_keyboard(chromium)
    else:
        chromium.evaluate(ACCESSIBILITY)
        found = chromium.evaluate(f"accessibility.{name}()")
    chromium.look()
    assert any(words in one for one in found), found


def test_what_the_extension_mends() -> None:
    assert list(pieces("a \u4efd\u989d, \u6743\u503c")) == [
        ("a ", False),
        ("\u4efd\u989d", True),
        (", ", False),
        ("\u6743\u503c", True),
    ]
    table = "<table><thead><tr><th></th><th>a</th></tr></thead><tbody><tr><th>b</th><td>1</td></tr></tbody></table>"
    mended = mend(f'<h2>On <em>us</em><a class="headerlink" href="#x">#</a></h2>{table}<p id="i"></p><i id="i"></i>')
    assert '<table aria-label="Table: On us">' in mended
    assert (mended.count('scope="col"'), mended.count('scope="row"')) == (2, 1)
    assert mended.count('id="i"') == 1
    assert mend(mended) == mended
    captioned = "<table><caption>c</caption><tr><th>b</th></tr></table>"
    assert "aria-label" not in mend(f"<h2>a</h2>{captioned}")
