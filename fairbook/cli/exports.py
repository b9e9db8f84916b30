"""What schedulers export as JSON, read into the tables of users and machines that a CSV file would give.

``kubectl get nodes,pods -A -o json``, Slurm's ``squeue --json`` and ``sinfo --json`` (or ``scontrol show nodes
--json``). A user is a namespace, or an account. Its task is the mean of what its pods or jobs ask for, and it has as
many as there are, waiting ones included; finished ones do not count. Amounts are cores, GiB and pieces.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, NamedTuple, NoReturn

from fairbook.cli.common import Refused, few, note, shown

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


class Asked(NamedTuple):
    """What pods or jobs that are alike ask for, each."""

    owner: str
    times: int
    holds: bool  # they run, or have their place already
    amounts: Any  # by resource


class Exported(NamedTuple):
    """The users of an export, and its machines, as columns of text by heading."""

    users: dict[str, list[str]]
    held: dict[str, list[float]]  # by resource, what each user holds now
    machines: dict[str, list[str]]


class Place(NamedTuple):
    """A value of a document, and where it stands there."""

    source: str
    path: str
    value: Any

    def refuse(self, rule: str) -> NoReturn:
        raise Refused(f"{self.source}, {self.path or 'top'}: must be {rule}, got {shown(json.dumps(self.value))}")

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


def read_export(content: bytes, source: str, by: str | None) -> Exported:
    """Read an export; ``by`` is the label of the pods, or the field of the jobs, that names the user."""
    try:
        document = Place(source, "", json.loads(content))
    except json.JSONDecodeError as error:
        raise Refused(f"{source}, line {error.lineno}, column {error.colno}: is not JSON ({error.msg})") from None
    except (RecursionError, ValueError):  # an integer of too many digits
        raise Refused(f"{source}: is not JSON that anybody exported") from None
    readers = {"items": _kubernetes, "jobs": _squeue, "sinfo": _sinfo, "nodes": _nodes}
    reader = next((read for name, read in readers.items() if name in document.checked(dict)), None)
    if reader is None:
        raise Refused(
            f"{source}: is not what {_KNOWN} writes, but has {', '.join(map(shown, document.value)) or 'nothing'}"
        )
    asked, machines = reader(document, by)
    everyone = dict.fromkeys(one.owner for one in asked)
    of_machines = {name for amounts in machines.values() for name in amounts}
    for name in sorted({name for one in asked for name in one.amounts} - of_machines) if machines else ():
        count = sum(one.times for one in asked if name in one.amounts)
        note(f"{source}: no machine has any {name!r}; {count} that ask for it are left out")
        asked = [one for one in asked if name not in one.amounts]
    idle = sum(one.times for one in asked if not one.amounts)
    asked = [one for one in asked if one.amounts]
    wanted = {name for one in asked for name in one.amounts}
    resources = sorted(wanted, key=lambda name: (name not in ("cpu", "memory"), name))
    owners = list(dict.fromkeys(one.owner for one in asked))
    if idle or len(owners) < len(everyone):
        gone = ", ".join(owner for owner in everyone if owner not in owners)
        note(f"{source}: {idle} that request nothing do not count" + (f"; of {gone} nothing does" if gone else ""))
    counts, total, held = Amounts(), Amounts(), Amounts()
    for one in asked:
        counts[one.owner] += one.times
        for name, amount in one.amounts.items():
            total[one.owner, name] += one.times * amount
            held[one.owner, name] += one.times * amount * one.holds
    users = {"user": owners, "max_tasks": [str(counts[owner]) for owner in owners]}
    users |= {name: [repr(float(total[owner, name] / counts[owner])) for owner in owners] for name in resources}
    table = {"machine": list(machines)}
    for name in resources + sorted(of_machines - wanted):
        table[name] = [repr(float(amounts.get(name, 0))) for amounts in machines.values()]
    return Exported(users, {name: [float(held[owner, name]) for owner in owners] for name in resources}, table)


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


def _ready(name: str, node: Place) -> bool:
    states = {one.get("type").checked(str): one.get("status").value for one in node.get("status", "conditions").items()}
    ready = states.get("Ready", "True") == "True"
    if node.get("spec", "unschedulable").value:
        note(f"{node.source}: node {name!r} is cordoned, and counted")
    if not ready:
        note(f"{node.source}: node {name!r} is not ready, and left out")
    return ready


def _kubernetes(document: Place, by: str | None) -> tuple[list[Asked], dict[str, Any]]:
    source = document.source
    kinds: dict[str, list[Place]] = {"Node": [], "Pod": []}
    of_all = document.get("kind").checked(str).removesuffix("List")  # of a PodList no item tells its own
    for item in document.get("items").items():
        kind = item.get("kind").checked(str) or of_all
        if not kind:
            item.get("kind").refuse("Pod or Node, which `kubectl get nodes,pods -A -o json` says of each item")
        kinds.setdefault(kind, []).append(item)
    nodes = {node.get("metadata", "name").name(): node for node in kinds["Node"]}
    machines = {
        name: +_amounts(node.get("status", "allocatable")) for name, node in nodes.items() if _ready(name, node)
    }
    tainted = [
        name
        for name in machines
        if not nodes[name].get("spec", "unschedulable").value  # which taints it as well
        and any(one.get("effect").checked(str) in _TAINTS for one in nodes[name].get("spec", "taints").items())
    ]
    if tainted:
        note(f"{source}: {len(tainted)} with a taint that keeps pods away are counted: {few(tainted)}")
    asked, without, lost = [], 0, 0
    for pod in (one for one in kinds["Pod"] if one.get("status", "phase").value not in ("Succeeded", "Failed")):
        meta = pod.get("metadata")
        label = meta.get("labels", by) if by else meta.get("namespace")
        owner = label if label.value else meta.get("namespace")
        without += not label.value
        place = pod.get("spec", "nodeName").checked(str)
        lost += place in nodes.keys() - machines.keys()
        holds = bool(place) and place not in nodes.keys() - machines.keys()
        asked.append(Asked(owner.name(), 1, holds, _effective(pod.get("spec"))))
    if lost:
        note(f"{source}: {lost} on nodes that are left out count as waiting")
    if without and without == len(asked):
        raise Refused(f"{source}: no pod has the label {shown(str(by))} that --user-column names")
    if without:
        note(f"{source}: {without} of {len(asked)} pods have no label {by!r}; they count under their namespace")
    return asked, machines


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


def _squeue(document: Place, by: str | None) -> tuple[list[Asked], dict[str, Any]]:
    asked, without = [], 0
    for job in document.get("jobs").items():
        states = job.get("job_state").words()
        if not states & (_HOLDING | _WAITING):
            continue
        holds = bool(states & _HOLDING)
        amounts = _tres(job.get("tres_alloc_str")) if holds else None
        amounts = amounts or _tres(job.get("tres_req_str"))
        if not amounts:
            cpus, nodes = job.get("cpus").number(), max(1.0, job.get("node_count").number())
            memory = job.get("memory_per_node").number() * nodes or job.get("memory_per_cpu").number() * cpus
            amounts = +Amounts({"cpu": cpus, "memory": memory / 1024})
        owner = job.get(by or "account")
        if not by and not owner.value:  # Slurm keeps no accounts
            owner, without = job.get("user_name"), without + 1
        name = owner.name("a name (--user-column takes another field of the jobs)")
        asked.append(Asked(name, _array(job.get("array_task_string")), holds, amounts))
    if without:
        note(f"{document.source}: {without} of {len(asked)} jobs have no account; they count under their user_name")
    return asked, {}


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


def _machine(states: Place, cpus: float, memory: float, gres: Place, name: str) -> dict[str, Any]:
    """Give a machine by name, or nothing if it is out of service, or drained and so idle."""
    words = states.words()
    if words & _OUT or words >= {"IDLE", "DRAIN"} or "DRAINED" in words:
        note(f"{states.source}: node {name!r} is {'+'.join(sorted(words)).lower()}, and left out")
        return {}
    if words - _ORDINARY:
        note(f"{states.source}: node {name!r} is {'+'.join(sorted(words)).lower()}, and counted")
    return {name: Amounts({"cpu": cpus, "memory": memory / 1024}) + _gres(gres)}


def _nodes(document: Place, by: str | None) -> tuple[list[Asked], dict[str, Any]]:
    machines: dict[str, Any] = {}
    for node in document.get("nodes").items():
        cpus = node.get("effective_cpus").number() or node.get("cpus").number()  # some may be kept for the system
        memory = node.get("real_memory").number()
        machines |= _machine(node.get("state"), cpus, memory, node.get("gres"), node.get("name").name())
    return [], machines


def _sinfo(document: Place, by: str | None) -> tuple[list[Asked], dict[str, Any]]:
    """Read rows of alike machines; one that is in several partitions is in several rows."""
    machines: dict[str, Any] = {}
    rows = {
        one.name(): (row, len(row.get("nodes", "nodes").value))
        for row in document.get("sinfo").items()
        for one in row.get("nodes", "nodes").items()
    }
    for name, (row, alike) in rows.items():
        cpus, memory = row.get("cpus", "total").number() / alike, row.get("memory", "minimum").number()
        machines |= _machine(row.get("node", "state"), cpus, memory, row.get("gres", "total"), name)
    return [], machines
