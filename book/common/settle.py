"""How statements are settled case by case: what the papers' modules share.

A paper's module describes its mechanism twice: as constraints (a :class:`BaseEncoding`) and in plain arithmetic on
fractions (a class of instances of which nothing is asked here). A :class:`Statement` speaks about both, and a
:class:`BaseCase` joins one statement, one index and one size. :func:`settle_cases` then asks the questions.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

from book.common.runs import choices
from book.common.smt import Answer, Products, Settled, Status, ask, require_z3
from fairbook.model.inputs import as_whole

Index = tuple[int, ...]
Row = tuple[Fraction, ...]

#: How much more a linear question may use than a polynomial one.
_LINEAR_FACTOR = 50


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
class Statement:
    """One statement.

    Attributes
    ----------
    locator : str
        Where the paper makes it; "ours" where it does not.
    text : str
    index : str
        Names of the entries of a case's index, counted from 1 as in the paper; the first is the number of users in it.
    indices : callable
        All cases with up to n users.
    encode : callable
        Hypothesis and conclusion over an encoding, from it and the index: the first entry as it is, the others, which
        are users or places, counted from 0.
    judge : callable
        The same over an instance in fractions.
    caught : dict of str to int
        Mutants that must refute the statement, each with the number of users at which it does (two resources).
    liars : int
        How many of the users in the index, from its second entry on, claim other demands than they have.
    whole : bool
        Whether a case has all n users, and not only as many as its index says.
    suggestions : tuple
        Instances (demands, weights or credit factors, claims of users counted from 0) to try first.
    """

    locator: str
    text: str
    index: str
    indices: Callable[[int], Iterator[Index]]
    encode: Callable[..., tuple[Any, Any]]
    judge: Callable[..., tuple[bool, bool]]
    caught: Mapping[str, int] = field(default_factory=dict)
    liars: int = 0
    whole: bool = False
    suggestions: tuple[tuple[Sequence[Sequence[str]], Sequence[str], Mapping[int, Sequence[str]]], ...] = ()

    def broken(self, world: Any, index: Index) -> bool:
        """Whether the hypothesis holds in an instance and the conclusion does not."""
        hypothesis, conclusion = self.judge(world, *from_0(index))
        return hypothesis and not conclusion


def from_0(index: Index) -> Index:
    """Count users and places from 0."""
    return (index[0], *(entry - 1 for entry in index[1:]))


def each_k(n: int) -> Iterator[Index]:
    yield from ((k,) for k in range(1, n + 1))


def each_k_i(n: int) -> Iterator[Index]:
    yield from ((k, i) for k in range(1, n + 1) for i in range(1, k + 1))


def each_k_i_h(n: int) -> Iterator[Index]:
    yield from ((k, i, h) for k in range(2, n + 1) for i in range(1, k + 1) for h in range(1, k + 1) if i != h)


@dataclass(frozen=True)
class BaseCase(ABC, Generic[Encoding, World]):
    """One case of a statement: what is asked, and how instances in fractions and models of the solver translate.

    An instance consists of demands, of one number a user (its weight or its credit factor), and of claims.
    """

    #: Largest numerators and denominators of the small instances.
    largest: ClassVar[int]

    entry: Statement
    index: Index
    users: int
    m: int
    mechanism: str

    @property
    def liars(self) -> tuple[int, ...]:
        """Who claims other demands than it has, counted from 0."""
        return from_0(self.index)[1 : 1 + self.entry.liars]

    @property
    def rows(self) -> int:
        """Number of rows of demands and claims."""
        return self.users + len(self.liars)

    @abstractmethod
    def encoding(self, linear: bool, dominant: Sequence[int] | None) -> Encoding:
        """Encode the mechanism, without the statement."""

    @abstractmethod
    def instance(self, demands: Sequence[Row], numbers: Sequence[Fraction], claims: Mapping[int, Row]) -> World:
        """Run the mechanism on an instance in fractions."""

    @abstractmethod
    def inputs(self, e: Encoding, world: World) -> Iterable[tuple[Any, Fraction]]:
        """Every input of an encoding with its value in an instance."""

    @abstractmethod
    def near(self, answer: Answer, precision: int) -> World | None:
        """Instance of a model, with inputs rounded to a largest denominator; None if that is no instance."""

    @abstractmethod
    def instances(self) -> Iterator[World]:
        """All instances with numerators and denominators up to `largest`, the simplest first."""

    @abstractmethod
    def describe(self, world: World) -> dict[str, Any]:
        """Write an instance as a witness, users counted from 1."""

    def suggested(self) -> Iterator[World]:
        """Instances known to be worth a try; they are judged like any other."""
        for demands, numbers, claims in self.entry.suggestions:
            if len(demands) == self.users and len(demands[0]) <= self.m and tuple(claims) == self.liars:
                told = {i: _widened(row, self.m) for i, row in claims.items()}
                rows = [_widened(row, self.m) for row in demands]
                yield self.instance(rows, [Fraction(x) for x in numbers], told)

    def near_rows(self, answer: Answer, kind: str, scales: Mapping[int, Fraction], precision: int) -> dict[int, Row]:
        """Rows of a model over the largest entry that each may have, rounded to a largest denominator."""
        rows = {}
        for i, scale in scales.items():
            # An entry without a variable of its own is the dominant one.
            exact = [answer.values.get(f"{kind}{i + 1}_{j + 1}", scale) / scale for j in range(self.m)]
            rows[i] = tuple(Fraction(1) if x >= 1 else x.limit_denominator(precision) for x in exact)
        return rows

    def assertions(
        self, linear: bool, dominant: Sequence[int] | None = None, negate: bool = True
    ) -> tuple[list[Any], Encoding]:
        """Premises, hypothesis and, if `negate`, the negated conclusion; and the encoding they are over."""
        e = self.encoding(linear, dominant)
        hypothesis, conclusion = self.entry.encode(e, *from_0(self.index))
        formulas = [*e.premises, hypothesis] + ([e.z3.Not(conclusion)] if negate else [])
        formulas += e.products.axioms()
        return [e.z3.BoolVal(f) if isinstance(f, bool) else f for f in formulas], e

    def fixed(self, world: World, negate: bool) -> list[Any]:
        """Assertions with true products and every input fixed to that of an instance."""
        formulas, e = self.assertions(linear=False, negate=negate)
        return formulas + [variable == e.number(value) for variable, value in self.inputs(e, world)]


def demand_rows(rows: int, m: int, denominator: int, nonnegative: bool = False) -> Iterator[tuple[Row, ...]]:
    """All rows of fractions up to 1, with a 1 in each row and this least common denominator of them all."""
    entries = [Fraction(p, denominator) for p in range(denominator, -1 if nonnegative else 0, -1)]
    choices = [row for row in itertools.product(entries, repeat=m) if max(row) == 1]
    for chosen in itertools.product(choices, repeat=rows):
        if math.lcm(*(x.denominator for row in chosen for x in row)) == denominator:
            yield chosen


def _widened(row: Sequence[str], m: int) -> Row:
    """Write a row for `m` resources: a further resource that is a copy of the last one changes nothing."""
    return tuple(Fraction(row[min(j, len(row) - 1)]) for j in range(m))


def _patterns(rows: int, m: int) -> Iterator[tuple[int, ...]]:
    """Dominant resource of each row, one pattern for each class under renaming of the resources: new ones in order."""
    for pattern in itertools.product(range(m), repeat=rows):
        if all(resource <= max(pattern[:row], default=-1) + 1 for row, resource in enumerate(pattern)):
            yield pattern


# ---------------------------------------------------------------------------------------------------------------
# Questions and answers
# ---------------------------------------------------------------------------------------------------------------


class _Settling:
    """What is known about one statement so far, and the steps that add to it; see :func:`settle_cases`."""

    def __init__(self, rlimit: int, tries: int) -> None:
        self.rlimit, self.tries = rlimit, tries
        self.witness: dict[str, Any] | None = None
        self.counted = dict.fromkeys(("unsat", "sat", "unknown", "vacuous"), 0)
        self.premises = False
        self.methods: set[str] = set()

    @property
    def status(self) -> Status:
        if self.witness is not None:
            return "refuted"
        if self.counted["unknown"]:
            return "unknown"
        return "holds" if self.premises else "vacuous"

    def count(self, result: str, impossible: bool = False) -> None:
        """Count a question; `impossible` says that its premises are so by themselves."""
        self.counted[result] += 1
        self.counted["vacuous"] += result == "unsat" and impossible

    def _ask(self, assertions: Sequence[Any], linear: bool) -> Answer:
        return ask(assertions, linear=linear, rlimit=_LINEAR_FACTOR * self.rlimit if linear else self.rlimit)

    def _worlds(self, case: BaseCase[Any, World]) -> Iterator[World]:
        return itertools.chain(case.suggested(), itertools.islice(case.instances(), self.tries))

    def _confirmed(self, case: BaseCase[Any, World], world: World, negate: bool) -> str:
        """Ask the solver about an instance that plain arithmetic accepts."""
        result = self._ask(case.fixed(world, negate), linear=False).result
        if result == "unsat":
            raise AssertionError(f"encoding and plain arithmetic disagree at {case.describe(world)}")
        return result

    def _refuted_by(self, case: BaseCase[Any, World], world: World) -> bool:
        """Whether plain arithmetic and the encoding both say that an instance breaks the statement."""
        if not case.entry.broken(world, case.index) or self._confirmed(case, world, negate=True) != "sat":
            return False
        self.witness = case.describe(world)
        return True

    def impossible(self, case: BaseCase[Any, Any]) -> bool:
        """Whether nothing satisfies premises and hypothesis.

        Where plain arithmetic finds an instance that does, the solver confirms it.
        """
        result = self._premises_of(case)
        self.premises |= result == "sat"
        return result == "unsat"

    def _premises_of(self, case: BaseCase[Any, World]) -> str:
        worlds = self._worlds(case)

        def next_instance(among: Iterator[World]) -> World | None:
            return next((world for world in among if case.entry.judge(world, *from_0(case.index))[0]), None)

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
        self.methods.add("linear relaxation")
        self.count("unsat", impossible)
        return True

    def tried(self, case: BaseCase[Any, Any]) -> bool:
        """Whether one of the suggested or small instances breaks one case."""
        if not any(self._refuted_by(case, world) for world in self._worlds(case)):
            return False
        self.methods.add("witness")
        self.count("sat")
        return True

    def attacked(self, case: BaseCase[Any, Any], impossible: bool) -> bool:
        """Ask one case with true products, split by dominant resources; return whether there is a counterexample."""
        self.methods.add("nonlinear")
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
    case: Callable[[Statement, Index, int, int, str], BaseCase[Any, Any]],
    statements: Mapping[str, Statement],
    *,
    statement: str,
    n: int,
    m: int,
    demands: str,
    mechanism: str,
    method: str,
    rlimit: int,
    tries: int,
) -> Settled:
    """Settle the cases of one statement; the first counterexample ends it.

    Parameters
    ----------
    case : callable
        Makes a case from what :class:`BaseCase` holds.
    statements : mapping
        By name.
    statement, n, m, demands, mechanism
        What is asked; see :class:`book.common.smt.Settled`.
    method : {"auto", "linear", "nonlinear"}
        ``linear`` asks the relaxation only and so never refutes, ``nonlinear`` only asks with true products. ``auto``
        asks the relaxation, then tries small instances, and at the end asks with true products what is still open.
    rlimit : int
        Resource limit of each polynomial question in z3's units; a linear one may use 50 times as much, because a
        unit is that much cheaper there (a million units are about 0.2 s for linear, 1 to 10 s for polynomial ones).
    tries : int
        How many small instances are tried for each case.

    Raises
    ------
    InvalidInput
        If an argument is out of its domain.
    MissingDependency
        If z3-solver is not installed.

    Notes
    -----
    A question that z3 does not finish within `rlimit` counts as unknown, and a statement with an unknown case and no
    counterexample is unknown. A counterexample is reported only after plain rational arithmetic and the solver both
    confirmed it at the same rational instance.
    """
    choices(statement, "statement", list(statements))
    choices(method, "method", ("auto", "linear", "nonlinear"))
    as_whole(n, "n", 1)
    as_whole(m, "m", 1)
    entry = statements[statement]
    settling = _Settling(rlimit, tries)
    still_open = []
    for index in entry.indices(n):
        one = case(entry, index, n if entry.whole else index[0], m, mechanism)
        impossible = settling.impossible(one)
        if method != "nonlinear" and settling.relaxed(one, impossible):
            continue
        if method == "auto" and settling.tried(one):
            break
        still_open.append((one, impossible))
    else:
        for one, impossible in still_open:
            if method == "linear":
                settling.count("unknown")
            elif settling.attacked(one, impossible):
                break
    counted = settling.counted
    return Settled(
        n, m, demands, settling.status, " and ".join(sorted(settling.methods)),
        cases=counted["unsat"] + counted["sat"] + counted["unknown"], **counted,
        premises_satisfiable=settling.premises, witness=settling.witness,
    )  # fmt: skip
