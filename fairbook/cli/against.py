"""What ``--against`` says: how an allocation stands to what users hold now, and to another mechanism's."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairbook.cli.common import SAME, Refused, short
from fairbook.cli.reports import Report
from fairbook.cli.tables import Users


def against_now(report: Report, users: Users, pool: pd.Series) -> None:
    """Say whose dominant share is below or above the allocation's, and who envies whom for what it holds now.

    A user envies another where it could run more of its tasks on what the other holds, scaled by their weights. Tasks
    that it does not have are of no use to it.
    """
    if users.held is None or "dominant_share" not in report.rows or users.period:
        raise Refused(
            f"{users.table.source}: --against now needs a mechanism for one moment, and an export of a scheduler or a "
            "column 'running'"
        )
    columns, demands, n = users.columns, users.demands(), len(users.names)
    weights = users.spread(columns["weights"], 1.0) if "weights" in columns else np.ones(n)
    most = users.spread(columns["max_tasks"], 0.0, unbounded=True) if "max_tasks" in columns else np.full(n, np.inf)
    now, fair = (users.held / pool.to_numpy()).max(axis=1), report.rows["dominant_share"].to_numpy(dtype=float)
    envies = []
    for i, needs in enumerate(demands > 0):
        could = (users.held[:, needs] / demands[i, needs]).min(axis=1, initial=np.inf)  # tasks on what each other holds
        could = np.minimum(could * weights[i] / weights, most[i])
        envies.append(users.names[could.argmax()] if could.max() > could[i] * (1 + SAME) else "")
    differ = np.where(np.abs(fair - now) > SAME * np.maximum(fair, now), fair - now, 0.0)
    told = {"share now": now, "fair share": fair, "difference": differ, "envies": envies}
    report.comparisons.append(pd.DataFrame(told, pd.Index(users.names, name="user")))
    below, above = ([name for name, d in zip(users.names, sign * differ, strict=True) if d > 0] for sign in (1, -1))
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
