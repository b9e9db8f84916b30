"""What the checks of the command line share."""

from __future__ import annotations


def refused(outcome: tuple[int, str, str]) -> str:
    """Check that a command ended in one line of error and nothing else, and give the line."""
    code, out, err = outcome
    assert code == 2
    assert out == ""
    lines = [line for line in err.splitlines() if line.startswith("fairbook: error: ")]
    assert len(lines) == 1
    assert err.endswith(lines[0] + "\n")
    assert "Traceback" not in err
    return lines[0]
