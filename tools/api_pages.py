"""Sphinx extension: the API reference and the page on the command line, made from the code while the book is built.

Each public module has a page, ``book/api/fairbook.<module>.rst``, written before the book is read: what the module is,
a table of its names, and each of them. A page in Markdown may ask for the commands with all their options:

    ```{commands}
    ```

Each object is described once, on the page of the module that makes it, under the shortest name that a caller can use
(``fairbook.drf``, not ``fairbook.mechanisms.drf.drf``); references by any of its other names lead there. What the text
says comes from docstrings, ``#:`` comments and the parsers themselves, so that it cannot go stale.
"""

import argparse
import importlib
import inspect
import pkgutil
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import fairbook
from fairbook.files import write_whole
from fairbook.kernels import Kernel

BLOCK = "```{commands}\n```"
WIDTH = 78
#: Longest value of a constant that is shown; longer ones are described by their comment.
LONGEST_VALUE = 40


@dataclass(frozen=True)
class Entry:
    """One public object: the name under which it is described, where it is defined, and its other names."""

    name: str
    home: str
    kind: str
    value: Any
    aliases: tuple[str, ...]


@cache
def rooms() -> dict[str, tuple[str, ...]]:
    """Give every module with an ``__all__``, which the library's own tools lack, and the names there.

    Modules and kernels are left out; the command line has a page of its own, made from its parsers.
    """
    found = {}
    for info in [None, *pkgutil.walk_packages(fairbook.__path__, "fairbook.")]:
        name = info.name if info else "fairbook"
        module = importlib.import_module(name)
        left = (types.ModuleType, Kernel)
        names = tuple(n for n in getattr(module, "__all__", ()) if not isinstance(getattr(module, n), left))
        if names:
            found[name] = names
    return found


@cache
def entries() -> dict[str, Entry]:
    """Give every public object by each of its names."""
    names: dict[tuple[int, str, str], list[str]] = {}
    for module, members in rooms().items():
        package = module.rpartition(".")[0]
        for member in members:
            value = getattr(importlib.import_module(module), member)
            # constants may be equal by accident: those of two modules are one only if the package hands it on
            place = package if member in rooms().get(package, ()) else module
            place = "" if inspect.isclass(value) or inspect.isroutine(value) else place
            names.setdefault((id(value), member, place), []).append(f"{module}.{member}")
    found: dict[str, Entry] = {}
    for (_, member, constant), same in names.items():
        value = getattr(importlib.import_module(same[0].rpartition(".")[0]), member)
        kind = "data" if constant else "class" if inspect.isclass(value) else "function"
        if kind == "class" and issubclass(value, BaseException):
            kind = "exception"
        home = max(same, key=len) if constant else f"{value.__module__}.{value.__qualname__}"
        # the shortest; of names equally short the one where the thing is defined
        first, *others = sorted(same, key=lambda name: (name.count("."), name != home, name))
        entry = Entry(first, home, kind, value, tuple(dict.fromkeys([*others, home])))
        found |= dict.fromkeys([entry.name, *entry.aliases], entry)
    return found


@cache
def pages() -> dict[str, list[Entry]]:
    """Give what is described on the page of each module: exceptions, functions, classes, constants."""
    found: dict[str, list[Entry]] = {}
    for entry in {entry.name: entry for entry in entries().values()}.values():
        module = entry.home.rpartition(".")[0]
        if module not in rooms():  # made by one of the library's own tools
            module = max((name.rpartition(".")[0] for name in (entry.name, *entry.aliases[:-1])), key=len)
        found.setdefault(module, []).append(entry)
    order = {"exception": 0, "function": 1, "class": 2, "data": 3}
    return {module: sorted(found[module], key=lambda entry: order[entry.kind]) for module in sorted(found)}


# ------------------------------------------------------------------------------------------------- the reference


def comments(module: str) -> dict[str, list[str]]:
    """Give the ``#:`` comments of a module's constants."""
    from sphinx.pycode import ModuleAnalyzer

    analyzer = ModuleAnalyzer.for_module(module)
    analyzer.analyze()
    return {name: lines for (owner, name), lines in analyzer.attr_docs.items() if not owner}


def first_sentence(entry: Entry) -> str:
    """Give what a table says of an object: the first sentence of its docstring or comment."""
    if entry.kind == "data":
        text = " ".join(comment_of(entry))
    else:
        text = " ".join((inspect.getdoc(entry.value) or "").split("\n\n")[0].split())
    matched = re.match(r"(.+?)\.(?=\s+[A-Z`]|\s*$)", text)  # not at the full stop of "et al. 2011"
    return f"{matched[1]}." if matched else text.removesuffix(":")


def comment_of(entry: Entry) -> list[str]:
    """Give the comment on a constant, from whichever module makes it."""
    for name in reversed([entry.name, *entry.aliases]):
        module, member = name.rsplit(".", 1)
        if found := comments(module).get(member):
            return found
    return []


