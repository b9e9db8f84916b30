"""Change one thing at a time in rules and engines, and see whether a test notices: ``make mutants``.

    python -m tools.mutants [TRIES]    try at most so many of the mutants of which nothing is known yet

A *mutant* is the library with one operator, comparison, index or constant changed in a function of a mechanism. Drawn
are those whose hash with a seed is smallest: :data:`EACH` of what each mechanism of the registry runs, then of all, up
to :data:`ALL`. The hash is of the function's name and text without comments, so code that did not change keeps its
mutants wherever it moves, and ``tests/mutants.csv`` keeps what is known of them: the test that fails, behind "limit: "
where the test did not end in five times its time; or, behind "no effect: " and written by hand, why none can fail. The
others survive.

Run are those tests of ``make quick`` that judge mechanisms and enter the function, the quickest first. They are
collected once; each mutant has a fork of this process, in which the code of its function is replaced, and kernels run
as plain Python. Left out are tests that fail or take long that way: what they alone notice is a survivor here.

By hand, for mutmut leaves functions with decorators alone, as all kernels have them, and cosmic-ray starts pytest anew
for each mutant, which takes longer than most of the tests, and has numba compile.
"""

from __future__ import annotations

import ast
import builtins
import csv
import hashlib
import importlib
import inspect
import operator
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import Any, NamedTuple, TextIO

import pytest
from _pytest.runner import runtestprotocol

from fairbook import kernels
from fairbook.mechanisms.rows import registry

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tests" / "mutants.csv"
SEED, EACH, ALL = 2026, 20, 400
LONG = 1.5  # seconds of processor time, for a test with plain kernels
MARKS = "not book and not browser and not slow and not traces"
#: Files of tests that judge mechanisms.
JUDGES = """filling drf dmfa_srq cbdrf karma tv_drf sequential_minmax placement clusters packing
    virtual_cluster virtual_cluster_pool matrix certificates online stateful protocol properties_cbdrf
    properties_tv_drf properties_gdrf properties_virtual_cluster kernels judges"""

SWAPS: dict[type, Any] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr, ast.And: ast.Or, ast.Or: ast.And, ast.USub: ast.UAdd, ast.Not: ast.UAdd, ast.Lt: ast.LtE,
    ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
PAIRS = [("min", "max"), ("argmin", "argmax"), ("minimum", "maximum"), ("any", "all")]
NAMES = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
SAID = {"annotation", "returns", "decorator_list"}  # and messages: no change of what runs


class Mutant(NamedTuple):
    """A change: in the tree of a module this field of this node, in a unit (module:function or module:class.method)."""

    unit: str
    change: str
    key: str
    tree: ast.Module
    node: Any
    field: str
    value: Any


def units() -> dict[str, tuple[ast.Module, ast.FunctionDef]]:
    """Give functions and methods of the mechanisms, each with the tree of its module."""
    found = {}
    for path in [*sorted((ROOT / "fairbook/mechanisms").rglob("*.py")), *ROOT.glob("fairbook/filling.py")]:
        tree = ast.parse(path.read_text("utf8"))
        made = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and ast.unparse(one.func) == "kernel"]
        no = {"overload", *(ast.unparse(steps) for one in made for steps in one.args)}  # when to compile, not what
        for node in tree.body:
            for one in getattr(node, "body", []) if isinstance(node, ast.ClassDef) else [node]:
                if isinstance(one, ast.FunctionDef) and not no & {one.name, *map(ast.unparse, one.decorator_list)}:
                    name = one.name if one is node else f"{node.name}.{one.name}"  # type: ignore[attr-defined]
                    found[f"{module_of(path)}:{name}"] = tree, one
    return found


