"""Sphinx extension: the API reference and the page on the command line, made from the code while the book is built.

Each public module, one with an ``__all__``, has a page ``book/api/fairbook.<module>.rst``: what it is, autosummary's
table of its names, and each of them by autodoc. A page in Markdown may ask for the help of all commands:

    ```{commands}
    ```

Each object is described once, on the page of the module that makes it, under the shortest name that a caller can use
(``fairbook.drf``, not ``fairbook.mechanisms.pool.drf.drf``); references by its other names lead there.
autosummary and autoapi alone know only the name that a module has for it.
"""

import argparse
import importlib
import inspect
import pkgutil
import re
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import fairbook
from fairbook.files import write_whole
from fairbook.kernels import Kernel

BLOCK = "```{commands}\n```"
COLON = "\ue000"


@cache
def rooms() -> dict[str, dict[str, Any]]:
    """Give every module with an ``__all__``, and what is public there but for modules and kernels, by name."""
    found = {}
    for name in ["fairbook", *(info.name for info in pkgutil.walk_packages(fairbook.__path__, "fairbook."))]:
        module = importlib.import_module(name)
        public = {member: getattr(module, member) for member in getattr(module, "__all__", ())}
        found[name] = {key: one for key, one in public.items() if not isinstance(one, (types.ModuleType, Kernel))}
    return {name: public for name, public in found.items() if public}


def is_code(value: Any) -> bool:
    """Tell classes and functions from data."""
    return inspect.isclass(value) or inspect.isroutine(value)


def home(module: str, member: str) -> str:
    """Give the module that makes a public object: where a class or function is written, or the last to list it."""
    value = rooms()[module][member]
    if is_code(value) and member in rooms().get(value.__module__, ()):
        return str(value.__module__)
    below = [room for room in rooms() if is_code(value) or f"{room}.".startswith(f"{module}.")]  # numbers may be equal
    return max((room for room in below if rooms()[room].get(member) is value), key=len)


@cache
def names() -> dict[str, str]:
    """Give the name under which each public object is described, by each of its names; data have comments at home."""
    same: dict[str, list[str]] = {}
    for module, public in rooms().items():
        for member, value in public.items():
            written = f"{value.__module__}.{member}" if is_code(value) else f"{module}.{member}"
            same.setdefault(f"{home(module, member)}.{member}", []).extend([f"{module}.{member}", written])
    described = {
        first: min(others, key=lambda name: (name.count("."), name)) if is_code(value_of(first)) else first
        for first, others in same.items()
    }
    return {name: described[first] for first, others in same.items() for name in [*others, first]}


def value_of(name: str) -> Any:
    """Give a public object by its name."""
    module, _, member = name.rpartition(".")
    return rooms()[module][member]


@cache
def pages() -> dict[str, dict[str, Any]]:
    """Give what is described on the page of each module, by its name: functions, classes, data."""
    found: dict[str, dict[str, Any]] = {}
    for module, public in sorted(rooms().items()):
        for member, value in sorted(public.items(), key=lambda one: (not inspect.isroutine(one[1]), one[0])):
            place = home(module, member)
            found.setdefault(place, {})[names()[f"{place}.{member}"]] = value
    return found


def reference(module: str) -> str:
    """Write the page of a module."""
    lines = [
        module,
        "=" * len(module),
        "",
        f".. automodule:: {module}",
        "",
        ".. autosummary::",
        "   :nosignatures:",
        "",
    ]
    lines += [f"   {name.removeprefix(f'{module}.')}" for name in pages()[module]]
    for name, value in pages()[module].items():
        kind = "class" if inspect.isclass(value) else "function" if inspect.isroutine(value) else "data"
        lines += ["", f".. auto{kind}:: {name}", *(["   :members:"] if kind == "class" else [])]
        lines += ["   :no-value:"] if kind == "data" and len(repr(value)) > 40 else []
    return "\n".join([*lines, ""])


def write(folder: Path) -> None:
    """Write the pages of all modules, and take away those of modules that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in set(folder.glob("fairbook*.rst")) - {folder / f"{module}.rst" for module in pages()}:
        path.unlink(missing_ok=True)
    for module in pages():
        path, text = folder / f"{module}.rst", reference(module)
        if not path.exists() or path.read_text("utf8") != text:
            write_whole({path: text.encode()})


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and those of all commands below it, in the order in which ``--help`` lists them."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in dict.fromkeys(action.choices.values()):
                yield from parsers(below)


def commands() -> str:
    """Write what replaces a ``commands`` block: the help of each command."""
    from fairbook.cli import make_parser

    lines = []
    for parser in parsers(make_parser()):
        parser.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=100)
        lines += [f"## {parser.prog}", "", "```text", parser.format_help().rstrip(), "```", ""]
    return "\n".join(lines)


def read_source(app: Any, docname: str, source: list[str]) -> None:
    """Put the commands where a page asks for them."""
    source[0] = source[0].replace(BLOCK, commands()) if BLOCK in source[0] else source[0]


def shown_signature(app: Any, what: str, name: str, obj: Any, _: Any, args: str | None, *__: Any) -> Any:
    """Leave out signatures that say nothing: those of exceptions without their own, and of protocols."""
    silent = what == "exception" and "__init__" not in vars(obj)
    return ("", "") if args and (silent or (what == "class" and getattr(obj, "_is_protocol", False))) else None


def skipped(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, whose docstrings say only that they are fields."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def hide_colons(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Hide the colons of a property's first line from napoleon, which takes what stands before one for a type."""
    if what in ("property", "attribute", "data") and lines:
        lines[0] = re.sub(r"(?<!:):(?!:)(?=\s|$)", COLON, lines[0])


def show_colons(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Undo :func:`hide_colons` once napoleon is through."""
    lines[:] = [line.replace(COLON, ":") for line in lines]


def resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Lead a reference by another name of an object, or of its class, to the place where it is described."""
    if node.get("refdomain") != "py":
        return None
    target, known = node["reftarget"], names()
    owner, _, member = target.rpartition(".")
    alike = {name for other, name in known.items() if other.endswith(f".{target}")}
    inside = [name for other, name in known.items() if other.startswith(f"{target}.")]  # of a package
    if target in known:
        name = known[target]
    elif owner in known:
        name = f"{known[owner]}.{member}"
    elif alike or (inside and node.get("reftype") == "mod"):
        name = min(alike or inside[:1], key=lambda one: (one.count("."), one))
    else:  # what type aliases are made of
        return content if target.startswith(("collections.", "numpy.")) else None
    return env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    if not app.tags.has("page"):  # else its pages stay as they were
        write(Path(app.srcdir) / "book" / "api")
    for extension in ("sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"):
        app.setup_extension(extension)
    app.config.autosummary_generate = False
    app.connect("source-read", read_source)
    app.connect("autodoc-process-signature", shown_signature)
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", hide_colons, priority=400)  # napoleon comes at 500
    app.connect("autodoc-process-docstring", show_colons, priority=600)
    app.connect("missing-reference", resolve)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
