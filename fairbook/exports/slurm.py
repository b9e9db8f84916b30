"""Jobs and nodes, as ``squeue --json``, ``sinfo --json`` and ``scontrol show nodes --json`` write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from fairbook.errors import InvalidInput
from fairbook.exports.told import Amounts, Ask, Export, add, as_name, get

_PIECES = {letter: 1024**power for power, letter in enumerate("KMGTP", start=1)}
_NO_PIECES = {"", "N/A", "bb", "billing", "energy", "fs", "ic", "license", "node", "pages", "vmem"}
_UNSET = {2**32 - 2, 2**32 - 1, 2**64 - 2, 2**64 - 1}  # what older versions of Slurm write for no value and no bound
_HOLDING = {"RUNNING", "CONFIGURING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"}
_WAITING = {"PENDING", "SUSPENDED", "REQUEUED"}
_HELD = re.compile("held|hold|depend|begintime", re.IGNORECASE)
#: Short states of Slurm's nodes, and older words, by what newer versions write; and the signs at their ends.
_SHORT = {
    "ALLOC": "ALLOCATED", "COMP": "COMPLETING", "DRAINED": "IDLE+DRAIN", "DRAINING": "MIXED+DRAIN",
    "DRNG": "MIXED+DRAIN", "FAILG": "FAIL", "FAILING": "FAIL", "FUTR": "FUTURE", "INVAL": "INVALID",
    "INVALID_REG": "INVALID", "MAINTENANCE": "MAINT", "MIX": "MIXED", "NO_RESPOND": "NOT_RESPONDING",
    "DYNAMIC_FUTURE": "FUTURE", "PLND": "PLANNED", "POWER": "POWERED_DOWN", "POW_DN": "POWERING_DOWN",
    "POW_UP": "POWERING_UP", "RES": "RESERVED", "RESV": "RESERVED", "UNK": "UNKNOWN",
}  # fmt: skip
_SIGNS = {"*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "%": "POWERING_DOWN", "$": "MAINT"}
_OUT = {"DOWN", "ERROR", "FAIL", "FUTURE", "INVALID", "NOT_RESPONDING", "UNKNOWN"}
_CLOSED = {"DRAIN", "MAINT", "RESERVED"}  # what runs there may go on, nothing new starts
_BUSY = {"ALLOCATED", "COMPLETING", "MIXED"}
#: Of a row of ``sinfo`` whose machines differ in memory; no pool promises what may not be there.
_UNEVEN = "in rows whose memory differs, and counted with the least (`scontrol show nodes --json` tells each one's)"
_ORDINARY = {"CLOUD", "DYNAMIC_NORM", "IDLE", "PLANNED", "POWERING_UP", ""} | _BUSY


def _number(item: Any, field: str, most: float = 1e15) -> float:
    """Give a plain number, or Slurm's newer form, an object with set, infinite and number; not set is 0."""
    value = item.get(field)
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else 0
    value = 0 if value is None or value in _UNSET else value
    if not isinstance(value, (int, float)) or value is True or not 0 <= value <= most:
        raise InvalidInput(field, f"must be a number that is not negative, and at most {most:g}", value)
    return float(value)


def _read(text: str | None, *, whole: bool = False) -> Any:
    """Read resources such as ``gpu:a100:4(S:0-1),gpu:2`` or ``cpu=4,mem=16G,gres/gpu=6``, as far as jobs use them up.

    Each has its sum, and each type its own. Where ``whole``, as where Slurm keeps accounts, pieces without a type are
    those with one and the rest.
    """
    plain, typed, kinds = Amounts(), Amounts(), Amounts()
    for part in re.sub(r"\([^)]*\)", "", text or "").split(","):
        told, sign, number = part.partition("=")
        name, *rest = re.sub("^gres[/:]", "", told).split(":")
        if name.partition("/")[0] in _NO_PIECES or "no_consume" in rest:  # as many jobs as like may use that
            continue
        if not sign:
            number = rest.pop() if rest and (len(rest) > 1 or rest[0][:1].isdigit()) else "1"
        matched = re.fullmatch(r"(\d{1,15}\.?\d{0,15})([KMGTP]?)", number, re.ASCII)
        if matched is None:
            raise InvalidInput("resources", "must be such as cpu=4,mem=16G,gres/gpu=1 or gpu:a100:4", part)
        amount = float(matched[1]) * _PIECES.get(matched[2], 2**20 if name == "mem" else 1)
        name, amount = ("memory", amount / 2**30) if name == "mem" else (as_name(name, "resources"), amount)
        if rest and rest[0]:
            typed[name] += amount
            kinds[as_name(f"{name}:{rest[0].lower()}", "resources")] += amount
        else:
            plain[name] += amount
    return (typed | plain if whole else typed + plain) + kinds


def _words(*values: Any) -> set[str]:
    """Give the words of states, a text or a list of them, in whichever way a version of Slurm writes them."""
    given = [one for value in values for one in (value if isinstance(value, list) else [value or ""])]
    found = set()
    for word in (part for one in given for part in one.upper().split("+")):
        name = word.rstrip("*$~#!%@^-")
        found |= {*_SHORT.get(name, name).split("+"), *(_SIGNS.get(sign, "") for sign in word[len(name) :])}
    return found - {""}


