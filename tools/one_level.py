"""Sphinx extension: ``{one-level} preset`` shows the rule of the page "One level" at work on a few users.

Where scripts run, ``book/assets/one-level.js`` takes the reader's own numbers; elsewhere, and on paper, the preset
stands there as a picture and a table. The content of the directive is the caption.
"""

import json
from typing import Any

import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from fairbook.filling import filled

#: What each mechanism calls the parts of the rule that it has: where users stand above the water, and where they end.
MECHANISMS: dict[str, dict[str, Any]] = {
    "drf": {
        "name": "DRF",
        "unit": "tasks",
        "fields": {"weight": "weight", "floor": "minimum, tasks", "lid": "bound, tasks"},
        "key": "Solid: the minimum. Bracket: the bound.",
        "stands": "Held up by a minimum",
        "ends": "At a bound",
    },
    "dmfa_srq": {
        "name": "DMFA-SRQ",
        "unit": "tasks",
        "fields": {"weight": "brought", "floor": "had, tasks"},
        "key": "Solid: what the user had. A user that is added arrives: the others keep what they have.",
        "stands": "Above the water, on what was there before",
        "ends": "",
    },
    "cbdrf": {
        "name": "cbDRF",
        "unit": "tasks",
        "fields": {"credit": "credit, 0 to 1"},
        "key": "Bracket: the record of a punished user, which may have so much of its part of the pool.",
        "stands": "",
        "ends": "At the limit of the record",
    },
    "cbdrf_scaled": {
        "name": "cbDRF as printed",
        "unit": "tasks",
        "fields": {"credit": "credit, 0 to 1"},
        "key": "Each has its credit times what DRF gives it.",
        "stands": "",
        "ends": "",
    },
    "tv_drf": {
        "name": "TV-DRF",
        "unit": "tasks",
        "fields": {
            "weight": "brought",
            "start": "received before, tasks",
            "floor": "owed, tasks",
            "lid": "has today, tasks",
        },
        "key": "Grey: received before. Solid: what is owed, since the user would have run it alone by now and has not. "
        "Bracket: all its tasks of today.",
        "stands": "Above the water, on what is owed",
        "ends": "All tasks run",
    },
    "virtual_cluster": {
        "name": "virtual clusters",
        "unit": "VMs",
        "fields": {"lid": "wish, VMs", "floor": "minimum, VMs"},
        "key": "Solid: the minimum. Bracket: the wish.",
        "stands": "Held up by a minimum",
        "ends": "The whole wish",
    },
}


def user(name: str, need: tuple[float, float], **more: float) -> dict[str, Any]:
    """Describe a user: cores and GB of a task, and what differs from one that has neither past nor limits."""
    return {"name": name, "need": need, "weight": 1, "floor": 0, "lid": None, "start": 0, "credit": 1, **more}


ANN, BOB = (1, 4), (3, 1)
#: Where the reader starts: the examples that the stories work out by hand.
PRESETS: dict[str, dict[str, Any]] = {
    "drf": {"kind": "drf", "pool": [9, 18], "users": [user("A", ANN), user("B", BOB, credit=0.5, start=1)]},
    "one_level": {
        "kind": "drf",
        "pool": [12],
        "users": [
            user("A", (1, 1), weight=3, floor=2, lid=5, start=1),
            user("B", (1, 1), weight=1, floor=1, lid=6, credit=0.3),
            user("C", (1, 1), weight=2, floor=0.5, lid=1),
            user("D", (1, 1), weight=4, floor=3, lid=9, credit=0.8),
        ],
    },
    "dmfa_srq": {
        "kind": "dmfa_srq",
        "pool": [12, 12],
        "users": [
            user("A", (1, 0.5), weight=3, floor=4),
            user("B", (0.5, 1), weight=3, floor=4),
            user("C", (0.5, 1), weight=6),
        ],
    },
    "cbdrf": {"kind": "cbdrf", "pool": [9, 18], "users": [user("A", ANN), user("B", BOB, credit=0.5)]},
    "tv_drf": {
        "kind": "tv_drf",
        "pool": [100, 100],
        "users": [user("A", (5, 5), start=6, floor=10, lid=12), user("B", (20, 10), start=3.5, floor=2, lid=4)],
    },
    "virtual_cluster": {
        "kind": "virtual_cluster",
        "pool": [15],
        "users": [
            user("A", (1, 1), floor=2, lid=10),
            user("B", (1, 1), floor=3, lid=10),
            user("C", (1, 1), floor=8, lid=10),
        ],
    },
}


