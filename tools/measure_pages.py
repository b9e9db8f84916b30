"""Count the words of every page: ``python tools/measure_pages.py``.

Words are those of the source prose, what stands between blanks and has a letter or a digit, formulas with it. Front
matter, code, comments, options of directives and what is generated are not counted.
"""

import re
from pathlib import Path

UNREAD = r"code-cell|code-block|code|raw|claims|ledger|bibliography|glue:figure|auto\w+"
FOLDED = r"dropdown|solution"


def without(text: str, names: str) -> str:
    """Take out the directives with these names (a pattern), with all that is in them."""
    return re.sub(rf"^(`{{3,}}|:{{3,}})\s*\{{(?:{names})\}}.*?^\1[ \t]*$", "", text, flags=re.DOTALL | re.MULTILINE)


def words(text: str, *, folded: bool = True) -> int:
    r"""Count the words of a page.

    Parameters
    ----------
    text : str
        The page in MyST.
    folded : bool
        Whether to count what is folded, proofs and solutions.

    Examples
    --------
    >>> words("# Two words, $x + y$")
    4
    >>> words(":::{dropdown} Proof\nIt is so.\n:::\nSeen.", folded=False)
    1
    """
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = without(text, UNREAD if folded else f"{UNREAD}|{FOLDED}")
    text = re.sub(r"^```(?!\{).*?^```[ \t]*$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(?:[`:]{3,}.*|:[\w-]+:.*|%.*|\([\w-]+\)=|\|[-:| ]+\|)$", "", text, flags=re.MULTILINE)
    return len(re.findall(r"\S*\w\S*", text))


if __name__ == "__main__":
    found = {path: words(path.read_text("utf8")) for path in sorted(Path("book").rglob("*.md"))}
    print(*(f"{count:6}  {path}" for path, count in found.items()), f"{sum(found.values()):6}  all", sep="\n")
