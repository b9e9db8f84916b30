"""What the checks of the command line share: how a command is run, and tables of five kinds."""

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from book import __main__ as laboratory
from fairbook import cli

ROOT = Path(__file__).resolve().parents[1]
Outcome = tuple[int, str, str]


def run(*arguments: Any, main: Callable[..., int] = cli.main) -> Outcome:
    """Run a command in this process; give exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(map(str, arguments)))
    return code, out.getvalue(), err.getvalue()


#: A command of the laboratory.
run_laboratory = partial(run, main=laboratory.main)


def refused(outcome: Outcome) -> str:
    """Check that a command ended in one line of error and nothing else, and give the line."""
    code, out, err = outcome
    assert code == 2
    assert out == ""
    lines = [line for line in err.splitlines() if line.startswith("fairbook: error: ")]
    assert len(lines) == 1
    assert err.endswith(lines[0] + "\n")
    assert "Traceback" not in err
    return lines[0]


def no_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Put an empty text where a word is missing."""
    return frame.fillna(dict.fromkeys(frame.columns.difference(frame.select_dtypes("number").columns), ""))


@dataclass(frozen=True)
class Case:
    """What is given to ``fairbook allocate``: tables, and options that go with them."""

    files: dict[str, str]
    """What its files hold, by their names: the first is told by its place, each other by an option of its name."""
    mechanism: str
    """What is taken for these where none is named."""
    options: tuple[str, ...] = ()
    index: tuple[str, ...] = ("user",)
    """The columns that name a row of the result."""

    def given(self, folder: Path, **contents: str | bytes) -> list[Any]:
        """Write the tables, with these in place of the usual ones; give the arguments."""
        (first, *_), contents = self.files, {**self.files, **contents}
        for name, content in contents.items():
            raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
            (folder / f"{name}.csv").write_bytes(raw)
        others = [part for name in contents if name != first for part in (f"--{name}", folder / f"{name}.csv")]
        return ["allocate", folder / f"{first}.csv", *others, *self.options]

    def rows(self, text: str) -> pd.DataFrame:
        """Read what the command has written; what is left empty among words is an empty text."""
        return no_gaps(pd.read_csv(io.StringIO(text)).set_index(list(self.index)))

    def told(self, *arguments: Any) -> pd.DataFrame:
        """Run it and give the rows that it writes to stdout as CSV."""
        code, out, err = run(*arguments, "--output", "-")
        assert code == 0, err
        return self.rows(out)


POOL = Case({"users": "user,cpu,memory\nann,1,4\nbob,3,1\n"}, "drf", ("--capacity", "cpu=9", "memory=18"))
PHASES = Case(
    {
        "phases": "phase,user,cpu,memory,released\n1,ann,1,4,1\n1,bob,3,1,0.5\n2,ann,1,4,1\n2,bob,3,1,0.5\n"
        "3,bob,3,1,1\n3,cyd,1,1,0\n"
    },
    "cbdrf",
    ("--capacity", "cpu=9", "memory=18"),
    ("phase", "user"),
)
#: The instance of the paper's worked example, and a third period in which nobody submits anything.
PERIODS = Case(
    {
        "demands": "period,user,tasks,cpu,memory\n1,ann,15,2,1\n1,bob,70,1,1\n"
        "2,ann,12,5,5\n2,bob,4,20,10\n3,ann,0,1,1\n",
        "machines": "machine,user,cpu,memory\nleft,ann,50,50\nright,bob,50,50\n",
    },
    "tv_drf",
    index=("period", "user"),
)
MACHINES = Case(
    {
        "users": "user,cpu,memory,max_tasks\nann,1,4,6\nbob,3,1,\n",
        "machines": "machine,count,memory,cpu\nsmall,2,32,8\nlarge,1,64,32\n",
    },
    "drfh",
)
CLUSTERS = Case(
    {
        "requests": "user,max_vms,tolerance\nann,10,0.5\nbob,8,0.25\ncyd,6,1\ndan,5,0\n",
        "clusters": "cluster,capacity\nnorth,12\nsouth,9\n",
    },
    "virtual_cluster",
)
CASES = {"pool": POOL, "phases": PHASES, "periods": PERIODS, "machines": MACHINES, "clusters": CLUSTERS}
EVERY = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))

# The same instances, as the library takes them.
PHASED = np.array([[[1, 4], [3, 1], [0, 0]], [[1, 4], [3, 1], [0, 0]], [[0, 0], [3, 1], [1, 1]]], dtype=float)
BOUNDED = (
    "phase,user,cpu,memory,max_tasks\n1,ann,1,4,\n1,bob,3,1,2\n2,ann,1,4,1\n2,bob,3,1,inf\n3,bob,3,1,5\n3,cyd,1,1,0\n"
)
BOUNDS = {"max_tasks": np.array([[np.inf, 2, 0], [1, np.inf, 0], [0, 5, 0]])}
RELEASED = {"released": [[1, 0.5, 1], [1, 0.5, 1], [1, 1, 0]]}
PERIODIC = (
    np.array([[[2, 1], [1, 1]], [[5, 5], [20, 10]], [[1, 1], [0, 0]]], dtype=float),
    np.array([[15, 70], [12, 4], [0, 0]], dtype=float),
    np.full((2, 2), 50.0),
    np.eye(2),
)
SIZES = pd.DataFrame({"cpu": [8.0, 32.0], "memory": [32.0, 64.0]}, ["small", "large"])
PLACED = fb.Instance(
    pd.DataFrame({"cpu": [1.0, 3.0], "memory": [4.0, 1.0]}, ["ann", "bob"]),
    machines=SIZES,
    machine_counts=[2, 1],
    max_tasks=[6, np.inf],
)
USERS = ["ann", "bob", "cyd", "dan"]
ASKED = (pd.Series([10, 8, 6, 5], USERS), pd.Series([0.5, 0.25, 1, 0], USERS), pd.Series([12, 9], ["north", "south"]))
