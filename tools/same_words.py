"""Compare two builds of the book: ``python tools/same_words.py FOLDER OTHER`` fails if a page says something else.

Compared are the articles, without navigation, which themes word in their own ways, and without blanks, which they set
in their own ways, too.
"""

import re
import sys
from pathlib import Path

from bs4 import BeautifulSoup


def said(html: str) -> str:
    """Return what the article of a page says, without blanks.

    Examples
    --------
    >>> said("<nav>Next</nav><article><h1>Two  <b>users</b></h1></article>")
    'Twousers'
    """
    article = BeautifulSoup(html, "html.parser").find("article")
    return re.sub(r"\s+", "", article.get_text()) if article else ""


def difference(folder: Path, other: Path) -> list[str]:
    """Return one line for each page that is in one of the folders only, or says something else there."""
    pages = {path.relative_to(root) for root in (folder, other) for path in root.rglob("*.html")}
    found = []
    for page in sorted(page for page in pages if page.parts[0] != "_static"):
        if not all((root / page).is_file() for root in (folder, other)):
            found.append(f"{page}: in one of the two only")
            continue
        one, two = (said((root / page).read_text("utf8")) for root in (folder, other))
        if one != two:
            place = next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))
            found.append(f"{page}: {one[place : place + 40]!r}, but {two[place : place + 40]!r}")
    print(f"{len(pages)} pages, {len(found)} differ")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(difference(*map(Path, sys.argv[1:]))) or None)  # an empty text would be a failure
