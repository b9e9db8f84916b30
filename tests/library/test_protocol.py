"""What every mechanism of the registry has in common: its arguments, an Instance for the data, one core of results."""

import ast
import inspect
import json
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from fairbook.mechanisms import registry
from fairbook.model.instance import Instance

USERS, RESOURCES = ["ann", "bob", "cyd"], ["cpu", "memory"]
DEMANDS = pd.DataFrame([[1.0, 4.0], [3.0, 1.0], [2.0, 2.0]], USERS, RESOURCES)
MACHINES = pd.DataFrame([[6.0, 12.0], [3.0, 6.0]], ["large", "small"], RESOURCES)
#: Data for each kind of mechanism.
DATA: dict[str, dict[str, Any]] = {
    "pool": {
        "demands": DEMANDS, "weights": [1.0, 2.0, 3.0], "capacities": [9.0, 18.0], "max_tasks": [1.0, 9.0, 9.0],
        "min_tasks": [0.5, 1.0, 0.0],
    },
    "arrivals": {"demands": DEMANDS, "weights": [1.0, 2.0, 3.0]},
    "phases": {"demands": [DEMANDS, DEMANDS * 2], "capacities": [9.0, 18.0]},
    "periods": {
        "demands": [DEMANDS, DEMANDS * 2],
        "tasks": [[2.0, 3.0, 1.0]] * 2,
        "machines": MACHINES,
        "contributions": [[0.2, 0.2], [0.3, 0.4], [0.5, 0.4]],
    },
    "machines": {"demands": DEMANDS, "machines": MACHINES, "machine_counts": [1, 2]},
    "clusters": {"max_vms": pd.Series([4, 3, 5], USERS), "tolerance": [0.5, 0.1, 0.6], "capacities": [6, 4]},
}  # fmt: skip
#: Each kind of result: those of every mechanism, and what a method gives that another does not.
KINDS = pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in registry),
        ("drfh", {"method": "fluid"}),
        ("tv_drf", {"method": "lexicographic", "machines": MACHINES[:1], "contributions": [[0.2], [0.3], [0.5]]}),
        ("virtual_cluster", {"method": "spanning"}),
    ],
)


def data(name: str) -> dict[str, Any]:
    return {key: value for key, value in DATA[registry[name].kind].items() if key in registry[name].takes}


def ways(name: str) -> list[dict[str, Any]]:
    """Give options with every value of what its paper leaves open."""
    readings = registry[name].readings
    if name != "tv_drf":
        return [{}, *({option: value} for option, one in readings.items() for value in one.values[1:])]
    fluid = {"method": "lexicographic", "contributions": [0.2, 0.3, 0.5]}
    fates = [{"unserved": u, "alone": a} for u in ("expires", "waits") for a in readings["alone"].values]
    return [{"placement": True}, *fates, *(fluid | fate for fate in fates)]


@pytest.mark.parametrize("name", registry)
def test_the_registry_says_what_a_mechanism_takes(name: str) -> None:
    row = registry[name]
    assert (row.name, row.function) == (name, getattr(fb, name))
    assert set(row.needs) <= set(data(name)) <= set(row.takes)
    parameters = inspect.signature(row.function).parameters
    for option, reading in row.readings.items():
        assert parameters[option].default == reading.values[0]
        assert parameters[option].kind is inspect.Parameter.KEYWORD_ONLY
        for value in reading.values:
            row.function(**data(name), **{option: value})
        with pytest.raises(fb.InvalidInput) as caught:
            row.function(**data(name), **{option: "another"})
        assert caught.value.argument == option
    if row.online is not None:
        assert hasattr(getattr(fb, row.online), "users")


@pytest.mark.parametrize("name", registry)
def test_results_have_one_core(name: str) -> None:
    row = registry[name]
    result = row.function(**data(name))
    assert result.users == tuple(USERS)
    assert np.shape(result.use) == np.shape(result.slack)
    assert np.shape(result.use)[-1] == len(result.resources)
    assert (np.asarray(result.slack) >= -1e-9).all()
    index = result.to_frame().index  # a row a user, or a step and a user
    assert list(index) == (USERS if index.nlevels == 1 else [(step, user) for step in range(2) for user in USERS])
    assert result.violations(rtol=1e-9) == []
    assert result.explain("bob").startswith("bob")
    for call in (result.explain, getattr(result, "at", result.explain)):
        with pytest.raises(fb.InvalidInput):
            call("zoe")
    told = result.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["users"] == USERS
    assert told["use"] == np.asarray(result.use).tolist()


