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
from typing import Any, NamedTuple, NoReturn

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
_PIECES = {letter: 1024**power for power, letter in enumerate(["", *"KMGTP"])}
_MIB = _PIECES | {"": 2**20}  # in bytes; a plain number is MiB
_TRES = re.compile(r"(\d+\.?\d*)([KMGTP]?)", re.ASCII)
_TAINTS = {"NoExecute", "NoSchedule"}
_HOLDING = {"RUNNING", "CONFIGURING", "COMPLETING"}
_WAITING = {"PENDING", "SUSPENDED"}
_OUT = {"DOWN", "FUTURE", "NOT_RESPONDING", "POWERED_DOWN"}
_ORDINARY = {"ALLOCATED", "CLOUD", "COMPLETING", "IDLE", "MIXED", "PLANNED"}


def _few(names: list[str]) -> str:
    return ", ".join(names if len(names) < 10 else [*names[:9], "..."])


class Asked(NamedTuple):
    """What pods or jobs that are alike ask for, each."""

    owner: str
    times: int
    holds: bool  # they run, or have their place already
    amounts: Any  # by resource


class Export(NamedTuple):
    """What an export tells, before it is made into frames."""

    asked: list[Asked]
    machines: dict[str, Any]  # amounts by resource, by name
    notes: list[str]


class Place(NamedTuple):
    """A value of a document, and where it stands there."""

    source: str
    path: str
    value: Any

    def refuse(self, rule: str) -> NoReturn:
        raise InvalidInput(f"{self.source}, {self.path or 'top'}:", f"must be {rule}", self.value)

    def get(self, *names: str) -> Place:
        """Go down to a field; where there is none the value is None."""
        found = self
        for name in names:
            path = f"{found.path}.{name}" if found.path else name
            found = Place(self.source, path, found.checked(dict).get(name))
        return found

    def checked(self, kind: type) -> Any:
        """Give an object, a list or a text; None counts as an empty one."""
        if self.value is not None and not isinstance(self.value, kind):
            self.refuse("an object" if kind is dict else "a list" if kind is list else "a text")
        return kind() if self.value is None else self.value

    def items(self) -> list[Place]:
        return [Place(self.source, f"{self.path}[{k}]", one) for k, one in enumerate(self.checked(list))]

    def words(self) -> set[str]:
        """Give a state, or a list of them, as older and newer versions of Slurm write it."""
        given = self.items() if isinstance(self.value, list) else [self]
        return {word for one in given for word in one.checked(str).upper().rstrip("*$~#!%@^-").split("+")}

    def name(self, rule: str = "a name") -> str:
        if not self.checked(str).isprintable() or not self.value:
            self.refuse(rule)
        return str(self.value)

    def number(self) -> float:
        """Give a plain number, or Slurm's newer form, an object with set, infinite and number; not set is 0."""
        if isinstance(self.value, dict):
            return self.get("number").number() if self.value.get("set") and not self.value.get("infinite") else 0.0
        known = isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
        if self.value is not None and not (known and 0 <= self.value < math.inf):
            self.refuse("a number that is not negative")
        return float(self.value or 0)


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
        found = Export(found.asked, found.machines | more.machines, found.notes + more.notes)
    if not found.asked:
        raise InvalidInput(f"{path}:", "must tell pods or jobs that have not finished", None)
    return frames(found)


def read(content: bytes, source: str, by: str | None) -> Export:
    """Read the text of one file."""
    try:
        document = Place(source, "", json.loads(content))
    except json.JSONDecodeError as error:
        place = f"{source}, line {error.lineno}, column {error.colno}:"
        raise InvalidInput(place, f"is not JSON ({error.msg})", error.doc[error.pos : error.pos + 9]) from None
    except (RecursionError, ValueError):  # an integer of too many digits
        raise InvalidInput(f"{source}:", "is not JSON that anybody exported", content[:20]) from None
    readers = {"items": _kubernetes, "jobs": _squeue, "sinfo": _sinfo, "nodes": _nodes}
    reader = next((read for name, read in readers.items() if name in document.checked(dict)), None)
    if reader is None:
        raise InvalidInput(f"{source}:", f"must be what {_KNOWN} writes", list(document.value or ()))
    found = Export([], {}, [])
    reader(document, by, found)
    return found


