"""What an export tells, as its readers leave it, and the doors through which names and amounts come in.

By hand, since the clients of Kubernetes and Slurm, which read such amounts too, speak to a running cluster.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from fairbook.errors import InvalidInput

KNOWN = "`kubectl get nodes,pods -A -o json`, `squeue --json` or `sinfo --json`"
NOT_READY = "not ready, and left out"
UNNAMED = "without such a label, field or account, and counted under namespace or user"
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


@dataclass
class Export:
    """What an export tells, before it is summed up."""

    asks: list[Ask] = field(default_factory=list)
    machines: dict[str, Any] = field(default_factory=dict)  # amounts by resource, by name
    closed: dict[str, str] = field(default_factory=dict)  # machines on which nothing new starts, and why
    taints: dict[str, frozenset[tuple[Any, ...]]] = field(default_factory=dict)  # by machine
    rooms: dict[str, frozenset[str]] = field(default_factory=dict)  # the partitions of each machine
    #: What is to be said, and of how many machines, pods or jobs: by name where they have one, else by "".
    notes: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def beside(self, other: Export) -> Export:
        """Take the machines of another export in place of its own."""
        return replace(other, asks=self.asks, notes=self.notes | other.notes)


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


def add(into: Export, owners: Iterable[Any], field: str, ask: Ask) -> None:
    """Add what pods or jobs that are alike ask for, under the first owner that is told; a number is a name, too."""
    told = [str(one) if type(one) is int else one for one in owners]
    name = as_name(next(filter(None, told), None), field)
    if not told[0]:
        into.notes[UNNAMED][name] += 1
    into.asks.append(ask._replace(user=name))
