"""Statements about mechanisms, settled for *all* real instances of a stated size by an SMT solver.

A statement is ``premises and hypothesis imply conclusion`` with every input (weights, demands, lies) a real
variable. It *holds* at a size when ``premises and hypothesis and not conclusion`` is unsatisfiable. That says
something only if ``premises and hypothesis`` can be satisfied, so this is asked too, and the answer is part of the
result. This module wraps the solver and knows no mechanism; the encodings are in one module per paper.

The solver is z3 (package ``z3-solver``), imported when the first question is asked. Every question is put in a
context of its own and bounded by z3's deterministic resource limit, never by seconds, so that an answer does not
depend on the machine or on what was asked before.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import ModuleType
from typing import Any, Literal

from fairbook.errors import MissingDependency
from fairbook.model.inputs import as_whole

Status = Literal["holds", "refuted", "vacuous", "unknown"]


def require_z3() -> ModuleType:
    """Import z3, or say how to get it.

    Raises
    ------
    MissingDependency
        If the package z3-solver is not installed.
    """
    try:
        return importlib.import_module("z3")
    except ImportError as error:
        raise MissingDependency("settling statements needs the package z3-solver (extra 'proofs')") from error


@dataclass(frozen=True)
class Answer:
    """Answer of the solver to one question.

    Attributes
    ----------
    result : {"sat", "unsat", "unknown"}
    values : dict of str to Fraction
        Value of every real variable in the model found; an irrational algebraic value is replaced by a rational
        within 1e-20. Empty unless `result` is ``"sat"``.
    """

    result: Literal["sat", "unsat", "unknown"]
    values: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class Settled:
    """What is known about one statement for all instances of one size.

    Attributes
    ----------
    n, m : int
        Numbers of users and of resources. All numbers of users from 1 to `n` are covered, `m` exactly.
    demands : {"positive", "nonnegative"}
        Domain of the demands.
    status : {"holds", "refuted", "vacuous", "unknown"}
        ``vacuous``: no counterexample, but no instance that satisfies the premises either.
    method : str
        What the status rests on: ``"linear relaxation"``, ``"nonlinear"``, ``"both"``, ``"witness"``.
    cases, unsat, sat, unknown : int
        Questions asked and their answers. A question that was answered ``unsat`` by the relaxation is not asked again.
    vacuous : int
        Cases among the unsatisfiable ones whose premises are impossible by themselves.
    premises_satisfiable : bool
        Whether some case's premises were confirmed satisfiable by the solver.
    witness : dict or None
        Counterexample in exact fractions, checked by plain rational arithmetic.
    """

    n: int
    m: int
    demands: str
    status: Status
    method: str
    cases: int
    unsat: int
    sat: int
    unknown: int
    vacuous: int
    premises_satisfiable: bool
    witness: dict[str, Any] | None


def ask(assertions: Sequence[Any], *, linear: bool, rlimit: int) -> Answer:
    """Ask whether real values satisfy all assertions.

    Parameters
    ----------
    assertions : sequence of z3.BoolRef
        Constraints over real variables, quantifier-free.
    linear : bool
        Whether they are linear (simplex decides) or polynomial (cylindrical algebraic decomposition decides).
    rlimit : int
        Limit in z3's resource units, at least 1. When it is reached the result is ``"unknown"``.

    Returns
    -------
    Answer

    Examples
    --------
    >>> import z3
    >>> x = z3.Real("x")
    >>> ask([x * x == 2, x > 0], linear=False, rlimit=10**6).result
    'sat'
    """
    as_whole(rlimit, "rlimit", 1)
    z3 = require_z3()
    context = z3.Context()
    solver = z3.SolverFor("QF_LRA" if linear else "QF_NRA", ctx=context)
    solver.set("rlimit", rlimit)
    solver.add([assertion.translate(context) for assertion in assertions])
    result = str(solver.check())
    if result != "sat":
        return Answer("unsat" if result == "unsat" else "unknown")
    model = solver.model()
    values: dict[str, Fraction] = {}
    for declaration in model.decls():
        value = model[declaration]
        if declaration.arity() == 0 and z3.is_arith(value):
            values[declaration.name()] = (value.approx(20) if z3.is_algebraic_value(value) else value).as_fraction()
    return Answer("sat", values)


class Products:
    """Products of two nonnegative reals, either as they are or relaxed to linear arithmetic.

    In the relaxation each product ``base * level`` becomes a variable of its own, and what is kept of
    multiplication is that it grows in each factor: of two products with the same base ``b >= 0`` and levels
    ``r, s >= 0``, ``b > 0`` makes the products ordered as the levels are, and ``b = 0`` makes both zero; and the
    same with the roles exchanged. The numbers 0 and 1 count as
    levels of every base and as bases of every level. All of this
    is true of real products, so that what is unsatisfiable in the relaxation is unsatisfiable indeed;
    the converse does not hold.

    Parameters
    ----------
    linear : bool
        Whether to relax.
    """

    def __init__(self, linear: bool) -> None:
        self.linear = linear
        self._table: dict[tuple[str, str], tuple[Any, Any, Any]] = {}

    def __call__(self, base: Any, level: Any) -> Any:
        """Return the product of two z3 variables (or of a variable and the number 1)."""
        if not self.linear:
            return base * level
        key = (str(base), str(level))
        if key not in self._table:
            product = require_z3().Real(f"{key[0]}*{key[1]}")
            self._table[key] = (base, level, product)
        return self._table[key][2]

    def axioms(self) -> list[Any]:
        """Return what the relaxation keeps of multiplication for the products asked for so far.

        Cost: quadratic in the number of products that share a factor.
        """
        if not self.linear:
            return []
        z3 = require_z3()
        zero, one = z3.RealVal(0), z3.RealVal(1)
        by_base: dict[str, list[tuple[Any, Any]]] = {}
        by_level: dict[str, list[tuple[Any, Any]]] = {}
        factor: dict[str, Any] = {}
        for (b, r), (base, level, product) in self._table.items():
            factor[b], factor[r] = base, level
            by_base.setdefault(b, [(zero, zero), (one, base)]).append((level, product))
            by_level.setdefault(r, [(zero, zero), (one, level)]).append((base, product))
        axioms: list[Any] = []
        for group in (by_base, by_level):
            for name, members in group.items():
                for position, first in enumerate(members):
                    for second in members[:position]:
                        axioms += monotone(factor[name], *first, *second)
        return axioms


_STATED: dict[tuple[int, ...], list[Any]] = {}


def monotone(common: Any, r: Any, product_r: Any, s: Any, product_s: Any) -> list[Any]:
    """State that products with a common nonnegative factor are ordered as their other factors are.

    Each formula is true when ``product_r = common * r`` and ``product_s = common * s`` with all three factors
    nonnegative. What was stated before of the same terms is given again: z3 has one number for a term as long as
    anything holds it, as the formulas do.
    """
    terms = tuple(term.get_id() for term in (common, r, product_r, s, product_s))
    if terms not in _STATED:
        z3 = require_z3()
        _STATED[terms] = [
            z3.Implies(z3.And(common > 0, r < s), product_r < product_s),
            z3.Implies(z3.And(common > 0, r > s), product_r > product_s),
            z3.Implies(r == s, product_r == product_s),
            z3.Implies(common == 0, z3.And(product_r == 0, product_s == 0)),
        ]
    return _STATED[terms]