@KINDS
def test_results_are_equal_by_their_numbers_and_names(name: str, options: dict[str, Any]) -> None:
    given, call = data(name) | options, registry[name].function
    first, frames = next(iter(given.items()))
    changes = (lambda one: one * 2, lambda one: one.rename({"ann": "amy"}))
    others = [[change(one) for one in frames] if isinstance(frames, list) else change(frames) for change in changes]
    result, again = call(**given), pickle.loads(pickle.dumps(call(**given)))
    assert again == result
    assert hash(again) == hash(result)
    assert result not in [*(call(**{**given, first: other}) for other in others), "another"]


@KINDS
@pytest.mark.usefixtures("narrow")
def test_results_are_told_where_an_index_has_32_bits(name: str, options: dict[str, Any]) -> None:
    result = registry[name].function(**(data(name) | options))
    assert result.violations() == []
    assert len(result.to_frame()) >= len(USERS)
    assert name != "virtual_cluster" or len(result.cluster_frame()) == 2


@pytest.mark.parametrize("name", [name for name, row in registry.items() if row.kind != "clusters"])
def test_frames_hold_use_and_the_dominant_resource(name: str) -> None:
    result = registry[name].function(**data(name))
    frame, capacities = result.to_frame(), result.cell.totals if hasattr(result, "cell") else result.capacities
    use = frame[[f"use_{one}" for one in RESOURCES]].to_numpy()
    np.testing.assert_allclose(use.reshape(-1, len(USERS), 2).sum(axis=1).squeeze(), np.squeeze(result.use), rtol=1e-9)
    assert frame["dominant"].to_list() == [RESOURCES[j] for j in (use / capacities).argmax(axis=1)]
    np.testing.assert_allclose(frame["dominant_share"], (use / capacities).max(axis=1), rtol=1e-9)


@pytest.mark.parametrize("name", [name for name, row in registry.items() if row.kind != "clusters"])
def test_an_instance_stands_for_the_data(name: str) -> None:
    row, given = registry[name], data(name)
    instance = Instance(**{"max_tasks" if key == "tasks" else key: value for key, value in given.items()})
    assert row.function(instance).to_dict() == row.function(**given).to_dict()
    with pytest.raises(
        fb.InvalidInput, match=r"^demands must come alone|^arguments of \w+ beyond demands must be given by name"
    ):
        row.function(instance, [1.0, 1.0, 1.0])
    with pytest.raises(fb.InvalidInput, match=r"^demands must come alone"):
        row.function(instance, capacities=[1.0, 1.0])
    odd = "machines" if row.kind in ("pool", "arrivals", "phases") else "capacities"
    with pytest.raises(fb.InvalidInput, match=rf"^{odd} must not be set: {name} does not take it"):
        row.function(Instance(**{**vars(instance), odd: [[1.0, 2.0]]}))


def test_other_names_are_refused() -> None:
    for argument, names in (("weights", ["x", "y", "z"]), ("capacities", ["cpu", "gpu"])):
        with pytest.raises(fb.InvalidInput, match=rf"^{argument}.index must name the same"):
            fb.drf(DEMANDS, **{argument: pd.Series(1.0, names)})


@pytest.mark.parametrize(
    "name", [name for name, row in registry.items() if row.kind not in ("pool", "machines", "clusters")]
)
def test_runs_give_each_step_as_an_allocation(name: str) -> None:
    run = registry[name].function(**data(name))
    first = registry[name].kind == "arrivals"  # after so many, from 1
    for step in range(first, first + 2):
        one = run.at(step)
        assert isinstance(one, fb.Allocation)
        assert one.violations() == []
        assert one.users == run.users[: len(one.tasks)]


@pytest.mark.parametrize("room", [fb, fb.mechanisms, fb.metrics, fb.properties, fb.sweeps, fb.traces])
def test_a_room_shows_what_is_public_and_nothing_else(room: ModuleType) -> None:
    before = dir(room)
    assert before == sorted(room.__all__)
    assert all(getattr(room, name) is not None for name in before)
    assert dir(room) == before  # whatever was loaded by looking


def test_what_is_loaded_on_first_use_is_known_to_checkers_of_types() -> None:
    tree = ast.parse(inspect.getsource(fb))
    taken = [one for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and one.module]
    told = {name.name: one.module for one in taken for name in one.names if name.asname == name.name}
    assert sorted([*told, "__version__"]) == fb.__all__
    assert {name: module for name, module in told.items() if name in fb._HOMES} == {
        name: f"fairbook.{module}" for name, module in fb._HOMES.items()
    }
