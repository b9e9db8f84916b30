"""Names are never dropped: whatever carries them is matched by them, and results carry them on."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from fairbook import properties
from tests.bad_inputs import NAMES, D
from tests.bad_inputs_exempt import NO_ENTRY
from tests.library.test_bad_inputs import BY_NAME, public, said

#: What an axis is named, by its letter in docstrings. Phases come in order, and have no names.
AXES = {"n": NAMES, "m": ["cpu", "memory"], "K": ["small", "large"], "N": ["one", "two", "three"], "H": ["x", "y"]}
LIED_TO = {"mechanism": fb.drf, "demands": D, "weights": [1.0, 2.0, 3.0], "evaluations": 9}
CALLS = {name: (entry.call, entry.good) for name, entry in BY_NAME.items()} | {
    "properties.strategy_proofness": (lambda **given: properties.strategy_proofness(**given).margins, LIED_TO),
}


def _axes() -> dict[str, dict[str, list[str]]]:
    """Read, from the docstrings of all that is public, the axes of the arguments of each function."""
    functions = {name: function for name, function in public() if not inspect.isclass(function)}
    functions |= {f"properties.{name}": getattr(properties, name) for name in properties.__all__}
    told: dict[str, dict[str, list[str]]] = {}
    for name, function in functions.items():
        for arguments, shape in re.findall(
            r"^(\w[\w, ]*) : [^\n]*array_like[^\n]* shape \(([^)]*)\)", inspect.getdoc(function) or "", re.M
        ):
            for argument in arguments.split(", "):
                told.setdefault(argument, {}).setdefault(name, re.findall(r"\w+", shape))
    found = {
        name: {
            argument: told[argument].get(name) or next(iter(told[argument].values()))  # "as for ..."
            for argument in inspect.signature(function).parameters
            if argument in told
        }
        for name, function in functions.items()
        if inspect.isfunction(function)
    }
    return {name: axes for name, axes in found.items() if axes and name in CALLS and name not in NO_ENTRY}


FUNCTIONS = _axes()


def _given(name: str) -> dict[str, list[str]]:
    """Give the axes of the arguments of a function; first those of demands, or of machines that use is measured by."""
    axes = {argument: axes for argument, axes in FUNCTIONS[name].items() if argument in CALLS[name][1]}
    first = sorted(axes, key=lambda one: (-len(set(axes[one]) - {"T"}), one != "capacities"))
    return {argument: axes[argument] for argument in first}


# ---------------------------------------------------------------------------------------------- what carries names


class Columns:
    """Columns by name, and no index, as tables of polars have them; ``np.asarray`` looks through."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = {name: np.asarray(values) for name, values in columns.items()}
        self.columns: Any = list(columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.column_stack(list(self._columns.values()))


class ArrowColumns(Columns):
    """The same as tables of Arrow have them."""

    def __init__(self, columns: dict[str, Any]) -> None:
        super().__init__(columns)
        self.columns, self.column_names = list(self._columns.values()), list(columns)


class Coordinates:
    """Arrays with names for each axis, as xarray has them."""

    coords = True

    def __init__(self, values: Any, axes: list[Any]) -> None:
        self.values, self.axes, self.ndim = np.asarray(values), axes, np.ndim(values)

    def __iter__(self) -> Iterator[Any]:
        return (Coordinates(one, self.axes[1:]) for one in self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values

    def to_pandas(self) -> Any:
        return (pd.Series if self.ndim == 1 else pd.DataFrame)(self.values, *self.axes)


def _columns(holder: Any, make: Callable[[dict[str, Any]], Any]) -> Any:
    """Make a table of columns of a frame, whose index becomes a column of text; or of each of several."""
    if isinstance(holder, list):
        return [_columns(one, make) for one in holder]
    if holder.ndim == 1:
        return holder.to_dict()  # their Series have no names
    names = {} if isinstance(holder.index, pd.RangeIndex) else {"who": list(holder.index)}
    return make(names | {name: holder[name].to_numpy() for name in holder})


def _rows(holder: Any) -> Any:
    if isinstance(holder, list):
        return [_rows(one) for one in holder]
    return [row for _, row in holder.iterrows()] if holder.ndim == 2 else holder


def _coordinates(holder: Any, make: Callable[[Any, list[Any]], Any]) -> Any:
    if isinstance(holder, list):
        return make(np.stack(holder), [range(len(holder)), *holder[0].axes])
    return make(holder.to_numpy(), holder.axes)


def _or(package: str, instead: Any, make: Callable[[Any], Any]) -> Any:
    """Give what a package makes of names, or where it is not installed what stands in for it."""
    try:
        return make(__import__(package))
    except ImportError:
        return instead


POLARS = _or("polars", Columns, lambda package: package.DataFrame)
ARROW = _or("pyarrow", ArrowColumns, lambda package: package.table)
XARRAY = _or(
    "xarray",
    Coordinates,
    lambda package: lambda values, axes: package.DataArray(values, list(zip("abc", map(list, axes)))),
)
FORMS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda holder: holder,
    "polars": lambda holder: _columns(holder, POLARS),
    "Arrow": lambda holder: _columns(holder, ARROW),
    "xarray": lambda holder: _coordinates(holder, XARRAY),
    "a list of Series": _rows,
}


def _labelled(value: Any, axes: list[str], turned: str, form: str = "pandas") -> Any:
    """Give names to an argument; along one axis in another order, entries and names together."""
    return value if np.ndim(value) == 0 else FORMS[form](_in_pandas(value, axes, turned))


def _in_pandas(value: Any, axes: list[str], turned: str) -> Any:
    if np.ndim(value) == 3:
        return [_in_pandas(one, axes[1:], turned) for one in value]
    axes = axes[-np.ndim(value) :]
    names = [AXES[axis][:length] if axis in AXES else range(length) for axis, length in zip(axes, np.shape(value))]
    holder = pd.DataFrame(value, *names) if len(axes) == 2 else pd.Series(value, *names)
    for at, axis in enumerate(axes):
        if axis == turned:
            holder = holder.iloc[(slice(None),) * at + (slice(None, None, -1),)]
    return holder


# --------------------------------------------------------------------------------------------------- all functions


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_are_matched_by_name(name: str, form: str) -> None:
    """In another order, each argument gives the same, but the one whose order results stand in and ties go by."""
    call, good = CALLS[name]
    axes = _given(name)

    def answer(form: str, of: str = "", turned: str = "") -> str:
        return said(call(**good | {one: _labelled(good[one], axes[one], turned * (one == of), form) for one in axes}))

    usual, led = answer("pandas"), set() if "." not in name or name[0] in "mp" else AXES.keys()
    assert answer(form) == usual
    for argument in axes:
        for axis in axes[argument]:
            if axis in led:
                assert answer(form, argument, axis) == usual, (argument, axis)
            led = led | {axis} & AXES.keys()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "." not in name or name[0] in "mp"])
