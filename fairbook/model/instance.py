"""An instance: who wants what, and what there is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

from fairbook.errors import InvalidInput

__all__ = ["Instance", "check_choice", "checks_choices", "takes_instance"]

P = ParamSpec("P")
R = TypeVar("R")


def check_choice(value: Any, argument: str, kind: Any) -> None:
    """Raise InvalidInput unless the value is one of those of a Literal type."""
    if not isinstance(value, str) or value not in get_args(kind):
        raise InvalidInput(argument, f"must be one of {', '.join(get_args(kind))}", value)


def checks_choices(function: Callable[P, R]) -> Callable[P, R]:
    """Check, of the arguments by keyword, those whose type is a Literal."""

    @functools.cache
    def choices() -> dict[str, Any]:
        return {name: kind for name, kind in get_type_hints(function).items() if get_origin(kind) is Literal}

    @functools.wraps(function)
    def run(*data: Any, **options: Any) -> Any:
        for name in options.keys() & choices():
            check_choice(options[name], name, choices()[name])
        return cast(Any, function)(*data, **options)

    return cast(Callable[P, R], run)


@dataclass(frozen=True, eq=False)
class Instance:
    """Demands, entitlements and a pool, exactly as they were given; mechanisms check and scale them.

    Attributes
    ----------
    demands : array_like or DataFrame, shape (n, m), or (T, n, m) where they change with time
        Resource per task of each user.
    weights : array_like or Series, shape (n,), optional
    capacities : array_like or Series, shape (m,), optional
        One pool.
    max_tasks : array_like or Series, shape (n,) or (T, n), optional
        Bounds on tasks.
    machines : array_like or DataFrame, shape (K, m), optional
        Capacity of one machine of each class.
    machine_counts : array_like of int, shape (K,), optional
        Machines in each class.
    contributions : array_like, shape (n, K) or (n,), optional
        Machines of each class that each user brings, or its part of all.
    min_tasks : array_like or Series, shape (n,), optional
        What each user has before the others rise.

    Examples
    --------
    >>> import fairbook as fb
    >>> fb.drf(fb.Instance([[1, 4], [3, 1]], capacities=[9, 18])).tasks
    array([3., 2.])
    """

    demands: Any
    weights: Any = None
    capacities: Any = None
    max_tasks: Any = None
    machines: Any = None
    machine_counts: Any = None
    contributions: Any = None
    min_tasks: Any = None

    def arguments(self, names: Sequence[str], mechanism: str = "the mechanism") -> dict[str, Any]:
        """Give what was set, under its names.

        Raises
        ------
        InvalidInput
            Where something was set that is not among the names.
        """
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        given = {name: value for name, value in given.items() if value is not None}
        for name, value in given.items():
            if name not in names:
                raise InvalidInput(name, f"must not be set: {mechanism} does not take it", value)
        return given


def takes_instance(mechanism: Callable[P, R]) -> Callable[P, R]:
    """Let an :class:`Instance` stand for the data of a mechanism, its first argument, and check its choices."""
    # tasks that are submitted, period by period, are bounds as well
    parameters = inspect.signature(mechanism).parameters
    called = {"max_tasks" if name == "tasks" else name: name for name in parameters}
    by_place = [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY]
    options = [called[name] for name in Instance.__dataclass_fields__ if name in called]
    by_name = ", ".join(f"{name}=" for name in options if name not in by_place)

    checked = checks_choices(mechanism)

    @functools.wraps(mechanism)
    def run(demands: Any, *data: Any, **options: Any) -> Any:
        if len(data) >= len(by_place):
            rule = f"of {mechanism.__name__} beyond {', '.join(by_place)} must be given by name"
            raise InvalidInput("arguments", f"{rule}, as {by_name}" if by_name else rule, data[len(by_place) - 1])
        if not isinstance(demands, Instance):
            return cast(Any, checked)(demands, *data, **options)
        if data or any(name in options for name in Instance.__dataclass_fields__):
            raise InvalidInput("demands", "must come alone where they are an Instance", demands)
        given = demands.arguments(tuple(called), mechanism.__name__)
        return cast(Any, checked)(**{called[name]: value for name, value in given.items()}, **options)

    return cast(Callable[P, R], run)
