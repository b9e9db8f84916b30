"""The trace of the page on extending the library, and that what the page on the code lists is there."""

from pathlib import Path

import numpy as np
import pytest

import fairbook as fb
from book.examples import batch_log

# ----------------------------------------------------------------------------------------------------- the trace

LOG = "0,ann,20,1,4\n5,bob,8,3,1\n9,ann,4,1,4\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "batch_log.csv").write_text(LOG)
    return tmp_path / "batch_log.csv"


def test_the_same_log_gives_the_same_bytes_and_is_read_back(log: Path, tmp_path: Path) -> None:
    one, two = (batch_log.digest(log, tmp_path / name) for name in ("one", "two"))
    for name in (batch_log.TABLE, "batch_log.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    assert batch_log.load_digest(one)["tasks"].tolist() == [24, 8]
    users = batch_log.sample_users(50, np.random.default_rng(0), batch_log.load_digest(one))
    assert {tuple(row) for row in users.to_numpy()} == {(1.0, 4.0), (3.0, 1.0)}
    with pytest.raises(fb.InvalidInput, match="n must be"):
        batch_log.sample_users(0, np.random.default_rng(0), batch_log.load_digest(one))


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("7,cyd,0,1,1", "row 4: a job must have tasks"),
        ("7,cyd,1,nan,1", "column 3"),
        ("7,cyd,1,0,0", "row 4: the job asks for nothing"),
    ],
)
def test_a_damaged_log_is_refused(log: Path, line: str, word: str) -> None:
    log.write_text(LOG + line + "\n")
    with pytest.raises(fb.TraceError, match=rf"batch_log\.csv.*{word}"):
        batch_log.read_log(log)


# ------------------------------------------------------------------------------------- what the page on the code lists