def shown_value(value: Any) -> str | None:
    """Give the value of a constant where it is short and says the same on every machine."""
    if isinstance(value, (str, int, float, tuple)) and len(repr(value)) <= LONGEST_VALUE:
        return repr(value)
    return None


def rst(entry: Entry) -> list[str]:
    """Write the directive that describes one object."""
    if entry.kind == "data":
        value = shown_value(entry.value)
        module, _, member = entry.name.rpartition(".")
        lines = [f".. py:data:: {member}", f"   :module: {module}"] + ([f"   :value: {value}"] if value else [])
        return [*lines, "", *(f"   {typeset_text(line)}" for line in comment_of(entry)), ""]
    lines = [f".. auto{entry.kind}:: {entry.name}"]
    if entry.kind == "class":
        lines += ["   :members:"]
    return [*lines, ""]


ROLES = {"class": "class", "exception": "exc", "function": "func", "data": "data"}


def reference(module: str) -> str:
    """Write the page of a module: what it is, a table of its names, then each of them."""
    here = pages()[module]
    lines = [module, "=" * len(module), "", f".. automodule:: {module}", ""]
    if len(here) > 1:
        lines += [".. list-table::", "   :widths: auto", "   :header-rows: 1", "   :class: api-names", ""]
        lines += ["   * - name", "     - what it is"]
        for entry in here:
            link = f":py:{ROLES[entry.kind]}:`~{entry.name}`"
            lines += [f"   * - {link}", f"     - {typeset_text(first_sentence(entry)) or '-'}"]
        lines += [""]
    return "\n".join([*lines, *(line for entry in here for line in rst(entry))])


def write(folder: Path) -> None:
    """Write the pages of all modules, and take away those of modules that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in set(folder.glob("fairbook*.rst")) - {folder / f"{module}.rst" for module in pages()}:
        path.unlink(missing_ok=True)
    for module in pages():
        path, text = folder / f"{module}.rst", reference(module)
        if not path.exists() or path.read_text("utf8") != text:
            write_whole({path: text.encode()})


# ----------------------------------------------------------------------------------------------- the command line


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of all commands below one, in the order in which ``--help`` lists them."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in dict.fromkeys(action.choices.values()):
                yield below
                yield from parsers(below)


def _plain(text: str) -> str:
    """Escape what Markdown would read as markup."""
    return re.sub(r"([\\`*_{}\[\]<>|$])", r"\\\1", text)


def _words(text: str) -> str:
    """Write help text as Markdown: what it puts between backquotes stays code, and so do options."""
    parts = re.split(r"(`[^`]+`|(?<![\w-])--[a-z][a-z-]*)", text)
    return "".join(p if p.startswith("`") else f"`{p}`" if p.startswith("--") else _plain(p) for p in parts)


def _description(text: str) -> Iterator[str]:
    """Write a parser's description: what it aligns in two columns becomes a list of terms."""
    for line in text.splitlines():
        aligned = re.match(r"\s+(\S+(?: \S+)*?)\s{2,}(\S.*)", line)
        if aligned:
            yield from (f"`{aligned[1]}`", f": {_words(aligned[2])}", "")
        else:
            yield from (_words(line.strip()[:1].upper() + line.strip()[1:]), "")


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = argparse.HelpFormatter(parser.prog, width=WIDTH)
    for action in sorted(parser._actions, key=lambda action: bool(action.option_strings)):
        if isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)) or action.help == argparse.SUPPRESS:
            continue
        if action.option_strings:
            takes = "" if action.nargs == 0 else " " + formatter._format_args(action, action.dest.upper())
            term = ", ".join(f"`{name}{takes}`" for name in action.option_strings)
        else:
            term = f"`{formatter._format_args(action, action.dest)}`"
        yield f"{term}{' (required)' if action.option_strings and action.required else ''}"
        yield f": {_words(formatter._expand_help(action)) if action.help else ''}"
        yield ""


def commands() -> str:
    """Write what replaces a ``commands`` block: each command's description, usage, options and examples."""
    from fairbook.cli import make_parser

    top, lines = make_parser(), []
    for parser in (top, *parsers(top)):
        parser.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=WIDTH)
        lines += [f"## {parser.prog}", "", *_description(parser.description or "")]
        lines += ["```text", parser.format_usage().removeprefix("usage: ").rstrip(), "```", "", *_options(parser)]
        for paragraph in (parser.epilog or "").split("\n\n"):
            head, _, rest = paragraph.partition("\n")
            if rest:
                lines += [
                    f"{_words(head.removesuffix(':').capitalize())}:",
                    "",
                    "```bash",
                    inspect.cleandoc(rest),
                    "```",
                    "",
                ]
            elif head:
                lines += [f"{_words(head[0].upper() + head[1:])}.", ""]
    return "\n".join(lines)


# --------------------------------------------------------------------------------------------------------- Sphinx


def read_source(app: Any, docname: str, source: list[str]) -> None:
    """Put the commands where a page asks for them."""
    if BLOCK in source[0]:
        source[0] = source[0].replace(BLOCK, commands())


