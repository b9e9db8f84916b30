"""What schedulers export as JSON, read into frames of users and machines that mechanisms take.

``kubectl get nodes,pods -A -o json``, Slurm's ``squeue --json`` and ``sinfo --json`` (or ``scontrol show nodes
--json``). A user is a namespace, or an account. Its task is the mean of what its pods or jobs ask for, and it has as
many as there are, waiting ones included; finished ones do not count. Amounts are cores, GiB and pieces.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fairbook.errors import InvalidInput

__all__ = ["read_export"]

_KNOWN = "`kubectl get nodes,pods -A -o json`, `squeue --json` or `sinfo --json`"
_GIB = 2**30
Amounts: Any = Counter  # by resource; its type knows whole numbers only
_SCALES = dict(zip("num", (1e-9, 1e-6, 1e-3), strict=True)) | {
    f"{letter}{binary}": (1024 if binary else 1000) ** power
    for power, letter in enumerate("KMGTPE", start=1)
    for binary in ("", "i")
}
_SCALES |= {"": 1, "k": 1000}
_QUANTITY = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?(n|u|m|k|[KMGTPE]i|[MGTPE]|)", re.ASCII)
_BYTES = re.compile("memory|ephemeral-storage|hugepages-.*")
_PIECES = {letter: 1024**power for power, letter in enumerate("KMGTP", start=1)}
_TAINTS = {"NoExecute", "NoSchedule"}
_HOLDING = {"RUNNING", "CONFIGURING", "COMPLETING"}
_WAITING = {"PENDING", "SUSPENDED"}
_OUT = {"DOWN", "FUTURE", "NOT_RESPONDING", "POWERED_DOWN"}
_ORDINARY = {"ALLOCATED", "CLOUD", "COMPLETING", "IDLE", "MIXED", "PLANNED", ""}
_NOT_READY = "not ready, and left out"
_KEPT_AWAY = "cordoned, or with a taint that keeps pods away, and counted"
_UNNAMED = "without such a label or account, and counted under namespace or user_name"


class Export(NamedTuple):
    """What an export tells, before it is made into frames."""

    asked: list[tuple[str, int, str]]  # by pod, job or array: the user, how many are alike, and where they run
    amounts: list[Any]  # what one of them asks for, by resource
    machines: dict[str, Any]  # amounts by resource, by name
    notes: dict[str, list[str]]  # what is to be said of nodes, or of owners: their names


def _get(value: Any, *names: str) -> Any:
    """Go down to a field; where there is none the value is None."""
    for name in names:
        value = None if value is None else value.get(name)
    return value


def _words(value: Any) -> set[str]:
    """Give a state, or a list of them, as older and newer versions of Slurm write it."""
    given = value if isinstance(value, list) else [value or ""]
    return {word for one in given for word in one.upper().rstrip("*$~#!%@^-").split("+")}


def _name(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value.isprintable() or not value:
        raise InvalidInput(field, "must be a name", value)
    return value


def _number(item: Any, field: str) -> float:
    """Give a plain number, or Slurm's newer form, an object with set, infinite and number; not set is 0."""
    value = item.get(field)
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else 0
    if not isinstance(value or 0, (int, float)) or value is True or not 0 <= (value or 0) < math.inf:
        raise InvalidInput(field, "must be a number that is not negative", value)
    return float(value or 0)


