"""Results as people meet them: printed, in a notebook, drawn."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import fairbook as fb
from fairbook.mechanisms import registry
from tests.test_protocol import data

matplotlib.use("Agg")


@pytest.mark.parametrize("name", registry)
def test_every_result_prints_shows_and_draws_itself(name: str) -> None:
    result = registry[name].function(**data(name))
    assert len(repr(result).splitlines()) <= 12
    assert repr(result).startswith(f"{type(result).__name__}: 3 users")
    assert "ann" in repr(result)
    assert "<table" in result._repr_html_()
    panel = Figure().add_subplot()
    assert result.plot(panel) is panel
    assert panel.get_ylabel()
    assert panel.get_legend()


def test_bars_reach_what_is_in_use() -> None:
    a = fb.drf([[1, 4], [3, 1]], capacities=[9, 18])
    bars = a.plot(Figure().add_subplot()).patches
    tops = [bar.get_y() + bar.get_height() for bar in bars]
    np.testing.assert_allclose(tops[2:], a.utilisation)
    assert [bar.get_height() for bar in bars[:2]] == pytest.approx([3 / 9, 12 / 18])


def test_many_machines_are_lines_and_many_users_have_no_legend() -> None:
    p = fb.drfh([[1, 2], [2, 1]], [[4, 4]], machine_counts=[40])
    panel = p.plot(Figure().add_subplot())
    assert len(panel.lines) == 2
    assert "fullest" in panel.get_xlabel()
    big = fb.drf(np.ones((100, 2)), capacities=[9, 18])
    assert big.plot(Figure().add_subplot()).get_legend() is None
    assert len(repr(big).splitlines()) <= 12


@pytest.mark.parametrize("method", ["best_fit", "fluid"])
def test_machines_go_by_their_names_and_may_lack_a_resource(method: str) -> None:
    machines = pd.DataFrame([[8, 0], [4, 2]], ["plain", "gpu"], ["cpu", "gpu"])
    placed = fb.drfh(pd.DataFrame([[1, 0], [1, 1]], columns=["cpu", "gpu"]), machines, method=method)
    panel = placed.plot(Figure().add_subplot())
    assert [one.get_text() for one in panel.get_xticklabels()] == ["plain", "gpu"]


def test_capacities_may_be_a_dict() -> None:
    demands = pd.DataFrame([[1, 4], [3, 1]], columns=["cpu", "memory"])
    assert fb.drf(demands, capacities={"memory": 18, "cpu": 9}).tasks.tolist() == [3.0, 2.0]
    with pytest.raises(fb.InvalidInput, match="capacities"):
        fb.drf(demands, capacities={"memory": 18, "disk": 9})
