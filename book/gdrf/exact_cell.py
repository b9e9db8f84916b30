"""A cell of users and machines in exact fractions, and powers of fractions compared exactly."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import gcd, log
from typing import Any

import numpy as np
import pandas as pd

from fairbook.model.exact import as_fractions, exact_instance
from fairbook.model.inputs import number_of_dimensions

ZERO = Fraction(0)


@dataclass(frozen=True)
class ExactCell:
    """Users and classes of machines in fractions.

    Attributes
    ----------
    demands : list of n lists of m
    machines : list of K lists of m
    counts : list of K
        Machines of each class.
    max_tasks : list of n
        None for no bound.
    weights : list of n
        Sum 1.
    """

    demands: list[list[Fraction]]
    machines: list[list[Fraction]]
    counts: list[int]
    max_tasks: list[Fraction | None]
    weights: list[Fraction]

    @property
    def n(self) -> int:
        return len(self.demands)

    @property
    def m(self) -> int:
        return len(self.demands[0])

    @cached_property
    def pool(self) -> list[Fraction]:
        """S_r, (1)."""
        return [
            sum((count * row[r] for row, count in zip(self.machines, self.counts, strict=True)), ZERO)
            for r in range(self.m)
        ]

    @cached_property
    def shares(self) -> list[list[Fraction]]:
        """mu_ir, (2); 0 of a resource that does not exist and nobody needs."""
        return [[d / s if d else ZERO for d, s in zip(row, self.pool, strict=True)] for row in self.demands]

    @cached_property
    def dominant(self) -> list[Fraction]:
        """GDRS."""
        return [max(row) for row in self.shares]

    @cached_property
    def gdrw(self) -> list[Fraction]:
        """omega_i, (6)."""
        return [sum(row, ZERO) / top for row, top in zip(self.shares, self.dominant, strict=True)]

    @cached_property
    def able(self) -> list[list[bool]]:
        """Whether class k has some of all that a task of user i needs, (K, n)."""
        return [
            [all(c > 0 for c, d in zip(machine, row, strict=True) if d) for row in self.demands]
            for machine in self.machines
        ]

    @cached_property
    def limits(self) -> list[int | None]:
        """Whole tasks that each user wants at most."""
        return [None if b is None else b.numerator // b.denominator for b in self.max_tasks]

    @property
    def classes(self) -> list[int]:
        """Class of each machine, (N,)."""
        return [k for k, count in enumerate(self.counts) for _ in range(count)]


def exact_cell(
    demands: Any, machines: Any, machine_counts: Any = None, max_tasks: Any = None, weights: Any = None
) -> ExactCell:
    """Give an instance in fractions; floats count at face value, labels do not count. Machines are taken as given."""
    if isinstance(max_tasks, (list, tuple, np.ndarray, pd.Series)) and number_of_dimensions(max_tasks) == 1:
        max_tasks = [
            None if isinstance(b, (float, np.floating)) and b == np.inf else b
            for b in (max_tasks.tolist() if isinstance(max_tasks, (np.ndarray, pd.Series)) else max_tasks)
        ]
    rows, shares, _, bounds = exact_instance(demands, weights, None, max_tasks)
    size = as_fractions(machines, "machines")
    size = size if isinstance(size[0], list) else [size]
    counts = [1] * len(size) if machine_counts is None else as_fractions(machine_counts, "machine_counts")
    total = sum(shares, ZERO)
    return ExactCell(rows, size, [int(count) for count in counts], bounds, [w / total for w in shares])


# ------------------------------------------------------------------------------------- comparison of powers


def _factors(numbers: Iterable[int]) -> list[int]:
    """Give numbers > 1, any two of them coprime, of whose powers all the given ones are products. By gcd alone."""
    base: list[int] = []
    todo = list(numbers)
    while todo:
        a = todo.pop()
        for b in base:
            g = gcd(a, b)
            if g > 1:
                base.remove(b)
                todo += [x for x in (g, a // g, b // g) if x > 1]
                break
        else:
            base.append(a)
    return base


def sign_of_product(powers: Iterable[tuple[Fraction, Fraction]]) -> int:
    """Say whether the product of x^e over the pairs (x, e), x > 0, is above (1), at (0) or below (-1) one. Exact.

    Logarithms in floats decide where they are clear. Otherwise the numbers are split into coprime factors: the product
    is one exactly if no factor is left over, and if one is, logarithms of enough digits tell the side.

    Examples
    --------
    >>> sign_of_product([(Fraction(1, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(-1, 2))])
    0
    >>> sign_of_product([(1 + Fraction(1, 10**40), Fraction(10**40)), (Fraction(27, 10), Fraction(-1))])
    1
    """
    terms: dict[int, Fraction] = {}
    for x, e in powers:
        for number, times in ((x.numerator, e), (x.denominator, -e)):
            if number > 1:
                terms[number] = terms.get(number, ZERO) + times
    terms = {number: e for number, e in terms.items() if e}
    rough = [float(e) * log(number) for number, e in terms.items()]
    if abs(sum(rough)) > 1e-11 * sum(map(abs, rough)):
        return 1 if sum(rough) > 0 else -1
    base: dict[int, Fraction] = {}
    for b in _factors(terms):
        total = ZERO
        for number, e in terms.items():
            while number % b == 0:
                number //= b
                total += e
        if total:
            base[b] = total
    digits = 50
    while base:
        context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
        parts = [
            context.multiply(context.divide(Decimal(e.numerator), Decimal(e.denominator)), context.ln(Decimal(b)))
            for b, e in base.items()
        ]
        total_log, size = Decimal(0), Decimal(0)
        for part in parts:
            total_log, size = context.add(total_log, part), context.add(size, abs(part))
        # each operation is right to half a unit in its last place: three for a part, one for each addition
        if abs(total_log) > context.multiply(size, Decimal(len(parts) + 10).scaleb(1 - digits, context)):
            return 1 if total_log > 0 else -1
        digits *= 2
    return 0


class Power:
    """A product of powers, to compare with others exactly: what the rules choose a machine by."""

    def __init__(self, powers: Iterable[tuple[Fraction, Fraction]]) -> None:
        self.powers = list(powers)

    def _against(self, other: "Power") -> int:
        return sign_of_product([*self.powers, *((x, -e) for x, e in other.powers)])

    def __lt__(self, other: "Power") -> bool:
        return self._against(other) < 0

    def __gt__(self, other: "Power") -> bool:
        return self._against(other) > 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Power) and self._against(other) == 0

    __hash__ = None  # type: ignore[assignment]
