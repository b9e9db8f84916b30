"""A witness of the ledger, as it stands in a sentence, as a table and as Python to paste.

The call is found by trying: of a few that fit the data, the first whose outcome is the one that the evidence states.
Where none gives it, the data alone are shown.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any, get_args

import numpy as np

import fairbook as fb
from fairbook.mechanisms import readings
from fairbook.mechanisms.virtual_cluster import Method

Nested = Any  #: lists of lists of numbers, these as text
#: A name and what stands in brackets behind it; two levels of brackets within.
PAIR = r"({}) (\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))"
#: What is said before the data, and the argument that it is.
NAMES = {
    "demands": "demands", "Demands": "demands", "tasks": "tasks", "machines": "machines", "parts": "parts",
    "weights": "weights", "psi": "psi", "Users": "demands", "contributions": "weights", "want": "wishes",
    "tolerate": "tolerance", "clusters of": "clusters", "a pool of": "capacities",
}  # fmt: skip
#: The arguments of a mechanism.
KINDS: tuple[set[str], ...] = (
    {"demands", "tasks", "machines", "parts"},
    {"demands", "capacities", "weights"},
    {"demands", "capacities"},
    {"demands", "machines"},
    {"demands", "weights"},
    {"demands", "psi"},
    {"wishes", "tolerance", "clusters"},
)
#: What all users share.
SHARED = {"machines", "capacities", "clusters"}
#: Users and machines, one after the other; tasks in a pool.
LISTED = re.compile(r"users ((?:\([^()]*\) ?)+)on machines (\([^()]*\)(?: \([^()]*\))*)")
POOLED = re.compile(r"tasks of (\(.+?\)) in a pool of ")


def uniform(evidence: str) -> str:
    """Write data in round brackets, and users and machines that stand one after the other as lists.

    Examples
    --------
    >>> uniform("users (1, 1) (2, 2) on machines (5, 5): VMs (1, 2).")
    'demands ((1, 1), (2, 2)), machines ((5, 5)): VMs (1, 2).'
    """
    listed = r"demands (\1), machines (\2)"
    found = LISTED.sub(listed, POOLED.sub(r"demands \1, a pool of ", evidence.translate(str.maketrans("[]", "()"))))
    return re.sub(r"\) +(?=\()", "), ", found).replace(" ), machines", "), machines")


def nested(text: str) -> Nested:
    """Read what stands in brackets.

    Examples
    --------
    >>> nested("((1), (1/2))")
    [['1'], ['1/2']]
    """
    found: list[list[Nested]] = [[]]
    for token in re.findall(r"[()]|-?[\d./]+", text):
        if token == "(":
            found.append([])
        elif token == ")":
            found[-2].append(found.pop())
        else:
            found[-1].append(token)
    return found[0][0]


def written(value: Nested) -> str:
    """Write nested lists as Python."""
    return value if isinstance(value, str) else f"[{', '.join(map(written, value))}]"


def numbers(value: Nested) -> np.ndarray:
    """Give nested lists as an array; ragged ones as what is in them, one after the other."""
    flat = re.findall(r"-?\d[\d./]*", written(value))
    return np.array([float(Fraction(one)) for one in flat])


def data(evidence: str) -> dict[str, Nested]:
    """Give the data of the first witness in a text: the arguments of a mechanism.

    Examples
    --------
    >>> data("weights (1, 2), demands ((1, 0), (0, 1)), k 2, levels ((1), (3/2, 3/2)).")
    {'weights': ['1', '2'], 'demands': [['1', '0'], ['0', '1']]}
    """
    found: dict[str, Nested] = {}
    for said, value in re.findall(PAIR.format("|".join(NAMES)), uniform(evidence)):
        if re.fullmatch(r"[()\d./, -]+", value):
            found.setdefault(NAMES[said], nested(value))
    for kind in KINDS:
        chosen = {name: value for name, value in found.items() if name in kind}
        users = {len(value) for name, value in chosen.items() if name not in SHARED}
        if kind == set(chosen) and (len(users) == 1 or "parts" in kind):
            return chosen
    return {}


def ways(choices: Any, claim: str) -> list[str]:
    """Give the choices of an option: the one that the claim is named by, else all, the exact one first."""
    named = [name for name in get_args(choices) if name in claim]
    return [max(named, key=len)] if named else sorted(get_args(choices), key=lambda name: name != "exact")


def calls(known: dict[str, Nested], claim: str, fluid: str) -> Iterator[tuple[str, str]]:
    """Yield calls that fit the data, each with how the evidence says their outcome; first what the claim is about.

    ``fluid`` is the option that says that virtual machines can be divided, where they can.
    """
    if "parts" in known:
        methods = sorted(ways(readings.TvMethod, claim), reverse=".whole" not in claim)
        for method, waits in product(methods, ("", ', unserved="waits"')):
            call = f'fb.tv_drf(demands, tasks, machines, parts, method="{method}"{waits}).tasks'
            yield call, "Tasks run|Tasks by period:"
    elif "capacities" in known:
        weights = "weights=weights, " if "weights" in known else ""
        yield f"fb.sequential_minmax(demands, {weights}capacities=capacities).tasks", "Given for [^:]*:"
    elif "machines" in known:
        for match in ("same", "nearest") if "printed" in claim else ("nearest",):
            yield f'fb.gdrf(demands, machines, match="{match}").tasks', "VMs"
    elif "weights" in known:
        yield "[fb.dmfa_srq(demands, weights=weights).levels_at(k) for k in range(1, len(weights) + 1)]", "levels"
    elif "psi" in known:
        pool = ", ".join("1" for _ in known["demands"][0])
        for grant in ways(readings.Grant, claim):
            yield f'fb.grant_tasks(demands, psi, capacities=[{pool}], grant="{grant}").tasks', "tasks"
    elif "wishes" in known:
        for method in ways(Method, claim):
            call = f'fb.virtual_cluster(wishes, tolerance, clusters, method="{method}"{fluid}).vms'
            yield call, r"given are|handed out are VMs|clusters of \([^)]*\): VMs"


def outcome(call: str, known: dict[str, Nested]) -> np.ndarray | None:
    """Run a call; give all its numbers, or nothing where the mechanism refuses the data."""
    names = {name: eval(written(value)) for name, value in known.items()}
    try:
        return np.concatenate([np.ravel(one) for one in eval(call, {"fb": fb, **names})])
    except fb.FairbookError:
        return None


def call_of(evidence: str, known: dict[str, Nested], claim: str = "") -> tuple[str, str] | None:
    """Give the call that gives what the evidence says, and what it says."""
    for call, said in calls(known, claim, ", whole=False" if "VMs not whole" in evidence else ""):
        stated = re.search(PAIR.format(said), uniform(evidence))
        if not stated:
            continue
        wanted, found = numbers(nested(stated[2])), outcome(call, known)
        if found is not None and found.shape == wanted.shape and np.allclose(found, wanted, rtol=1e-9, atol=1e-9):
            return call, written(nested(stated[2]))
    return None


def python(evidence: str, claim: str = "") -> str:
    """Give the witness as Python to paste, or nothing where there is none to read."""
    known = data(evidence)
    if not known:
        return ""
    lines = ["import fairbook as fb", "", *(f"{name} = {written(value)}" for name, value in known.items())]
    if found := call_of(evidence, known, claim):
        lines += [found[0], f"# {found[1]}"]
    return "\n".join(lines)


def rows(evidence: str) -> list[list[str]]:
    """Give the witness as a table: a row for each user, or nothing where there is none to read."""
    known = data(evidence)
    if not known:
        return []
    columns: dict[str, Nested] = {}
    for name, value in known.items():
        if "parts" in known and name in ("demands", "tasks"):
            columns |= {f"{name}, period {t}": one for t, one in enumerate(value, start=1)}
        elif name not in SHARED:
            columns[name] = value
    users = zip(*columns.values(), strict=True)
    shown = [[str(i), *(written(one).strip("[]") for one in user)] for i, user in enumerate(users, start=1)]
    return [["user", *columns], *shown]