def test_names_on_one_side_only_are_refused(name: str, form: str) -> None:
    """But those of the side that results go by: plain numbers have no name to lose, and count in its order."""
    call, good = CALLS[name]
    led: set[str] = set()
    for argument, axes in _given(name).items():
        given = good | {argument: _labelled(good[argument], axes, "", form)}
        if led & set(axes) and np.ndim(good[argument]):
            with pytest.raises(fb.InvalidInput, match="no names elsewhere: name them there, too") as caught:
                call(**given)
            assert caught.value.argument.startswith(argument)
        else:
            call(**given)
        led |= set(axes) & AXES.keys()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: fb.CbDrf(3, [9, 18]).phase(pd.DataFrame(D, NAMES)), "demands.index"),
        (lambda: fb.Karma(3, [9, 18]).phase(D, max_tasks=dict.fromkeys(NAMES, 1)), "max_tasks.index"),
        (lambda: fb.DmfaSrq(2).arrive("ann", {"cpu": 1, "memory": 2}, 1), "demand.index"),
        (lambda: fb.CreditRule(rho=pd.Series([0.5, 0.75], ["ann", "bob"])), "rho"),
        (lambda: fb.cbdrf([D], capacities=[9, 18], released=[pd.DataFrame(D, NAMES) / 9]), "released.index"),
    ],
)
def test_pools_and_rules_without_names_refuse_them(call: Callable[[], Any], named: str) -> None:
    with pytest.raises(fb.InvalidInput, match="no names elsewhere") as caught:
        call()
    assert caught.value.argument == named


