r"""Formulas that stand as plain text in a sentence, typeset: ``psi < 1`` becomes ``$\psi < 1$``."""

import re

GREEK = "alpha|beta|epsilon|eps|eta|lambda|mu|omega|psi|rho|sigma|tau"
FUNCTIONS = "exp|log|max|min|sum"
NAME = rf"(?<![A-Za-z0-9])(?:{GREEK}|{FUNCTIONS}|[A-Za-z])(?![A-Za-z])"
INDEX = r"(?:[_^](?:\{[^}]*\}|[A-Za-z0-9]+))*'?"
NUMBER = r"\d+(?:\.\d+)?"
#: A word of which all belongs to a formula; A and B are people, a, b, c lists, s seconds, and (7) names an equation.
WORD = re.compile(rf"(?!(?:[ABIabcs]\)?|\(\d+\)|sum|max-min)$)(?:{NAME}{INDEX}|{NUMBER}|[-+*/<>=(),|])+")
SIGN = re.compile(r"[-+*/<>]|[<>]?=")


def is_formula(text: str) -> bool:
    """Tell a formula from numbers and brackets: it has a letter, alone, with an index, or between signs."""
    return bool(re.search(NAME, text)) and text.count("(") == text.count(")") and "," not in (text[0], text[-1])


def tex(text: str) -> str:
    r"""Write a formula in TeX.

    Examples
    --------
    >>> print(tex("M^k <= max_j x_ij"))
    M^{k} \le \max_{j} x_{ij}
    >>> print(tex("sum_{i<=k} w_i"))
    \sum_{i\le k} w_{i}
    """
    text = re.sub(r"([_^])([A-Za-z0-9]+)", r"\1{\2}", text)
    text = re.sub(rf"(?<![A-Za-z\\])({GREEK}|{FUNCTIONS})(?![A-Za-z])", r"\\\1", text)
    text = re.sub(r"\\eps(?![A-Za-z])", r"\\varepsilon", text)
    for sign, name in {"<=": r"\le ", ">=": r"\ge ", "*": r"\cdot "}.items():
        text = text.replace(sign, name).replace("  ", " ")
    return text


def trimmed(run: list[str]) -> tuple[list[str], str, list[str]]:
    """Part a run of words into what is no formula, the formula, and what is behind it."""
    first, last = 0, len(run)
    while first < last and SIGN.fullmatch(run[first]):
        first += 1
    while first < last and SIGN.fullmatch(run[last - 1]):
        last -= 1
    return run[:first], " ".join(run[first:last]), run[last:]


def typeset(text: str) -> str:
    r"""Typeset the formulas of a sentence, for MyST.

    Examples
    --------
    >>> print(typeset("A node with psi < 1 gets fewer than an n-th (of all)."))
    A node with $\psi < 1$ gets fewer than an $n$-th (of all).
    >>> print(typeset("A runs 15 tasks and B 70; (8) is the limit of (7)."))
    A runs 15 tasks and B 70; (8) is the limit of (7).
    """
    done: list[str] = []
    run: list[str] = []

    def end(behind: str = "") -> None:
        before, formula, after = trimmed(run)
        closing = ""
        while formula.count(")") > formula.count("(") and formula.endswith(")"):
            formula, closing = formula[:-1], closing + ")"
        shown = f"${tex(formula)}$" if formula and is_formula(formula) else formula
        done.extend([*before, *([shown + closing] if formula else []), *after])
        if behind and done:
            done[-1] += behind
        run.clear()

    for word in re.sub(r"\b([a-zA-Z])-th\b", r"$\1$-th", text.replace("fmax", "f_max").replace("0^0", "$0^0$")).split(
        " "
    ):
        bare = word.rstrip(".,;:")
        if not WORD.fullmatch(bare):
            end()
            done.append(word)
            continue
        if run and " ".join(run).count("(") == " ".join(run).count(")") and run[-1][-1].isalnum() and bare[0].isdigit():
            end()
        run.append(bare)
        if bare == word:
            continue
        inside = " ".join(run)
        if inside.count("(") > inside.count(")"):
            run[-1] = word
        else:
            end(word[len(bare) :])
    end()
    return " ".join(done)


#: In the words of an original, what has an index, and the signs around it.
_AROUND = r"[A-Za-z0-9_^{}=<>≤≥()+\-*/|…, \u03b1-\u03c9]*"
_INDEXED = re.compile(rf"{_AROUND}[_^]{_AROUND}")


def typeset_original(text: str) -> str:
    r"""Typeset the formulas in words of an original, for MyST.

    Examples
    --------
    >>> print(typeset_original("x_i^k=max{M^k w_i, x_i^{k-1}}"))
    $x_{i}^{k}=\max\{M^{k} w_{i}, x_{i}^{k-1}\}$
    """

    def written(found: re.Match[str]) -> str:
        whole, opened, shown = found[0], list[str](), ""
        if re.search(r"_(?![A-Za-z0-9{])", whole):  # a name in a program
            return whole
        for sign in re.sub(r"([_^])([A-Za-z0-9])", r"\1{\2}", whole.strip()):
            if sign == "{":
                opened.append("" if shown[-1:] in ("_", "^") else "\\")  # of an index, or of a set
            shown += (opened[-1] if sign == "{" else opened.pop() if sign == "}" else "") + sign
        shown = shown.replace("max", r"\max").replace("*", r" \cdot ")
        return whole[: len(whole) - len(whole.lstrip())] + f"${shown}$"

    return _INDEXED.sub(written, text)