def module_of(path: Path) -> str:
    """Give the name of a module."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def changes(node: Any) -> Iterator[tuple[Any, str, Any]]:
    """Give node, field and new value of each change; none is made."""
    match node:
        case ast.Raise() | ast.JoinedStr():
            return
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp() | ast.UnaryOp() if type(node.op) in SWAPS:
            yield node, "op", SWAPS[type(node.op)]()
        case ast.Compare(ops=ops):
            yield from ((node, "ops", [*ops[:k], SWAPS[type(op)](), *ops[k + 1 :]]) for k, op in enumerate(ops))
        case ast.Constant(value=bool(value)):
            yield node, "value", not value
        case ast.Constant(value=int(value) | float(value)):  # a tolerance, a number, a limit
            yield node, "value", 0.0 if 0 < value < 1e-6 else value + 1 if value < 100 else 2 * value
        case ast.Subscript(slice=ast.Name()):
            yield node, "slice", ast.BinOp(node.slice, ast.Sub(), ast.Constant(1))
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in NAMES:
            yield node, "id" if isinstance(node, ast.Name) else "attr", NAMES[name]
    for field, value in ast.iter_fields(node):
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST) and field not in SAID:
                yield from changes(one)


def mutants_of(unit: str, tree: ast.Module, function: ast.FunctionDef) -> Iterator[Mutant]:
    """Make the mutants of a unit."""
    body = function.body[ast.get_docstring(function) is not None :]
    text = ast.unparse(function.args) + ast.unparse(body)  # type: ignore[arg-type]
    for number, (node, field, value) in enumerate(changes(function)):
        old, before = getattr(node, field), ast.unparse(node)
        setattr(node, field, value)
        change = f"{before} -> {ast.unparse(node)}"
        setattr(node, field, old)
        key = hashlib.sha256(f"{SEED} {function.name} {number} {text}".encode()).hexdigest()[:12]
        yield Mutant(unit, change, key, tree, node, field, value)


def run_by(found: dict[str, tuple[ast.Module, ast.FunctionDef]]) -> dict[str, set[str]]:
    """Give what each mechanism runs: functions and classes that bear its name, those that these name, and so on."""
    home: dict[str, str] = {}
    names: dict[str, set[str]] = defaultdict(set)
    for unit, (tree, node) in found.items():
        module = unit.split(":")[0]
        imports = [one for one in tree.body if isinstance(one, ast.ImportFrom)]
        home |= {f"{module}:{name.name}": f"{one.module}:{name.name}" for one in imports for name in one.names}
        names[top(unit)] |= {f"{module}:{one.id}" for one in ast.walk(node) if isinstance(one, ast.Name)}
    runs: dict[str, set[str]] = defaultdict(set)
    for row in registry.values():
        todo = [one for one in names if one.split(":")[1] in (row.name, f"{row.name}_rule", row.online)]
        while todo:
            here = todo.pop()
            if here in names and here not in runs[row.name]:
                runs[row.name].add(here)
                todo += [home.get(one, one) for one in names[here]]
    return runs


def top(unit: str) -> str:
    """Give the class of a method, the function itself elsewhere."""
    module, name = unit.split(":")
    return f"{module}:{name.split('.')[0]}"


def drawn() -> list[Mutant]:
    """Draw the mutants."""
    found = units()
    ordered = sorted((one for unit in found for one in mutants_of(unit, *found[unit])), key=lambda one: one.key)
    chosen: dict[str, Mutant] = {}
    for runs in run_by(found).values():
        chosen |= {one.key: one for one in [one for one in ordered if top(one.unit) in runs][:EACH]}
    for one in ordered:
        if len(chosen) < ALL:
            chosen[one.key] = one
    return sorted(chosen.values())


def put_in(tree: ast.Module, units: list[str]) -> None:
    """Replace the code of these units of a module by that of a tree, here and now."""
    module = units[0].split(":")[0]
    old, new = importlib.import_module(module), ModuleType(module)
    exec(compile(ast.fix_missing_locations(tree), str(old.__file__), "exec"), vars(new))
    for unit in units:
        name = unit.split(":")[1]
        both = [operator.attrgetter(name)(one) for one in (old, new)]
        here, there = (inspect.unwrap(getattr(one, "fget", one)) for one in both)
        here.__code__, here.__defaults__, here.__kwdefaults__ = there.__code__, there.__defaults__, there.__kwdefaults__


def watch() -> None:
    """Let each unit put its name into ENTERED when it is called."""
    modules = defaultdict(list)
    for unit, (tree, node) in units().items():
        node.body[:0] = ast.parse(f"ENTERED.add({unit!r})").body
        modules[tree].append(unit)
    vars(builtins)["ENTERED"] = set()
    for tree, names in modules.items():
        put_in(tree, names)


def forked(work: Callable[[TextIO], bool]) -> tuple[int, list[str]]:
    """Call it in a fork of this process: 0 if it returned True, below if it was killed; and the lines that it wrote."""
    with TemporaryFile("w+", buffering=1, encoding="utf8") as file:
        child = os.fork()
        if child == 0:
            try:
                os._exit(not work(file))
            finally:
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        file.seek(0)
        return code, file.read().splitlines()


def passes(item: pytest.Item, seconds: float) -> bool:
    """Run a test; the system kills this process where it takes more seconds of processor time, or much memory."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, resource.RLIM_INFINITY))
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def measured(item: pytest.Item) -> tuple[str, bool, float, list[str]]:
    """Give the hash of a test and what it touches, whether it passes, its seconds, and the units that it enters."""

    def work(file: TextIO) -> bool:
        done = passes(item, LONG)
        print(time.process_time(), *vars(builtins)["ENTERED"], sep="\n", file=file)
        return done

    code, lines = forked(work)
    return stamp(item, lines[1:]), code == 0, float(lines[0]) if lines else LONG, lines[1:]


