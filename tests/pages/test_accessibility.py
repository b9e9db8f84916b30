"""Every page can be read by ear, by keyboard, with a finger and in both schemes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Book, toc_files
from tests.visits import Visit, visit
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
    newer = '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar"><i class="theme-switch fa"></i></div>'
    mended = mend(f'{newer}<table class="autosummary longtable"><tr><td>a</td></tr></table>')  # of newer themes
    assert 'bd-sidebar" role="region" aria-label="Book"><i aria-hidden="true" class="theme-switch' in mended
    assert 'longtable" role="presentation"><tr><td>' in mended
    assert mend(mended) == mended
    assert mend(mended) == mended
    captioned = "<table><caption>c</caption><tr><th>b</th></tr></table>"
    assert "aria-label" not in mend(f"<h2>a</h2>{captioned}")
