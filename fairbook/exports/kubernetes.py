"""Pods and nodes, as ``kubectl get nodes,pods -A -o json`` writes them."""

from __future__ import annotations

import math
import re
from typing import Any

from fairbook.errors import InvalidInput
from fairbook.exports.told import BYTES, NOT_READY, Amounts, Ask, Export, add, as_name, get, quantity

_CLAIMS = "claim devices (resource claims), which pods and nodes do not tell, and ask for none here"
_TAINTS = {"NoExecute", "NoSchedule"}
_CONTROL = {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
_BY_ITSELF = {"DaemonSet", "Node"}  # owners whose pods have one node each
_KIND = re.compile("gpu|accelerator")  # in a label, whose value is then a type of device


def _amounts(given: Any) -> Any:
    """Read quantities by resource, in cores, GiB and pieces."""
    found = Amounts()
    for name, text in (given or {}).items():
        name = as_name(name, "resource")
        amount = quantity(str(text), in_bytes=bool(BYTES.fullmatch(name)))
        if amount is None or not math.isfinite(amount):
            raise InvalidInput(name, "must be a quantity such as 500m, 2 or 16Gi", text)
        found[name] = amount
    return found


def _requests(resources: Any) -> Any:
    """Give what a container requests; where it sets a limit alone, that is its request."""
    return Amounts({**_amounts(get(resources, "limits")), **_amounts(get(resources, "requests"))})


def _effective(spec: Any) -> Any:
    """Give what a pod reserves.

    Containers for the start run one by one, beside the sidecars (those that always restart) listed before them; then
    all others run beside all sidecars. The larger of both counts, resource by resource. What the pod itself requests
    stands in place of that, and its overhead is added.
    """
    running, start = Amounts(), Amounts()
    for one in get(spec, "initContainers") or ():
        asks = _requests(one.get("resources"))
        start |= running + asks
        if one.get("restartPolicy") == "Always":
            running += asks
    for one in get(spec, "containers") or ():
        running += _requests(one.get("resources"))
    return Amounts({**(start | running), **_requests(get(spec, "resources"))}) + _amounts(get(spec, "overhead"))


def _with_kinds(amounts: Any, labels: Any) -> Any:
    """Add devices by type, where a label such as ``nvidia.com/gpu.product`` says the type."""
    kinds = {text for key, text in (labels or {}).items() if _KIND.search(key) and not re.fullmatch(r"true|\d*", text)}
    for name in [name for name in amounts if "/" in name]:
        amounts |= {as_name(f"{name}:{kind}", "label"): amounts[name] for kind in sorted(kinds)}
    return amounts


def read_item(item: Any, by: str | None, of_all: str, into: Export) -> None:
    """Read a pod or a node."""
    kind, meta, spec, status = item.get("kind") or of_all, item.get("metadata"), item.get("spec"), item.get("status")
    if kind == "Node":
        name = as_name(get(meta, "name"), "name")
        ready = [one.get("status") for one in get(status, "conditions") or () if one.get("type") == "Ready"]
        if ready and ready != ["True"]:
            into.notes[NOT_READY][name] = 1
            return
        into.machines[name] = _with_kinds(+_amounts(get(status, "allocatable")), get(meta, "labels"))
        parts = {(one.get("key"), one.get("value"), one.get("effect")) for one in get(spec, "taints") or ()}
        taints = frozenset((key, value or "", effect) for key, value, effect in parts if effect in _TAINTS)
        into.taints[name] = taints
        if get(spec, "unschedulable"):
            into.closed[name] = "cordoned"
        elif _CONTROL & {key for key, _, _ in taints}:
            into.closed[name] = "of the control plane"
    elif kind == "Pod" and get(status, "phase") not in ("Succeeded", "Failed"):
        space, place = get(meta, "namespace"), get(spec, "nodeName") or ""
        owners = {one.get("kind") for one in get(meta, "ownerReferences") or ()}
        tolerates = frozenset(
            (one.get("key") or None, None if one.get("operator") == "Exists" else one.get("value") or "",
             one.get("effect") or None)
            for one in get(spec, "tolerations") or ()
        )  # fmt: skip
        chosen, kept = _selected(spec)
        amounts = _with_kinds(_effective(spec), chosen)
        amounts["pods"] = 1
        if get(spec, "resourceClaims"):
            into.notes[_CLAIMS][""] += 1
        owner = get(meta, "labels", by) if by else space
        ask = Ask("", 1, place, amounts, tolerates, bound=bool(owners & _BY_ITSELF), kept=kept)
        add(into, (owner, space), "namespace", ask)
    elif kind in ("", "None"):
        raise InvalidInput("kind", "must be Pod or Node, which `kubectl get nodes,pods -A -o json` says", None)


def _selected(spec: Any) -> tuple[dict[str, str], bool]:
    """Give the labels that a pod's node must have, and whether a pod is kept off some nodes at all."""
    affinity, must = get(spec, "affinity"), "requiredDuringSchedulingIgnoredDuringExecution"
    terms: Any = get(affinity, "nodeAffinity", must, "nodeSelectorTerms") or ()
    rules = terms[0].get("matchExpressions") or () if len(terms) == 1 else ()
    labels = dict(get(spec, "nodeSelector") or {})
    kept = bool(labels or terms) or any(get(affinity, kind, must) for kind in ("podAffinity", "podAntiAffinity"))
    labels |= {one["key"]: one["values"][0] for one in rules if one.get("operator") == "In" and len(one["values"]) == 1}
    spread = {one.get("whenUnsatisfiable") for one in get(spec, "topologySpreadConstraints") or ()}
    return labels, kept or "DoNotSchedule" in spread
