"""What schedulers export as JSON, read into frames of users and machines that mechanisms take.

``kubectl get nodes,pods -A -o json``, Slurm's ``squeue --json`` and ``sinfo --json`` (or ``scontrol show nodes
--json``), from 20.11 to 25.11. A user is a namespace, or an account. Its task is the mean of what its pods or jobs ask
for, and it has as many as there are, waiting ones included; finished ones do not count. Amounts are cores, GiB and
pieces. A type of a device is a resource of its own, ``gpu:a100`` beside ``gpu``, where someone asks for that type.
"""

from __future__ import annotations

import json
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from fairbook.errors import InvalidInput
from fairbook.exports.kubernetes import read_item
from fairbook.exports.slurm import read_job, read_node, read_row
from fairbook.exports.summary import summed_up
from fairbook.exports.told import KNOWN, UNNAMED, Export
from fairbook.files import unpacked

__all__ = ["read_export"]


def read_export(
    path: str | PathLike[str],
    machines: str | PathLike[str] | None = None,
    *,
    user: str | None = None,
    all_nodes: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read what Kubernetes or Slurm exports as JSON into a frame of users and a frame of machines.

    Parameters
    ----------
    path : path
        What ``kubectl get nodes,pods -A -o json`` or ``squeue --json`` wrote, plain or packed by gzip.
    machines : path, optional
        What ``sinfo --json`` or ``kubectl get nodes -o json`` wrote, in place of machines that ``path`` may tell.
    user : str, optional
        The label of the pods, or the field of the jobs, that names the user. Default: the namespace, or the account.
        What has no such label or field goes under its namespace, or under the user's name or number.
    all_nodes : bool, optional
        Whether machines on which nothing new may start count, too: cordoned ones, those of the control plane, those
        with a taint that no pod but daemons tolerates; of Slurm, drained, reserved and maintained ones where nothing
        runs.

    Returns
    -------
    users : DataFrame
        One row a user, with a column for each resource: what a task asks for, the mean of the user's pods or jobs, in
        cores (``cpu``), GiB (``memory`` and all that is counted in bytes) or pieces. Then ``max_tasks``, how many there
        are, and ``held_<resource>``, what those that run hold together. ``users.attrs["notes"]`` lists what does not
        count, what counts though it might not be expected to, and what is not looked at.
    machines : DataFrame
        One row a machine that is in service, with those resources in that order; no rows where none is told.

    Raises
    ------
    InvalidInput
        Where a file is no such export, or a field of it is not what it should be; the message gives file and field.
    OSError
        Where a file cannot be read, or unpacks to more than 256 MiB.

    Notes
    -----
    Cost linear in the size of the files. Resources that nobody asks for are left out, and so are pods and jobs that
    ask for what no machine has. Each pod takes one of its node's ``pods``. A job over n nodes is n tasks, each a part
    of it. A resource that is called like another column, ``max_tasks`` say, is ``max_tasks (resource)`` here.

    Examples
    --------
    >>> import fairbook as fb
    >>> from fairbook.traces.paths import data_path
    >>> users, machines = fb.read_export(data_path("example_kubernetes.json"))
    >>> users[["cpu", "memory", "nvidia.com/gpu", "pods", "max_tasks"]]
           cpu  memory  nvidia.com/gpu  pods  max_tasks
    user
    etl     4.0  24.000             0.0   1.0          8
    train   6.0  64.000             2.0   1.0          4
    vision  4.0  32.000             2.0   1.0          3
    web     1.1   1.125             0.0   1.0         12
    >>> p = fb.drfh(users[machines.columns], machines=machines, max_tasks=users["max_tasks"])
    >>> dict(zip(p.users, p.tasks.tolist()))
    {'etl': 8, 'train': 2, 'vision': 2, 'web': 12}
    """
    found = read(unpacked(Path(path).read_bytes(), str(path)), str(path), user)
    if machines is not None:
        found = found.beside(read(unpacked(Path(machines).read_bytes(), str(machines)), str(machines), None))
    if not found.asks:
        raise InvalidInput(f"{path}:", "must tell pods or jobs that have not finished", None)
    return summed_up(found, all_nodes)


def read(content: bytes, source: str, by: str | None) -> Export:
    """Read the text of one file."""
    try:
        document = json.loads(content, object_pairs_hook=_each_once)
    except (RecursionError, ValueError) as error:
        raise InvalidInput(f"{source}:", f"is not JSON ({str(error)[:80]}), as {KNOWN} writes", content[:20]) from None
    readers = {"items": read_item, "jobs": read_job, "sinfo": read_row, "nodes": read_node}
    fields = document if isinstance(document, dict) else {}
    known = next((name for name in readers if isinstance(fields.get(name), list)), None)
    if known is None:
        raise InvalidInput(f"{source}:", f"must be what {KNOWN} writes", list(fields) or document)
    found = Export()
    of_all = str(fields.get("kind")).removesuffix("List")  # of a PodList no item tells its own
    for k, item in enumerate(fields[known]):
        try:
            readers[known](item, by, of_all, found)
        except InvalidInput as error:
            raise InvalidInput(f"{source}, {known}[{k}], {error.argument}:", error.rule, error.value) from None
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InvalidInput(f"{source}, {known}[{k}]:", f"must be what {KNOWN} writes", "something else") from None
    if by and found.asks and found.notes[UNNAMED].total() == len(found.asks):
        raise InvalidInput("user", "must be a label that some pod has, or a field of jobs", by)
    return found


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # readers differ in which of the two they take
        raise ValueError(f"{Counter(name for name, _ in pairs).most_common(1)[0][0]!r} stands twice in one object")
    return found
