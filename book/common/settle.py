"""How statements are settled case by case: what the papers' modules share.

A paper's module describes its mechanism twice: as constraints (a :class:`BaseEncoding`) and in plain arithmetic on
fractions (a class of instances of which nothing is asked here). A :class:`BaseStatement` speaks about both, and a
:class:`BaseCase` joins one statement, one index and one size. :func:`settle_cases` then asks the questions.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeVar

from book.common.smt import Answer, Products, Status, ask, require_z3, smtlib
from fairbook.errors import InvalidInput

__all__ = [
    "BaseCase",
    "BaseEncoding",
    "BaseStatement",
    "Index",
    "Row",
    "Settling",
    "check_name",
    "check_sizes",
    "demand_rows",
    "each_k",
    "each_k_i",
    "each_k_i_h",
    "settle_cases",
    "widened",
]

Index = tuple[int, ...]
Row = tuple[Fraction, ...]

#: How much more a linear question may use than a polynomial one.
_LINEAR_FACTOR = 50


def check_name(argument: str, value: str, names: Collection[str]) -> None:
    if value not in names:
        raise InvalidInput(argument, f"must be one of {sorted(names)}", value)


def check_sizes(**sizes: int) -> None:
    for name, value in sizes.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidInput(name, "must be an integer, at least 1", value)


# ---------------------------------------------------------------------------------------------------------------
# What a paper's module is made of
# ---------------------------------------------------------------------------------------------------------------


class BaseEncoding:
    """Variables and constraints of one case, to begin with none.

    Parameters
    ----------
    m : int
        Number of resources.
    rows : sequence of (str, int)
        Kind (the letters that its variables start with) and user of each row of demands or claims. Users are counted
        from 0, but from 1 in the names of variables.
    linear : bool
        Whether products are relaxed; see :class:`book.common.smt.Products`.
    dominant : sequence of int, optional
        Dominant resource of each row; left open by default.

    Attributes
    ----------
    z3 : module
    products : Products
    premises : list of z3.BoolRef
    dominant : dict of (str, int) to int
    """

    def __init__(
        self, m: int, rows: Sequence[tuple[str, int]], linear: bool, dominant: Sequence[int] | None = None
    ) -> None:
        self.z3 = require_z3()
        self.m = m
        self.products = Products(linear)
        self.premises: list[Any] = []
        self.dominant = dict(zip(rows, dominant, strict=True)) if dominant is not None else {}

    def real(self, name: str) -> Any:
        return self.z3.Real(name)

    def number(self, value: Fraction | int) -> Any:
        return self.z3.RealVal(str(value))

    def row(self, kind: str, i: int, largest: Any = 1, nonnegative: bool = False) -> list[Any]:
        """Demands or claims of user i, the largest of which is given; it stands for the dominant one if that is set."""
        where = self.dominant.get((kind, i))
        known = self.number(largest) if isinstance(largest, int) else largest
        row = [known if j == where else self.real(f"{kind}{i + 1}_{j + 1}") for j in range(self.m)]
        for j, entry in enumerate(row):
            if j != where:
                self.premises += [entry >= 0 if nonnegative else entry > 0, entry <= largest]
        if where is None:
            self.premises.append(self.z3.Or([entry == largest for entry in row]))
        return row


Encoding = TypeVar("Encoding", bound=BaseEncoding)
World = TypeVar("World")


@dataclass(frozen=True)
class BaseStatement(Generic[Encoding, World]):
    """One statement.

    Attributes
    ----------
    locator : str
        Where the paper makes it; "ours" where it does not.
    text : str
    index : str
        Names of the entries of a case's index, counted from 1 as in the paper.
    indices : callable
        All cases with up to n users.
    encode : callable
        Hypothesis and conclusion over an encoding.
    judge : callable
        The same over an instance in fractions.
    caught : dict of str to int
        Mutants that must refute the statement, each with the number of users at which it does (two resources).
    """

    locator: str
    text: str
    index: str
    indices: Callable[[int], Iterator[Index]]
    encode: Callable[[Encoding, Index], tuple[Any, Any]]
    judge: Callable[[World, Index], tuple[bool, bool]]
    caught: Mapping[str, int] = field(default_factory=dict)

    def broken(self, world: World, index: Index) -> bool:
        """Whether the hypothesis holds in an instance and the conclusion does not."""
        hypothesis, conclusion = self.judge(world, index)
        return hypothesis and not conclusion


def each_k(n: int) -> Iterator[Index]:
    yield from ((k,) for k in range(1, n + 1))


def each_k_i(n: int) -> Iterator[Index]:
    yield from ((k, i) for k in range(1, n + 1) for i in range(1, k + 1))


def each_k_i_h(n: int) -> Iterator[Index]:
    yield from ((k, i, h) for k in range(2, n + 1) for i in range(1, k + 1) for h in range(1, k + 1) if i != h)


class BaseCase(ABC, Generic[Encoding, World]):
    """One case of a statement: what is asked, and how instances in fractions and models of the solver translate."""

    entry: BaseStatement[Encoding, World]
    index: Index
    m: int

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of rows of demands and claims."""

    @abstractmethod
    def encoding(self, linear: bool, dominant: Sequence[int] | None) -> Encoding:
        """Encode the mechanism, without the statement."""

    @abstractmethod
    def inputs(self, e: Encoding, world: World) -> Iterable[tuple[Any, Fraction]]:
        """Every input of an encoding with its value in an instance."""

    @abstractmethod
    def near(self, answer: Answer, precision: int) -> World | None:
        """Instance of a model, with inputs rounded to a largest denominator; None if that is no instance."""

    @abstractmethod
    def suggested(self) -> Iterator[World]:
        """Instances known to be worth a try; they are judged like any other."""

    @abstractmethod
    def instances(self, largest: int) -> Iterator[World]:
        """All instances with numerators and denominators up to `largest`, the simplest first."""

    @abstractmethod
    def describe(self, world: World) -> dict[str, Any]:
        """Write an instance as a witness, users counted from 1."""

    def assertions(
        self, linear: bool, dominant: Sequence[int] | None = None, negate: bool = True
    ) -> tuple[list[Any], Encoding]:
        """Premises, hypothesis and, if `negate`, the negated conclusion; and the encoding they are over."""
        e = self.encoding(linear, dominant)
        hypothesis, conclusion = self.entry.encode(e, self.index)
        formulas = [*e.premises, hypothesis] + ([e.z3.Not(conclusion)] if negate else [])
        formulas += e.products.axioms()
        return [e.z3.BoolVal(f) if isinstance(f, bool) else f for f in formulas], e

    def fixed(self, world: World, negate: bool) -> list[Any]:
        """Assertions with true products and every input fixed to that of an instance."""
        formulas, e = self.assertions(linear=False, negate=negate)
        return formulas + [variable == e.number(value) for variable, value in self.inputs(e, world)]

    def question(self, linear: bool = True) -> str:
        """Write "is there a counterexample?" as an SMT-LIB 2 script, relaxed or with true products."""
        return smtlib(self.assertions(linear)[0])

    def breaks(self, world: World) -> bool:
        return self.entry.broken(world, self.index)