def read_export(
    path: str | PathLike[str], machines: str | PathLike[str] | None = None, *, user: str | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read what Kubernetes or Slurm exports as JSON into a frame of users and a frame of machines.

    Parameters
    ----------
    path : path
        What ``kubectl get nodes,pods -A -o json`` or ``squeue --json`` wrote.
    machines : path, optional
        What ``sinfo --json`` or ``kubectl get nodes -o json`` wrote, where ``path`` tells no machines.
    user : str, optional
        The label of the pods, or the field of the jobs, that names the user. Default: the namespace, or the account
        (the user name of jobs without one).

    Returns
    -------
    users : DataFrame
        One row a user, with a column for each resource: what a task asks for, the mean of the user's pods or jobs, in
        cores (``cpu``), GiB (``memory`` and all that is counted in bytes) or pieces. Then ``max_tasks``, how many there
        are, and ``held_<resource>``, what those that run hold together. ``users.attrs["notes"]`` lists what does not
        count, and what counts though it might not be expected to.
    machines : DataFrame
        One row a machine that is in service, with those resources in that order; no rows where none is told.

    Raises
    ------
    InvalidInput
        Where a file is no such export, or a field of it is not what it should be; the message gives file and field.
    OSError
        Where a file cannot be read.

    Notes
    -----
    Cost linear in the size of the files. Resources that nobody asks for are left out, and so are pods and jobs that
    ask for what no machine has.

    Examples
    --------
    >>> import fairbook as fb
    >>> from fairbook.traces.paths import data_path
    >>> users, machines = fb.read_export(data_path("example_kubernetes.json"))
    >>> users[["cpu", "memory", "nvidia.com/gpu", "max_tasks"]]
           cpu  memory  nvidia.com/gpu  max_tasks
    user
    etl     4.0  24.000             0.0          8
    train   6.0  64.000             2.0          4
    vision  4.0  32.000             2.0          3
    web     1.1   1.125             0.0         12
    >>> p = fb.drfh(users[machines.columns], machines=machines, max_tasks=users["max_tasks"])
    >>> dict(zip(p.users, p.tasks.tolist()))
    {'etl': 8, 'train': 2, 'vision': 2, 'web': 12}
    """
    found = read(Path(path).read_bytes(), str(path), user)
    if machines is not None:
        more = read(Path(machines).read_bytes(), str(machines), user)
        found = found._replace(machines=found.machines | more.machines, notes=found.notes | more.notes)
    if not found.asked:
        raise InvalidInput(f"{path}:", "must tell pods or jobs that have not finished", None)
    return frames(found)


def read(content: bytes, source: str, by: str | None) -> Export:
    """Read the text of one file."""
    try:
        document = json.loads(content)
    except (RecursionError, ValueError) as error:
        raise InvalidInput(f"{source}:", f"is not JSON ({str(error)[:80]}), as {_KNOWN} writes", content[:20]) from None
    readers = {"items": _kubernetes, "jobs": _job, "sinfo": _row, "nodes": _node}
    known = next((name for name in readers if isinstance(_get(document, name), list)), None)
    if known is None:
        raise InvalidInput(f"{source}:", f"must be what {_KNOWN} writes", list(document))
    found = Export([], [], {}, {})
    of_all = str(document.get("kind")).removesuffix("List")  # of a PodList no item tells its own
    for k, item in enumerate(document[known]):
        try:
            readers[known](item, by, of_all, found)
        except InvalidInput as error:
            raise InvalidInput(f"{source}, {known}[{k}], {error.argument}:", error.rule, error.value) from None
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InvalidInput(f"{source}, {known}[{k}]:", f"must be what {_KNOWN} writes", "something else") from None
    if by and found.asked and len(found.notes.get(_UNNAMED, ())) == len(found.asked):
        raise InvalidInput("user", "must be a label that some pod has", by)
    return found


def frames(export: Export) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sum up what each user asks for; leave out what asks for nothing, or for what no machine has."""
    lost = export.notes.get(_NOT_READY, ())
    notes = [
        f"{len(names)} {text}: {', '.join([*names[:9], '...'][: len(names)])}" for text, names in export.notes.items()
    ]
    asked = pd.DataFrame(export.asked, columns=["user", "times", "place"])
    amounts = pd.DataFrame(export.amounts, index=asked.index, dtype=float).fillna(0.0)
    if waits := int(asked["place"].isin(lost).sum()):
        notes.append(f"{waits} on nodes that are left out count as waiting")
    there = {name: None for one in export.machines.values() for name in one}
    counts = (amounts != 0).any(axis=1)
    if idle := asked["times"][~counts].sum():
        notes.append(f"{idle} that request nothing do not count")
    for name in sorted(set(amounts) - set(there)) if there else ():
        notes.append(f"no machine has any {name!r}; {asked['times'][amounts[name] > 0].sum()} that ask are left out")
        counts &= amounts[name] == 0
    asked, amounts = asked[counts], amounts[counts]
    wanted = [name for name in amounts if amounts[name].any()] if export.asked else there
    resources = sorted(wanted, key=lambda name: (name not in ("cpu", "memory"), name))
    amounts = amounts.reindex(columns=resources)
    times = asked["times"].astype(int)
    runs = times * ~asked["place"].isin(["", *lost])
    of_all = (times, amounts.mul(times, axis=0), amounts.mul(runs, axis=0))
    count, total, held = (values.groupby(asked["user"], sort=False).sum() for values in of_all)
    parts = [total.div(count, axis=0), count.rename("max_tasks"), held.add_prefix("held_")]
    users = pd.concat(parts, axis=1)
    users.attrs["notes"] = notes
    rows = [[float(one[name]) for name in resources] for one in export.machines.values()]
    return users, pd.DataFrame(rows, pd.Index(list(export.machines), name="machine"), resources, dtype=float)


# ------------------------------------------------------------------------------------------------------- Kubernetes


def _amounts(given: Any) -> Any:
    """Read quantities by resource, in cores, GiB and pieces."""
    found = Amounts()
    for name, text in (given or {}).items():
        matched = _QUANTITY.fullmatch(str(text))
        if matched is None:
            raise InvalidInput(name, "must be a quantity such as 500m, 2 or 16Gi", text)
        amount = float(matched[1] + (matched[2] or "")) * _SCALES[matched[3]]
        found[name] = amount / _GIB if _BYTES.fullmatch(name) else amount
    return found


def _requests(resources: Any) -> Any:
    """Give what a container requests; where it sets a limit alone, that is its request."""
    return Amounts({**_amounts(_get(resources, "limits")), **_amounts(_get(resources, "requests"))})


def _effective(spec: Any) -> Any:
    """Give what a pod reserves.

    Containers for the start run one by one, beside the sidecars (those that always restart) listed before them; then
    all others run beside all sidecars. The larger of both counts, resource by resource. What the pod itself requests
    stands in place of that, and its overhead is added.
    """
    running, start = Amounts(), Amounts()
    for one in _get(spec, "initContainers") or ():
        asks = _requests(one.get("resources"))
        start |= running + asks
        if one.get("restartPolicy") == "Always":
            running += asks
    for one in _get(spec, "containers") or ():
        running += _requests(one.get("resources"))
    return Amounts({**(start | running), **_requests(_get(spec, "resources"))}) + _amounts(_get(spec, "overhead"))


def _kubernetes(item: Any, by: str | None, of_all: str, into: Export) -> None:
    """Read a pod or a node."""
    kind, meta, spec, status = item.get("kind") or of_all, item.get("metadata"), item.get("spec"), item.get("status")
    if kind == "Node":
        name = _name(_get(meta, "name"), "name")
        ready = [one.get("status") for one in _get(status, "conditions") or () if one.get("type") == "Ready"]
        taints = {one.get("effect") for one in _get(spec, "taints") or ()} & _TAINTS
        out = ready and ready != ["True"]
        if out or taints or _get(spec, "unschedulable"):
            into.notes.setdefault(_NOT_READY if out else _KEPT_AWAY, []).append(name)
        if not out:
            into.machines[name] = +_amounts(_get(status, "allocatable"))
    elif kind == "Pod" and _get(status, "phase") not in ("Succeeded", "Failed"):
        space, place = _get(meta, "namespace"), _get(spec, "nodeName") or ""
        _ask(into, _get(meta, "labels", by) if by else space, space, "namespace", 1, place, _effective(spec))
    elif kind in ("", "None"):
        raise InvalidInput("kind", "must be Pod or Node, which `kubectl get nodes,pods -A -o json` says", None)


def _ask(into: Export, owner: Any, other: Any, field: str, times: int, place: str, amounts: Any) -> None:
    """Add what pods or jobs that are alike ask for, each; where they have no owner they have another."""
    name = _name(owner or other, field)
    if not owner:
        into.notes.setdefault(_UNNAMED, []).append(name)
    into.asked.append((name, times, place))
    into.amounts.append(amounts)


# ------------------------------------------------------------------------------------------------------------ Slurm


def _amount(text: str, of_all: str, plain: int = 1) -> float:
    """Read a number with a unit, or a plain one."""
    matched = re.fullmatch(r"(\d+\.?\d*)([KMGTP]?)", text, re.ASCII)
    if matched is None:
        raise InvalidInput("resources", "must be such as cpu=4,mem=16G,gres/gpu=1 or gpu:a100:4", of_all)
    return float(matched[1]) * _PIECES.get(matched[2], plain)


def _tres(text: str | None) -> Any:
    """Read trackable resources such as ``cpu=4,mem=16G,gres/gpu=1``; a type after a colon repeats the sum before it."""
    found, typed = Amounts(), Amounts()
    for part in filter(None, (text or "").split(",")):
        name, _, number = part.partition("=")
        resource, colon, _ = name.removeprefix("gres/").partition(":")
        if name == "mem":
            found["memory"] += _amount(number, part, 2**20) / _GIB
        elif name == "cpu" or name.startswith("gres/"):
            (typed if colon else found)[resource] += _amount(number, part)
    return found | typed


def _job(job: Any, by: str | None, of_all: str, into: Export) -> None:
    states = _words(job.get("job_state"))
    holds = bool(states & _HOLDING)
    if not (holds or states & _WAITING):
        return
    amounts = (_tres(job.get("tres_alloc_str")) if holds else None) or _tres(job.get("tres_req_str"))
    if not amounts:
        cpus, nodes, a_node, a_cpu = (
            _number(job, field) for field in ("cpus", "node_count", "memory_per_node", "memory_per_cpu")
        )
        amounts = +Amounts({"cpu": cpus, "memory": (a_node * max(1.0, nodes) or a_cpu * cpus) / 1024})
    other = None if by else job.get("user_name")  # where Slurm keeps no accounts
    times, place = _array(job.get("array_task_string")), "somewhere" if holds else ""
    _ask(into, job.get(by or "account"), other, by or "user_name", times, place, amounts)


def _array(text: str | None) -> int:
    """Count the tasks of an array that waits, such as ``2-9``, ``1-9:2,12`` or ``0-99%5``; what is no array is one."""
    count = 0
    for part in filter(None, (text or "").partition("%")[0].split(",")):
        matched = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", part, re.ASCII)
        if matched is None:
            rule = "must be numbers of tasks such as 2-9,12 (SLURM_BITSTR_LEN=0 writes them all)"
            raise InvalidInput("array_task_string", rule, text)
        first, last, step = matched.groups()
        count += len(range(int(first), int(last or first) + 1, int(step or 1) or 1))
    return max(1, count)


def _gres(text: str | None) -> Any:
    """Read generic resources of a machine such as ``gpu:a100:4(S:0-1),gpu:v100:2``, as far as jobs use them up."""
    found = Amounts()
    for part in filter(None, re.sub(r"\([^)]*\)", "", text or "").split(",")):
        name, *kinds, number = part.split(":") if ":" in part else (part, "1")
        if "no_consume" not in (*kinds, number):  # as many jobs as like may use it
            found[name] += _amount(number, part)
    return found


def _add_machine(into: Export, name: Any, states: Any, cpus: float, memory: float, gres: Any) -> None:
    """Add a machine, unless it is out of service, or drained and so idle."""
    words, name = _words(states), _name(name, "name")
    out = words & _OUT or words >= {"IDLE", "DRAIN"} or "DRAINED" in words
    if out or words - _ORDINARY:
        told = f"{'+'.join(sorted(words)).lower()}, and {'left out' if out else 'counted'}"
        into.notes[told] = list(dict.fromkeys([*into.notes.get(told, ()), name]))  # a node is in several partitions
    if not out:
        into.machines[name] = Amounts({"cpu": cpus, "memory": memory / 1024}) + _gres(gres)


def _node(node: Any, by: str | None, of_all: str, into: Export) -> None:
    cpus, memory = _number(node, "effective_cpus") or _number(node, "cpus"), _number(node, "real_memory")
    _add_machine(into, node.get("name"), node.get("state"), cpus, memory, node.get("gres"))


def _row(row: Any, by: str | None, of_all: str, into: Export) -> None:
    """Read a row of alike machines of ``sinfo``; one that is in several partitions is in several rows."""
    names = row["nodes"]["nodes"]
    cpus, memory = _number(row["cpus"], "total"), _number(row["memory"], "minimum")
    for name in names:
        state, gres = _get(row, "node", "state"), _get(row, "gres", "total")
        _add_machine(into, name, state, cpus / len(names), memory, gres)
