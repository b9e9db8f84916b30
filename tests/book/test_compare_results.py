"""The guard that compares two states of the stored results: whatever differs is said."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from tools.compare_results import ROOT, STORED, differences, state


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of what is stored."""
    return Path(shutil.copytree(ROOT / STORED, tmp_path / "results"))


def found(copy: Path) -> list[str]:
    return list(differences(state(str(ROOT / STORED)), state(str(copy))))


def test_a_changed_cell_a_lost_row_a_lost_table_and_another_effort_are_said(copy: Path) -> None:
    ledger, curves, record = copy / "gdrf/ledger.csv", copy / "gdrf/curves.csv", copy / "gdrf/bounds.json"
    frame = pd.read_csv(ledger, dtype=str, keep_default_na=False)
    frame.loc[0, "verdict"] = "perhaps"
    frame.drop(index=1).to_csv(ledger, index=False)
    lines = curves.read_text("utf8").splitlines(keepends=True)
    curves.write_text("".join(lines[:-1]))
    meta = json.loads(record.read_text("utf8"))
    meta["facts"]["runs"] += 1
    record.write_text(json.dumps(meta))
    (copy / "gdrf/lies.csv").unlink()
    said = "\n".join(found(copy))
    assert len(said.splitlines()) == 5
    for part in (
        f"{frame.loc[0, 'id']}, verdict",
        f"{frame.loc[1, 'id']}: removed",
        f"gdrf/curves: {len(lines) - 1} rows",
        "gdrf/bounds, runs",
        "gdrf/lies.csv: removed",
    ):
        assert part in said