def risen(state: dict[str, Any]) -> dict[str, Any]:
    """Let the users rise: levels at which each starts, has its floor, stands and ends, and its tasks, shape (n,).

    >>> risen(PRESETS["virtual_cluster"])["tasks"]
    array([3.5, 3.5, 8. ])
    """
    kind, pool, users = state["kind"], np.array(state["pool"], float), state["users"]
    named, n = MECHANISMS[kind]["fields"], len(users)

    def own(key: str, none: float) -> Any:
        return np.array([none if key not in named or one[key] is None else one[key] for one in users], float)

    need = np.ones((n, 1)) if kind == "virtual_cluster" else np.array([one["need"][: len(pool)] for one in users])
    weight = own("weight", 1) / own("weight", 1).sum()
    rate = own("lid", pool[0]) if kind == "virtual_cluster" else weight / (need / pool).max(axis=1)  # tasks a level
    start, credit = own("start", 0) / rate, own("credit", 1)
    lid = np.where(credit < 1, credit, np.inf) if "credit" in named else start + own("lid", np.inf) / rate
    floor = np.minimum(start + own("floor", 0) / rate, lid)
    left = pool[: need.shape[1]] - ((floor - start) * rate) @ need
    level = floor + filled(need * rate[:, None], floor, lid - floor, left).gained
    return {"start": start, "floor": floor, "level": level, "lid": lid, "tasks": (level - start) * rate}


def still(state: dict[str, Any]) -> str:
    """Draw a state, and write it down as a table."""
    found, named, users = risen(state), MECHANISMS[state["kind"]], state["users"]
    high, parts = 1.1 * max(1.0, found["level"].max()), []
    for i, one in enumerate(users):
        x, fill = 20 + 90 * i, f'fill="var(--hand-{i + 1})"'
        start, floor, level, lid = (150 - 140 * found[key][i] / high for key in ("start", "floor", "level", "lid"))
        water = f'{fill} fill-opacity=".55"'
        for y, below, look in ((start, 150, 'fill="var(--hand-grid)"'), (floor, start, fill), (level, floor, water)):
            parts.append(f'<rect x="{x}" y="{y:.1f}" width="56" height="{below - y:.1f}" {look}/>')
        if lid > 2:
            parts.append(f'<path d="M{x - 3} {lid + 8:.1f}v-8h62v8" class="h-axis"/>')
        parts.append(f'<text x="{x + 28}" y="168" text-anchor="middle">{one["name"]}</text>')
    units = ["VMs"] if state["kind"] == "virtual_cluster" else ["cores", "GB"][: len(state["pool"])]
    columns = {"user": [one["name"] for one in users]}
    if units != ["VMs"]:
        columns |= {f"{unit} a task": [one["need"][j] for one in users] for j, unit in enumerate(units)}
    for key, words in named["fields"].items():
        columns[words] = ["none" if one[key] is None else one[key] for one in users]
    columns[f"{named['unit']} that it gets"] = [f"{tasks:.4g}" for tasks in found["tasks"]]
    pool = ", ".join(f"{size:g} {unit}" for size, unit in zip(state["pool"], units, strict=True))
    head = "".join(f'<th scope="col">{one}</th>' for one in columns)
    rows = ("".join(f"<td>{cell}</td>" for cell in row) for row in zip(*columns.values(), strict=True))
    width = 90 * len(users) + 20
    return (
        f'<div class="still hand"><svg viewBox="0 0 {width} 176" width="{width}" height="176" role="img" '
        f'aria-label="A column for each user, as high as its level">{"".join(parts)}'
        f'<path d="M10 150H{width - 10}" class="h-axis"/></svg><p>{named["key"]}</p><table class="table">'
        f"<caption>{named['name']}, pool: {pool}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table></div>"
    )


class OneLevel(SphinxDirective):
    """A figure with a preset, as the script reads it and as it stands without."""

    has_content, required_arguments, option_spec = True, 1, {"name": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the figure."""
        state = PRESETS[self.arguments[0]]
        data = json.dumps({"mechanisms": MECHANISMS, "state": state}, separators=(",", ":"))
        figure, said = nodes.figure(classes=["one-level"]), nodes.container()
        figure += nodes.raw("", f'<script type="application/json">{data}</script>{still(state)}', format="html")
        self.state.nested_parse(self.content, self.content_offset, said)
        figure += nodes.caption("", "", *said[0].children)
        self.set_source_info(figure)
        self.add_name(figure)
        return [figure]


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("one-level", OneLevel)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
