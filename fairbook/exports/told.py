"""What an export tells, as its readers leave it, and the doors through which names and amounts come in.

By hand, since the clients of Kubernetes and Slurm, which read such amounts too, speak to a running cluster.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Any, NamedTuple

from fairbook.errors import InvalidInput

KNOWN = "`kubectl get nodes,pods -A -o json`, `squeue --json` or `sinfo --json`"
NOT_READY = "not ready, and left out"
UNNAMED = "without such a label or account, and counted under namespace or user_name"
_LONGEST_NAME = 200
Amounts: Any = Counter  # by resource; its type knows whole numbers only
_SCALES = dict(zip("num", (1e-9, 1e-6, 1e-3), strict=True)) | {
    f"{letter}{binary}": (1024 if binary else 1000) ** power
    for power, letter in enumerate("KMGTPE", start=1)
    for binary in ("", "i")
}
_SCALES |= {"": 1, "k": 1000}
#: No two ways to read the same digits.
_QUANTITY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?(n|u|m|k|[KMGTPE]i|[MGTPE]|)", re.ASCII)
_GIB = 2**30
BYTES = re.compile("memory|ephemeral-storage|hugepages-.*")  # resources that are counted in them


class Ask(NamedTuple):
    """Pods or jobs that are alike."""

    user: str
    times: int  # how many
    place: str  # where they run: a machine, "somewhere", or "" for those that wait
    amounts: Any  # what each asks for, by resource
    tolerates: frozenset[tuple[Any, ...]] = frozenset()
    rooms: frozenset[str] = frozenset()  # partitions that may take it, where that is told
    bound: bool = False  # to its node alone
    kept: bool = False  # off some machines, by what is not looked at


class Export(NamedTuple):
    """What an export tells, before it is summed up."""

    asks: list[Ask]
    machines: dict[str, Any]  # amounts by resource, by name
    notes: dict[str, list[str]]  # what is to be said of machines, or of owners: their names
    closed: dict[str, str]  # machines on which nothing new starts, and why
    taints: dict[str, frozenset[tuple[Any, ...]]]  # by machine
    rooms: dict[str, frozenset[str]]  # the partitions of each machine
    said: Counter[str]  # what is to be said of pods or jobs, and of how many

    def beside(self, other: Export) -> Export:
        """Take the machines of another export in place of its own."""
        return other._replace(asks=self.asks, said=self.said, notes=self.notes | other.notes)


def nothing() -> Export:
    return Export([], {}, {}, {}, {}, {}, Counter())


def get(value: Any, *names: str) -> Any:
    """Go down to a field; where there is none the value is None."""
    for name in names:
        value = None if value is None else value.get(name)
    return value


def as_name(value: Any, field: str) -> str:
    """Check the name of a user, a resource or a machine: the one door for all that come from files.

    Letters with marks are written in one way (NFC), so that names which look alike are alike.
    """
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= _LONGEST_NAME:
        raise InvalidInput(field, f"must be a name of at most {_LONGEST_NAME} printable characters", value)
    return unicodedata.normalize("NFC", value)


def quantity(text: str, *, in_bytes: bool = False) -> float | None:
    """Read a quantity of Kubernetes such as ``500m`` or ``16Gi``; what is in bytes is given in GiB; else None."""
    matched = _QUANTITY.fullmatch(text)
    if matched is None:
        return None
    amount = float(matched[1] + (matched[2] or "")) * _SCALES[matched[3]]
    return amount / _GIB if in_bytes else amount


def add(into: Export, owner: Any, other: Any, field: str, ask: Ask) -> None:
    """Add what pods or jobs that are alike ask for; where they have no owner they have another."""
    name = as_name(owner or other, field)
    if not owner:
        into.notes.setdefault(UNNAMED, []).append(name)
    into.asks.append(ask._replace(user=name))