def frames(export: Export) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sum up what each user asks for; leave out what asks for nothing, or for what no machine has."""
    asked, machines, notes = export.asked, export.machines, list(export.notes)
    there = {name for amounts in machines.values() for name in amounts}
    for name in sorted({name for one in asked for name in one.amounts} - there) if machines else ():
        count = sum(one.times for one in asked if name in one.amounts)
        notes.append(f"no machine has any {name!r}; {count} that ask for it are left out")
        asked = [one for one in asked if name not in one.amounts]
    everyone = dict.fromkeys(one.owner for one in export.asked)
    idle = sum(one.times for one in asked if not one.amounts)
    asked = [one for one in asked if one.amounts]
    names = list(dict.fromkeys(one.owner for one in asked))
    if idle or len(names) < len(everyone):
        gone = ", ".join(name for name in everyone if name not in names)
        notes.append(f"{idle} that request nothing do not count" + (f"; of {gone} nothing does" if gone else ""))
    wanted = {name for one in asked for name in one.amounts} if export.asked else there
    resources = sorted(wanted, key=lambda name: (name not in ("cpu", "memory"), name))
    total = {name: Amounts() for name in names}
    for one in asked:
        mine = total[one.owner]
        mine["max_tasks"] += one.times
        for name, amount in one.amounts.items():
            mine[name] += one.times * amount
            mine[f"held_{name}"] += one.times * amount * one.holds
    columns = [*resources, "max_tasks", *(f"held_{name}" for name in resources)]
    rows = [[float(mine[name]) for name in columns] for mine in total.values()]
    users = pd.DataFrame(rows, pd.Index(names, name="user"), columns, dtype=float)
    users[resources] = users[resources].div(users["max_tasks"], axis=0)
    users["max_tasks"] = users["max_tasks"].astype(int)
    users.attrs["notes"] = notes
    rows = [[float(amounts[name]) for name in resources] for amounts in machines.values()]
    return users, pd.DataFrame(rows, pd.Index(list(machines), name="machine"), resources, dtype=float)


# ------------------------------------------------------------------------------------------------------- Kubernetes


def _amounts(place: Place) -> Any:
    """Read quantities by resource, in cores, GiB and pieces."""
    found = Amounts()
    for name in place.checked(dict):
        one = place.get(name)
        matched = _QUANTITY.fullmatch(str(one.value))
        if matched is None:
            one.refuse("a quantity such as 500m, 2 or 16Gi")
        amount = float(matched[1] + (matched[2] or "")) * _SCALES[matched[3]]
        found[name] = amount / _GIB if _BYTES.fullmatch(name) else amount
    return found


def _requests(resources: Place) -> Any:
    """Give what a container requests; where it sets a limit alone, that is its request."""
    return Amounts({**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))})


def _effective(spec: Place) -> Any:
    """Give what a pod reserves.

    Containers for the start run one by one, beside the sidecars (those that always restart) listed before them; then
    all others run beside all sidecars. The larger of both counts, resource by resource. What the pod itself requests
    stands in place of that, and its overhead is added.
    """
    running, start = Amounts(), Amounts()
    for one in spec.get("initContainers").items():
        asks = _requests(one.get("resources"))
        start |= running + asks
        if one.get("restartPolicy").value == "Always":
            running += asks
    for one in spec.get("containers").items():
        running += _requests(one.get("resources"))
    return Amounts({**(start | running), **_requests(spec.get("resources"))}) + _amounts(spec.get("overhead"))


def _kubernetes(document: Place, by: str | None, into: Export) -> None:
    kinds: dict[str, list[Place]] = {"Node": [], "Pod": []}
    of_all = document.get("kind").checked(str).removesuffix("List")  # of a PodList no item tells its own
    for item in document.get("items").items():
        kind = item.get("kind").checked(str) or of_all
        if not kind:
            item.get("kind").refuse("Pod or Node, which `kubectl get nodes,pods -A -o json` says of each item")
        kinds.setdefault(kind, []).append(item)
    lost, tainted = set(), []
    for node in kinds["Node"]:
        name = node.get("metadata", "name").name()
        conditions = node.get("status", "conditions").items()
        states = {one.get("type").checked(str): one.get("status").value for one in conditions}
        taints = {one.get("effect").checked(str) for one in node.get("spec", "taints").items()}
        if states.get("Ready", "True") != "True":
            lost.add(name)
            into.notes.append(f"node {name!r} is not ready, and left out")
            continue
        if node.get("spec", "unschedulable").value:  # which taints it as well
            into.notes.append(f"node {name!r} is cordoned, and counted")
        elif taints & _TAINTS:
            tainted.append(name)
        into.machines[name] = +_amounts(node.get("status", "allocatable"))
    if tainted:
        into.notes.append(f"{len(tainted)} with a taint that keeps pods away are counted: {_few(tainted)}")
    waits, without = 0, 0
    for pod in kinds["Pod"]:
        if pod.get("status", "phase").value in ("Succeeded", "Failed"):
            continue
        meta, place = pod.get("metadata"), pod.get("spec", "nodeName").checked(str)
        label = meta.get("labels", by) if by else meta.get("namespace")
        owner = label if label.value else meta.get("namespace")
        without += not label.value
        waits += place in lost
        holds = bool(place) and place not in lost
        into.asked.append(Asked(owner.name(), 1, holds, _effective(pod.get("spec"))))
    if waits:
        into.notes.append(f"{waits} on nodes that are left out count as waiting")
    if without and without == len(into.asked):
        raise InvalidInput("user", "must be a label that some pod has", by)
    if without:
        into.notes.append(f"{without} of {len(into.asked)} pods have no label {by!r}; they count under their namespace")


# ------------------------------------------------------------------------------------------------------------ Slurm


def _tres(place: Place) -> Any:
    """Read trackable resources such as ``cpu=4,mem=16G,gres/gpu=1``; a type after a colon repeats the sum before it."""
    found, typed = Amounts(), Amounts()
    for part in filter(None, place.checked(str).split(",")):
        name, _, text = part.partition("=")
        name, colon, _ = name.removeprefix("gres/").partition(":")
        if name not in ("cpu", "mem") and not part.startswith("gres/"):
            continue
        matched = _TRES.fullmatch(text)
        if matched is None:
            place.refuse("resources such as cpu=4,mem=16G,gres/gpu=1")
        amount = float(matched[1]) * (_MIB[matched[2]] / _GIB if name == "mem" else _PIECES[matched[2]])
        (typed if colon else found)["memory" if name == "mem" else name] += amount
    return found | typed


def _squeue(document: Place, by: str | None, into: Export) -> None:
    without = 0
    for job in document.get("jobs").items():
        states = job.get("job_state").words()
        if not states & (_HOLDING | _WAITING):
            continue
        holds = bool(states & _HOLDING)
        amounts = (_tres(job.get("tres_alloc_str")) if holds else None) or _tres(job.get("tres_req_str"))
        if not amounts:
            cpus, nodes = job.get("cpus").number(), max(1.0, job.get("node_count").number())
            memory = job.get("memory_per_node").number() * nodes or job.get("memory_per_cpu").number() * cpus
            amounts = +Amounts({"cpu": cpus, "memory": memory / 1024})
        owner = job.get(by or "account")
        if not by and not owner.value:  # Slurm keeps no accounts
            owner, without = job.get("user_name"), without + 1
        name = owner.name("a name (user=, on the command line --user-column, takes another field of the jobs)")
        into.asked.append(Asked(name, _array(job.get("array_task_string")), holds, amounts))
    if without:
        into.notes.append(f"{without} of {len(into.asked)} jobs have no account; they count under their user_name")


def _array(place: Place) -> int:
    """Count the tasks of an array that waits, such as ``2-9``, ``1-9:2,12`` or ``0-99%5``; what is no array is one."""
    count = 0
    for part in filter(None, place.checked(str).partition("%")[0].split(",")):
        matched = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", part, re.ASCII)
        if matched is None:
            place.refuse("numbers of tasks such as 2-9,12 (SLURM_BITSTR_LEN=0 writes them all)")
        first, last, step = matched.groups()
        count += len(range(int(first), int(last or first) + 1, int(step or 1) or 1))
    return max(1, count)


def _gres(place: Place) -> Any:
    """Read generic resources of a machine such as ``gpu:a100:4(S:0-1),gpu:v100:2``, as far as jobs use them up."""
    found = Amounts()
    for part in filter(None, re.sub(r"\([^)]*\)", "", place.checked(str)).split(",")):
        name, *kinds, text = part.split(":") if ":" in part else (part, "1")
        matched = re.fullmatch(r"(\d{1,9})([KMGTP]?)", text, re.ASCII)
        if "no_consume" in (*kinds, text):  # as many jobs as like may use it
            continue
        if matched is None:
            place.refuse("resources such as gpu:a100:4")
        found[name] += int(matched[1]) * _PIECES[matched[2]]
    return found


def _add_machine(into: Export, name: str, states: Place, cpus: float, memory: float, gres: Place) -> None:
    """Add a machine, unless it is out of service, or drained and so idle."""
    words = states.words()
    out = words & _OUT or words >= {"IDLE", "DRAIN"} or "DRAINED" in words
    if out or words - _ORDINARY:
        state = "+".join(sorted(words)).lower()
        into.notes.append(f"node {name!r} is {state}, and {'left out' if out else 'counted'}")
    if not out:
        into.machines[name] = Amounts({"cpu": cpus, "memory": memory / 1024}) + _gres(gres)


def _nodes(document: Place, by: str | None, into: Export) -> None:
    for node in document.get("nodes").items():
        cpus = node.get("effective_cpus").number() or node.get("cpus").number()  # some may be kept for the system
        memory = node.get("real_memory").number()
        _add_machine(into, node.get("name").name(), node.get("state"), cpus, memory, node.get("gres"))


def _sinfo(document: Place, by: str | None, into: Export) -> None:
    """Read rows of alike machines; one that is in several partitions is in several rows."""
    rows = {
        one.name(): (row, len(row.get("nodes", "nodes").value))
        for row in document.get("sinfo").items()
        for one in row.get("nodes", "nodes").items()
    }
    for name, (row, alike) in rows.items():
        cpus, memory = row.get("cpus", "total").number() / alike, row.get("memory", "minimum").number()
        _add_machine(into, name, row.get("node", "state"), cpus, memory, row.get("gres", "total"))