def test_pools_take_the_names_of_their_capacities() -> None:
    demands = pd.DataFrame(D, NAMES, ["cpu", "memory"])
    for pool in (fb.CbDrf(NAMES, {"memory": 18, "cpu": 9}), fb.Karma(NAMES, {"memory": 18, "cpu": 9})):
        found = pool.phase(demands)
        assert (found.users, found.resources) == (tuple(NAMES), ("memory", "cpu"))
        assert found.demands.tolist() == demands[["memory", "cpu"]].to_numpy().tolist()
    placed = fb.virtual_cluster({"ann": 4, "bob": 3}, tolerance={"bob": 0.1, "ann": 0.5}, capacities={"x": 6, "y": 4})
    assert (placed.users, placed.clusters) == (("ann", "bob"), ("x", "y"))


# ------------------------------------------------------------------------------------------------------ odd tables


def test_a_column_count_of_machines_says_how_many() -> None:
    demands = pd.DataFrame(D, NAMES, ["cpu", "memory"])
    machines = pd.DataFrame({"machine": ["a", "b"], "memory": [32, 64], "count": [2, 1], "cpu": [8, 32]})
    cell = fb.drfh(demands, machines).cell
    assert (cell.classes, cell.machine_counts.tolist(), cell.machines.tolist()) == (
        ("a", "b"),
        [2, 1],
        [[8, 32], [32, 64]],
    )
    with pytest.raises(fb.InvalidInput, match="beside a column 'count'"):
        fb.drfh(demands, machines, machine_counts=[2, 1])
    as_resource = demands.rename(columns={"memory": "count"})
    assert fb.drfh(as_resource, machines[["cpu", "count"]]).cell.machine_counts.tolist() == [1, 1]
    assert fb.drfh(demands, machines={"memory": 32, "cpu": 8}).cell.machines.tolist() == [[8, 32]]


@pytest.mark.parametrize(
    ("demands", "rule"),
    [
        ([{"cpu": 1, "memory": 4}, [3, 1]], "must have names in all rows, or in none"),
        ([{"cpu": 1, "memory": 4}, {"cpu": 3, "disk": 1}], "must be finite"),
        (ArrowColumns({}), "must have at least one user"),
        (Columns({"who": ["ann", "ann"], "cpu": [1, 3]}), "must be unique"),
        (Columns({"who": ["ann", "bob"], "cpu": ["1", "3"]}), "must be a number"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(demands: Any, rule: str) -> None:
    with pytest.raises(fb.InvalidInput, match=rule):
        fb.drf(demands)


def test_a_table_that_breaks_is_refused() -> None:
    broken = Columns({"cpu": [1, 3]})
    broken.columns = ["memory"]
    with pytest.raises(fb.InvalidInput, match="must be a table that can be read"):
        fb.drf(broken)


def test_phases_are_matched_with_the_first() -> None:
    frame = pd.DataFrame(D, NAMES, ["cpu", "memory"])
    run = fb.karma([frame, frame.iloc[::-1, ::-1]], capacities={"memory": 18, "cpu": 9})
    assert (run.demands[0] == run.demands[1]).all()
    with pytest.raises(fb.InvalidInput, match="must have the shape of the first phase"):
        fb.karma([frame, D[:2]], capacities=[9, 18])
    with pytest.raises(fb.InvalidInput, match="must name the same users"):
        fb.karma([frame, frame[:2]], capacities=[9, 18])
