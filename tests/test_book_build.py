"""The book builds without one warning, and what is built is what was checked."""

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT, Book, build, toc_files

pytestmark = pytest.mark.book


def outside(html: str) -> list[str]:
    """Return what a page would load from another host (links to follow are no loads)."""
    tags = re.findall(r"<(?:script|img|iframe|link|source)\b[^>]*>", html)
    loads = [tag for tag in tags if not re.search(r'rel="(?:canonical|license|author)"', tag)]
    found = [tag for tag in loads if re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag)]
    return found + re.findall(r"""(?:url\(|@import|fetch\(|import\()\s*["']?(?:https?:)?//[^"') ]+""", html)


def test_no_warning(book: Book) -> None:
    assert book.code == 0, book.output[-6000:]
    assert "WARNING" not in book.output


def test_every_page_of_the_contents_is_built(book: Book) -> None:
    missing = [f for f in toc_files() if not (book.html / f).with_suffix(".html").is_file()]
    assert not missing


def test_first_page_is_reached_from_the_root(book: Book) -> None:
    assert toc_files()[0] in (book.html / "index.html").read_text("utf8")


def test_pages_offer_the_notebook_that_was_checked(book: Book) -> None:
    notebooks = [f for f in toc_files() if f.endswith(".ipynb")]
    assert notebooks
    for notebook in notebooks:
        page = (book.html / notebook).with_suffix(".html").read_text("utf8")
        assert f'_sources/{notebook}"' in page, f"{notebook}: no download button"
        assert (book.html / "_sources" / notebook).read_bytes() == (ROOT / notebook).read_bytes()


def test_nothing_is_loaded_from_elsewhere(book: Book) -> None:
    pages = sorted(book.html.rglob("*.html"))
    assert pages
    assert {str(page): found for page in pages if (found := outside(page.read_text("utf8")))} == {}


def test_no_button_leads_to_a_repository_or_a_host(book: Book) -> None:
    for page in book.html.rglob("*.html"):
        text = page.read_text("utf8")
        assert not re.search(
            r'="[^"]*(?:mybinder|colab\.research|jupyter-book/issues)|launch-buttons|btn-source-edit', text
        ), page


def test_licences_are_on_every_page(book: Book) -> None:
    for page in toc_files():
        text = (book.html / page).with_suffix(".html").read_text("utf8")
        assert "creativecommons.org/licenses/by/4.0" in text
        assert "BSD 3-Clause" in text


def test_formulas_come_with_the_book(book: Book) -> None:
    mathjax = book.html / "_static" / "mathjax"
    assert (mathjax / "tex-chtml.js").is_file()
    assert len(list(mathjax.rglob("*.woff"))) > 10
    assert sum(path.stat().st_size for path in mathjax.rglob("*") if path.is_file()) < 4e6


def test_planted_faults_fail_the_build(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    for name in ("_config.yml", "tools", "book/assets", "book/references.bib"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    faults = {
        "{numref}`fig-nowhere`": "fig-nowhere",
        "{cite:t}`nobody2000nothing`": "nobody2000nothing",
        "{eq}`eq-nowhere`": "eq-nowhere",
        "{prf:ref}`thm-nowhere`": "thm-nowhere",
        "[a link](nowhere.md)": "nowhere.md",
        "{doc}`nopage`": "nopage",
        "```{nodirective} x\n```": "nodirective",
    }
    (tmp_path / "book" / "intro.md").write_text("# A book\n\n" + "\n\n".join(faults) + "\n")
    built = build(tmp_path, tmp_path / "out")
    warnings = [line for line in built.output.splitlines() if "WARNING" in line or "ERROR" in line]
    assert built.code != 0
    assert [word for word in faults.values() if not any(word in line for line in warnings)] == []


def test_the_search_for_outside_loads_finds_them() -> None:
    assert outside('<script src="https://cdn.example.org/x.js"></script>')
    assert outside("<style>@import url(//fonts.example.org/a.css)</style>")
    assert not outside('<a href="https://example.org">a link</a><script src="_static/x.js"></script>')