def read_job(job: Any, by: str | None, of_all: str, into: Export) -> None:
    if "job_state" not in job and isinstance(job.get("state"), dict):
        raise InvalidInput("state", "is of a past job, from `sacct`; `squeue --json` tells those of now", job["state"])
    states, times = _words(job.get("job_state")), _array(job.get("array_task_string"))
    holds = bool(states & _HOLDING)
    if not (holds or states & _WAITING):
        return
    amounts, nodes = Amounts(), 1
    if not holds and (job.get("hold") is True or _HELD.search(str(job.get("state_reason")))):
        into.notes["held, or waiting for other jobs or for a time, do not count"][""] += times
        times = 0
    else:
        amounts, nodes = _asked_by_job(job, holds)
    if nodes > 1:
        into.notes["over several nodes count as one task a node; nothing says that these start together"][""] += times
    rooms = frozenset(filter(None, (job.get("partition") or "").split(",")))
    kept = any(job.get(field) for field in ("features", "required_nodes", "excluded_nodes"))
    each = Amounts({name: amount / nodes for name, amount in amounts.items()})
    ask = Ask("", times * nodes, "somewhere" if holds else "", each, rooms=rooms, kept=kept)
    owners = [job.get(field) for field in (by or "account", "user_name", "user_id")]  # Slurm may keep no accounts
    add(into, owners, by or "user_name", ask)


def _asked_by_job(job: Any, holds: bool) -> tuple[Any, int]:
    """Give what a job asks for in all, and on how many nodes.

    Where the accounting does not list a generic resource, it stands in ``gres_detail`` of what runs, and in
    ``tres_per_*`` of what waits. A type counts where it was asked for, not where a job happened to get it.
    """
    wanted = _read(job.get("tres_req_str"), whole=True)
    given = _read(job.get("tres_alloc_str") if holds else "", whole=True)
    nodes, tasks, sockets = (max(1.0, _number(job, name, 1e6)) for name in ("node_count", "tasks", "sockets_per_node"))
    each: dict[str, float] = {}
    for unit, times in {"socket": nodes * sockets, "task": tasks, "node": nodes, "job": 1}.items():
        each |= {name: times * amount for name, amount in _read(job.get(f"tres_per_{unit}")).items()}
    each = {name: amount for name, amount in each.items() if name not in ("cpu", "memory")}  # which ``wanted`` sums up
    detail = _read(",".join(job.get("gres_detail") or ()) if holds else "")
    found = {**each, **wanted, **detail, **given}
    kinds = {name for name in (*wanted, *each) if ":" in name} if wanted or each else set(found)
    if not (wanted or given):
        cpus, a_node, a_cpu = (_number(job, field) for field in ("cpus", "memory_per_node", "memory_per_cpu"))
        found |= {"cpu": cpus, "memory": (a_node * nodes or a_cpu * cpus) / 1024}
    return +Amounts({name: amount for name, amount in found.items() if ":" not in name or name in kinds}), int(nodes)


def _array(text: str | None) -> int:
    """Count the tasks of an array that waits, such as ``2-9``, ``1-9:2,12`` or ``0-99%5``; what is no array is one."""
    count = 0
    for part in filter(None, (text or "").partition("%")[0].split(",")):
        matched = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,7}))?)?", part, re.ASCII)
        if matched is None:
            rule = "must be numbers of tasks such as 2-9,12 (SLURM_BITSTR_LEN=0 writes them all)"
            raise InvalidInput("array_task_string", rule, text)
        first, last, step = matched.groups()
        count += len(range(int(first), int(last or first) + 1, int(step or 1) or 1))
    return max(1, count)


def _add_machine(
    into: Export, name: Any, words: set[str], rooms: Iterable[str], cpus: float, memory: float, gres: Any
) -> None:
    """Add a machine, unless it is out of service. A powered-down one starts when a job comes."""
    if words & {"POWERING_UP", "POWERING_DOWN"}:
        words = words - {"NOT_RESPONDING"}  # not yet, or on its way to what can be started again
    name, told, out = as_name(name, "name"), "+".join(sorted(words)).lower(), words & _OUT
    if not out and words & _CLOSED and not words & _BUSY:
        into.closed[name] = told
    elif out or words - _ORDINARY:
        into.notes[f"{told}, and {'left out' if out else 'counted'}"][name] = 1  # a node is in several partitions
    if not out:
        into.machines[name] = Amounts({"cpu": cpus, "memory": memory / 1024}) + _read(gres)
        into.rooms[name] = into.rooms.get(name, frozenset()) | {*rooms}


def read_node(node: Any, by: str | None, of_all: str, into: Export) -> None:
    cpus, memory = _number(node, "effective_cpus") or _number(node, "cpus"), _number(node, "real_memory")
    words, rooms = _words(node.get("state"), node.get("state_flags")), node.get("partitions") or ()
    rooms = rooms.split(",") if isinstance(rooms, str) else rooms
    _add_machine(into, node.get("name"), words, rooms, cpus, memory, node.get("gres"))


def read_row(row: Any, by: str | None, of_all: str, into: Export) -> None:
    """Read a row of alike machines of ``sinfo``; one that is in several partitions is in several rows."""
    names = row["nodes"]["nodes"]
    cpus, memory = _number(row["cpus"], "total"), _number(row["memory"], "minimum")
    room, states = get(row, "partition", "name"), _words(get(row, "node", "state"))
    if memory < _number(row["memory"], "maximum"):
        into.notes[_UNEVEN] |= dict.fromkeys(names, 1)
    for name in names:
        _add_machine(into, name, states, [room] if room else (), cpus / len(names), memory, get(row, "gres", "total"))