def shown_signature(app: Any, what: str, name: str, obj: Any, *_: Any) -> tuple[str, str] | None:
    """Leave out signatures that say nothing: those of exceptions without their own, and of protocols."""
    if what in ("class", "exception") and (
        getattr(obj, "_is_protocol", False) or (what == "exception" and "__init__" not in vars(obj))
    ):
        return "", ""
    return None


def skipped(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, whose docstrings say only that they are fields."""
    return True if type(obj).__name__ == "_tuplegetter" else None


COLON = "\ue000"


def keep_colons(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Hide the colons of a property's first line from napoleon, which takes what stands before one for a type."""
    if what in ("property", "attribute", "data") and lines:
        lines[0] = re.sub(r"(?<!:):(?!:)(?=\s|$)", COLON, lines[0])


def finish_fields(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Undo :func:`keep_colons` once napoleon is through, and make links of the types that are returned."""
    for i, line in enumerate(lines):
        line = line.replace(COLON, ":")
        if found := re.match(r"\s*:returns: \*(\w+)\*", line):
            home = getattr(obj, "__module__", "")
            entry = entries().get(f"fairbook.{found[1]}") or entries().get(f"{home}.{found[1]}")
            if entry is not None:
                line = line.replace(f"*{found[1]}*", f":py:class:`~{entry.name}`", 1)
        lines[i] = line


#: What no formula is looked for in: code, roles and references, bold and italic words.
MARKUP = re.compile(r"(``[^`]*``|(?::[\w:]+:)?`[^`]*`_{0,2}|\*\*?[^*]+\*\*?)")
ORDER = re.compile(r"\bO\(((?:[^()]|\([^()]*\))+)\)")
#: A letter with an index or an exponent, as docstrings write them: x_i^k, W_k, y_i^{k-1}, n^2; also 10^6.
SYMBOL = re.compile(
    r"(?<![^\s(\[{<\"'/|-])([A-Za-z]|\d+(?=\^))(?:_(\w{1,3}|\{[^{}]+\}))?(?:\^(-?\w{1,2}|\{[^{}]+\}))?"
    r"(?![^\s)\]}>\"'/.,:;!?-])"
)


def typeset(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Typeset orders of growth and indexed letters, which docstrings write as O(n m^2) and x_i^k; leave code alone."""
    in_code = False
    for i, line in enumerate(lines):
        in_code = line.lstrip().startswith(">>>") or (in_code and bool(line.strip()))
        if not in_code:
            lines[i] = typeset_text(line)


def typeset_text(text: str) -> str:
    """Typeset one line."""
    for pattern, tex in ((ORDER, _order), (SYMBOL, _symbol)):
        parts = MARKUP.split(text)
        text = "".join(part if i % 2 else pattern.sub(tex, part) for i, part in enumerate(parts))
    return text


def _order(found: re.Match[str]) -> str:
    inner = re.sub(r"\blog\b", r"\\log", found[1])
    inner = re.sub(r"(?<![\\\w])[A-Za-z]{2,}\b", lambda word: rf"\text{{ {word[0]} }}", inner)
    return rf":math:`O({inner.replace(' * ', ' ')})`"


def _symbol(found: re.Match[str]) -> str:
    base, below, above = found.groups()
    if not (below or above):
        return found[0]
    index = f"_{{{below.strip('{}')}}}" if below else ""
    return f":math:`{base}{index}" + (f"^{{{above.strip('{}')}}}`" if above else "`")


def resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Lead a reference by another name of an object to the place where it is described."""
    if node.get("refdomain") != "py":
        return None
    target, known = node["reftarget"], entries()
    entry = known.get(target)
    if entry is None and node.get("reftype") == "mod":  # a package has no page of its own: its first object
        entry = next((e for e in known.values() if e.name.startswith(f"{target}.")), None)
    if entry is None:
        owner, _, member = target.rpartition(".")
        if owner in known:  # a method, by another name of its class
            return _link(app, env, node, content, f"{known[owner].name}.{member}")
        alike = {e.name: e for name, e in known.items() if name.endswith(f".{target}")}
        near = [e for e in alike.values() if e.home.startswith(("fairbook.mechanisms", "fairbook.model"))]
        entry = next(iter(alike.values())) if len(alike) == 1 else near[0] if len(near) == 1 else None
    return None if entry is None else _link(app, env, node, content, entry.name)


def _link(app: Any, env: Any, node: Any, content: Any, name: str) -> Any:
    return env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    write(Path(app.srcdir) / "book" / "api")
    for extension in ("sphinx.ext.autodoc", "sphinx.ext.napoleon"):
        app.setup_extension(extension)
    app.connect("source-read", read_source)
    app.connect("autodoc-process-signature", shown_signature)
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # napoleon comes at 500
    app.connect("autodoc-process-docstring", finish_fields, priority=600)
    app.connect("autodoc-process-docstring", typeset, priority=700)
    app.connect("missing-reference", resolve)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
