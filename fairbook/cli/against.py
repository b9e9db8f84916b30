"""What ``--against`` says: how an allocation stands to what users hold now, and to another mechanism's."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairbook import metrics
from fairbook.cli.common import SAME, Refused, short
from fairbook.cli.reports import Report
from fairbook.cli.tables import Users


def against_now(report: Report, users: Users, pool: pd.Series) -> None:
    """Say whose dominant share is below or above the allocation's, and who envies whom for what it holds now."""
    if users.held is None or "dominant_share" not in report.rows or users.period:
        raise Refused(
            f"{users.table.source}: --against now needs a mechanism for one moment, and an export of a scheduler or a "
            "column 'running'"
        )
    held, demands = (pd.DataFrame(one, users.names, users.resources) for one in (users.held, users.demands()))
    terms = {name: users.spread(users.columns[name], 1.0, unbounded=name == "max_tasks")
             for name in ("weights", "max_tasks") if name in users.columns}  # fmt: skip
    fair = report.rows["dominant_share"].to_numpy(dtype=float)
    told = metrics.against_now(held, fair, demands, pool, **terms)
    report.comparisons.append(told)
    below, above = (told.index[sign * told["difference"] > 0] for sign in (1, -1))
    report.lines.append(f"below the fair share, and could have more: {', '.join(below) or 'nobody'}")
    report.lines.append(f"above the fair share: {', '.join(above) or 'nobody'}")


def against_other(report: Report, other: Report) -> None:
    """Say who would run more tasks by the other mechanism, and who fewer, over all periods together."""
    name, label = report.head["mechanism"], f"by {other.head['mechanism']}"
    frame = pd.DataFrame({name: report.rows["tasks"], label: other.rows["tasks"]}, dtype=float)
    frame = frame.groupby(level="user", sort=False).sum()
    ours, theirs = frame.to_numpy().T
    frame["gain"] = np.where(np.abs(theirs - ours) > SAME * np.maximum(ours, theirs), theirs - ours, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        frame["gain in %"] = np.where(frame["gain"] == 0, 0.0, 100 * frame["gain"] / ours)
    report.comparisons.append(frame)
    told = [
        f"{user} would run {short(abs(d))} {'more' if d > 0 else 'fewer'}" for user, d in frame["gain"].items() if d
    ]
    report.lines.append(f"{label} instead, in tasks: {', '.join(told) or 'nobody would run more or fewer'}")