def stamp(item: pytest.Item, touched: list[str]) -> str:
    """Hash the file of a test and those of the units that it enters."""
    files = {item.path, *(ROOT.joinpath(*one.split(":")[0].split(".")).with_suffix(".py") for one in touched)}
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()


def tried(mutant: Mutant, tests: list[tuple[pytest.Item, float]]) -> str:
    """Give the test that notices a mutant, behind "limit: " where it did not end; empty where none does."""

    def work(file: TextIO) -> bool:
        print("import", file=file)
        setattr(mutant.node, mutant.field, mutant.value)
        put_in(mutant.tree, [mutant.unit])
        return all(not print(item.nodeid, file=file) and passes(item, 5 * seconds + 1) for item, seconds in tests)

    code, lines = forked(work)
    return "limit: " * (code < 0) + lines[-1] if code else ""


class Trials:
    """A plugin of pytest that tries mutants in place of running the tests."""

    def __init__(self, tries: int) -> None:
        self.tries = tries

    def pytest_configure(self) -> None:
        """Let hypothesis draw the same examples each time, and shrink none."""
        from hypothesis import Phase, settings  # after pytest, which rewrites a part of it

        settings.register_profile("mutants", derandomize=True, database=None, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Find out what the tests touch, try the mutants, and keep what is found."""
        say, cache = session.config.get_terminal_writer().line, session.config.cache
        kernels._numba = lambda: None  # type: ignore[assignment]
        watch()
        known = cache.get("mutants/tests", {})
        old = [
            one
            for one in session.items
            if known.get(one.nodeid, [""])[0] != stamp(one, known.get(one.nodeid, [[]])[-1])
        ]
        for item in old:
            known[item.nodeid] = measured(item)
            cache.set("mutants/tests", known)
        tests = sorted((one for one in session.items if known[one.nodeid][1]), key=lambda one: known[one.nodeid][2])
        say(f"{len(tests)} of {len(session.items)} tests pass in time with plain kernels")
        with KEPT.open(encoding="utf8", newline="") as file:
            kept = {row["key"]: row["noticed"] for row in csv.DictReader(file)}
        mutants = drawn()
        entered = {unit for item in tests for unit in known[item.nodeid][3]}
        todo = [one for one in mutants if not kept.get(one.key) and one.unit in entered]
        for one in sorted(todo, key=lambda one: one.key in kept)[: self.tries]:  # survivors last
            here = [(item, known[item.nodeid][2]) for item in tests if one.unit in known[item.nodeid][3]]
            kept[one.key] = tried(one, here)
            say(f"{one.unit}: {one.change}: {kept[one.key] or 'SURVIVES'}")
            with KEPT.open("w", encoding="utf8", newline="") as file:
                rows = [(*one[:3], kept[one.key]) for one in mutants if one.key in kept]
                csv.writer(file, lineterminator="\n").writerows([("unit", "change", "key", "noticed"), *rows])
        left = [one.key for one in mutants if not kept.get(one.key)]
        say(f"{len(mutants)} mutants, {len(left)} not noticed, {len(set(left) - kept.keys())} of them not tried yet")
        return bool(left)


def main(tries: str = str(ALL), *names: str) -> int:
    """Try mutants; the exit code is 0 where all are noticed or have no effect."""
    options = ["-q", "--capture=sys", "-o", "addopts=--doctest-modules --strict-markers", "-m", MARKS]
    chosen = [f"test_{name}.py" for name in names or JUDGES.split()]
    files = [str(path) for path in sorted(ROOT.glob("tests/*/test_*.py")) if path.name in chosen]
    return pytest.main([*options, *files, "fairbook/mechanisms"], plugins=[Trials(int(tries))])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