def demand_rows(rows: int, m: int, denominator: int, nonnegative: bool = False) -> Iterator[tuple[Row, ...]]:
    """All rows of fractions up to 1, with a 1 in each row and this least common denominator of them all."""
    entries = [Fraction(p, denominator) for p in range(denominator, -1 if nonnegative else 0, -1)]
    choices = [row for row in itertools.product(entries, repeat=m) if max(row) == 1]
    for chosen in itertools.product(choices, repeat=rows):
        if math.lcm(*(x.denominator for row in chosen for x in row)) == denominator:
            yield chosen


def widened(row: Sequence[str], m: int) -> Row:
    """Write a row for `m` resources: a further resource that is a copy of the last one changes nothing."""
    return tuple(Fraction(row[min(j, len(row) - 1)]) for j in range(m))


def _patterns(rows: int, m: int) -> Iterator[tuple[int, ...]]:
    """Dominant resource of each row, one pattern for each class under renaming of the resources."""

    def extend(prefix: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(prefix) == rows:
            yield prefix
            return
        for resource in range(min(max(prefix, default=-1) + 2, m)):
            yield from extend((*prefix, resource))

    yield from extend(())


# ---------------------------------------------------------------------------------------------------------------
# Questions and answers
# ---------------------------------------------------------------------------------------------------------------


class Settling:
    """What is known about one statement so far, and the steps that add to it.

    Parameters
    ----------
    rlimit : int
        Resource limit of a polynomial question; a linear one may use 50 times as much.
    tries : int
        How many small instances are tried for each case.

    Attributes
    ----------
    witness : dict or None
        Counterexample, as soon as there is one.
    """

    def __init__(self, rlimit: int, tries: int) -> None:
        self.rlimit, self.tries = rlimit, tries
        self.witness: dict[str, Any] | None = None
        self._cases = self._unsat = self._sat = self._unknown = self._vacuous = self._units = 0
        self._premises = False
        self._methods: set[str] = set()

    @property
    def status(self) -> Status:
        if self.witness is not None:
            return "refuted"
        if self._unknown:
            return "unknown"
        return "holds" if self._premises else "vacuous"

    def counts(self) -> dict[str, Any]:
        """Return what :class:`book.common.smt.Settled` holds besides the status and what was asked."""
        return {
            "method": " and ".join(sorted(self._methods)),
            "cases": self._cases,
            "unsat": self._unsat,
            "sat": self._sat,
            "unknown": self._unknown,
            "vacuous": self._vacuous,
            "premises_satisfiable": self._premises,
            "witness": self.witness,
            "resource_units": self._units,
        }

    def count(self, result: str, impossible: bool = False) -> None:
        """Count a question; `impossible` says that its premises are so by themselves."""
        self._cases += 1
        self._unsat += result == "unsat"
        self._sat += result == "sat"
        self._unknown += result == "unknown"
        self._vacuous += result == "unsat" and impossible

    def _ask(self, assertions: Sequence[Any], linear: bool) -> Answer:
        answer = ask(assertions, linear=linear, rlimit=_LINEAR_FACTOR * self.rlimit if linear else self.rlimit)
        self._units += answer.resource_units
        return answer

    def _worlds(self, case: BaseCase[Any, World], largest: int) -> Iterator[World]:
        return itertools.chain(case.suggested(), itertools.islice(case.instances(largest), self.tries))

    def _confirmed(self, case: BaseCase[Any, World], world: World, negate: bool) -> str:
        """Ask the solver about an instance that plain arithmetic accepts."""
        result = self._ask(case.fixed(world, negate), linear=False).result
        if result == "unsat":
            raise AssertionError(f"encoding and plain arithmetic disagree at {case.describe(world)}")
        return result

    def _refuted_by(self, case: BaseCase[Any, World], world: World) -> bool:
        """Whether plain arithmetic and the encoding both say that an instance breaks the statement."""
        if not case.breaks(world) or self._confirmed(case, world, negate=True) != "sat":
            return False
        self.witness = case.describe(world)
        return True

    def impossible(self, case: BaseCase[Any, Any]) -> bool:
        """Whether nothing satisfies premises and hypothesis.

        Where plain arithmetic finds an instance that does, the solver confirms it.
        """
        result = self._premises_of(case)
        self._premises |= result == "sat"
        return result == "unsat"

    def _premises_of(self, case: BaseCase[Any, World]) -> str:
        worlds = self._worlds(case, 3)

        def next_instance(among: Iterator[World]) -> World | None:
            return next((world for world in among if case.entry.judge(world, case.index)[0]), None)

        instance = next_instance(itertools.islice(worlds, 20))
        if instance is None:
            if self._ask(case.assertions(linear=True, negate=False)[0], linear=True).result == "unsat":
                return "unsat"
            instance = next_instance(worlds)
        if instance is None:
            return self._ask(case.assertions(linear=False, negate=False)[0], linear=False).result
        return self._confirmed(case, instance, negate=False)

    def relaxed(self, case: BaseCase[Any, Any], impossible: bool) -> bool:
        """Whether the relaxation settles one case."""
        if self._ask(case.assertions(linear=True)[0], linear=True).result != "unsat":
            return False
        self._methods.add("linear relaxation")
        self.count("unsat", impossible)
        return True

    def tried(self, case: BaseCase[Any, Any], largest: int) -> bool:
        """Whether one of the suggested or small instances breaks one case."""
        if not any(self._refuted_by(case, world) for world in self._worlds(case, largest)):
            return False
        self._methods.add("witness")
        self.count("sat")
        return True

    def attacked(self, case: BaseCase[Any, Any], impossible: bool) -> bool:
        """Ask one case with true products, split by dominant resources; return whether there is a counterexample."""
        self._methods.add("nonlinear")
        for dominant in _patterns(case.rows, case.m):
            answer = self._ask(case.assertions(False, dominant)[0], linear=False)
            if answer.result == "sat":
                # The coarsest rational instance that both judges confirm is kept.
                worlds = (case.near(answer, precision) for precision in (4, 10, 100, 10**4, 10**8, 10**16))
                if any(world is not None and self._refuted_by(case, world) for world in worlds):
                    self.count("sat")
                    return True
            self.count("unsat" if answer.result == "unsat" else "unknown", impossible)
        return False


def settle_cases(
    cases: Sequence[BaseCase[Any, Any]],
    *,
    method: str,
    rlimit: int,
    tries: int,
    largest: int,
    at_once: bool,
) -> Settling:
    """Settle the cases of one statement; the first counterexample ends it.

    Parameters
    ----------
    cases : sequence of BaseCase
    method : {"auto", "linear", "nonlinear"}
        ``linear`` asks the relaxation only, ``nonlinear`` only asks with true products. ``auto`` asks the relaxation,
        then tries small instances, then asks with true products what is still open.
    rlimit, tries : int
        See :class:`Settling`.
    largest : int
        Largest denominator of the instances tried.
    at_once : bool
        Whether instances of an open case are tried before the relaxation is asked about the next case, or after it was
        asked about all. This decides how many cases are counted where there is a counterexample.
    """
    if method not in ("auto", "linear", "nonlinear"):
        raise InvalidInput("method", "must be 'auto', 'linear' or 'nonlinear'", method)
    settling = Settling(rlimit, tries)
    still_open = []
    for case in cases:
        impossible = settling.impossible(case)
        if method != "nonlinear" and settling.relaxed(case, impossible):
            continue
        if method == "auto" and at_once and settling.tried(case, largest):
            return settling
        still_open.append((case, impossible))
    if method == "linear":
        for _ in still_open:
            settling.count("unknown")
        return settling
    if method == "auto" and not at_once and any(settling.tried(case, largest) for case, _ in still_open):
        return settling
    for case, impossible in still_open:
        if settling.attacked(case, impossible):
            break
    return settling
