"""What the papers leave open: options of the mechanisms, each said once.

The types are those of the mechanisms' arguments; the first value of each option is its default. This module loads no
numerical library, so that the command line can list options at once.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

__all__ = [
    "READINGS",
    "Alone",
    "DrfhMethod",
    "Engine",
    "Fit",
    "Floor",
    "GdrfChoice",
    "General",
    "Grant",
    "Held",
    "Least",
    "Load",
    "MachineType",
    "Match",
    "MdrfReading",
    "Penalty",
    "Queue",
    "Ratio",
    "Reading",
    "Stuck",
    "Ties",
    "TvMethod",
    "Unserved",
]

#: What works a mechanism out: its engine, which may be the rule itself, on doubles; or its rule on fractions of them.
Engine = Literal["fast", "plain"]
#: A minimum counts as part of the level, or what is above it has a level of its own (drf).
Floor = Literal["counted", "apart"]
#: Who does not fit is passed over, or ends it (drf_by_task).
Stuck = Literal["skip", "stop"]
#: Whom a tie serves (sequential_minmax).
Ties = Literal["first", "last"]
#: What is held returns in the next phase, or stays away (cbdrf).
Held = Literal["returns", "stays"]
#: The paper's rule, or one of its two repairs (cbdrf).
Grant = Literal["scaled", "weighted", "capped"]
#: A step down as printed, or graded by what is released (cbdrf).
Penalty = Literal["step", "graded"]
#: One release ratio from those of the resources (cbdrf).
Ratio = Literal["least", "mean", "dominant"]
#: Which machines a user may take (gdrf).
Match = Literal["nearest", "same", "any"]
#: Who has least, by which measure (gdrf).
Least = Literal["amount", "dominant_share", "shares"]
#: Of what a machine has most (gdrf).
MachineType = Literal["share", "amount"]
#: Which of the machines it takes (gdrf).
GdrfChoice = Literal["fairness", "fairness_empty_last", "fairness_after", "first"]
#: Slots by rounds, or one by one (gdrf).
Queue = Literal["rounds", "one_by_one"]
#: Whole tasks by either rule, or fractions (drfh).
DrfhMethod = Literal["best_fit", "first_fit", "fluid"]
#: Which of the two readings (mdrf).
MdrfReading = Literal["entropy", "type"]
#: Whole tasks, or levels in lexicographic order (tv_drf).
TvMethod = Literal["heuristic", "lexicographic"]
#: What a user would run alone (tv_drf).
Alone = Literal["bundles", "whole_bundles", "resources"]
#: What becomes of tasks that did not run (tv_drf).
Unserved = Literal["expires", "waits"]
#: Which cluster is least loaded (virtual_cluster).
Load = Literal["relative", "free"]
#: Which cluster a user goes to (virtual_cluster).
Fit = Literal["least_wanted", "best_fit", "first_fit"]
#: What solves the rest (virtual_cluster).
General = Literal["greedy", "relaxation", "metagreedy"]


class Reading(NamedTuple):
    """An option of a mechanism."""

    values: tuple[str, ...]
    """The default first."""
    about: str


def _reading(kind: Any, about: str) -> Reading:
    return Reading(get_args(kind), about)


#: By mechanism and argument.
READINGS: dict[str, dict[str, Reading]] = {
    "drf": {"floor": _reading(Floor, "whether minima count for who stands lowest, or the rest is shared by itself")},
    "drf_by_task": {"stuck": _reading(Stuck, "pass over who does not fit, or end there")},
    "sequential_minmax": {"ties": _reading(Ties, "which of the users that tie is served: the first, or the last")},
    "cbdrf": {
        "held": _reading(Held, "whether what is held is back in the next phase, or missing there"),
        "grant": _reading(Grant, "the paper's rule, or one of its two repairs"),
        "penalty": _reading(Penalty, "whether the step down shrinks with what is released"),
        "ratio": _reading(Ratio, "what one ratio a resource comes to: the smallest, the mean, the dominant one's"),
    },
    "gdrf": {
        "match": _reading(Match, "machines of the user's type, then of the next; of its type only; all"),
        "least": _reading(Least, "whose turn it is: who has least by this measure"),
        "machine_type": _reading(
            MachineType, "of which resource a machine has most: as a part of all there is, by amount"
        ),
        "choice": _reading(
            GdrfChoice,
            "the machine with the largest f as it stands; 0^0 = 0; with the task counted in; with room, the first",
        ),
        "queue": _reading(Queue, "rounds of as many tasks as users, or one task at a time"),
    },
    "drfh": {"method": _reading(DrfhMethod, "heuristic for whole tasks, or the optimum in fractions")},
    "mdrf": {
        "reading": _reading(MdrfReading, "what suits a task: the mixture of what is free, or the type of the machine"),
    },
    "per_server_drf": {},
    "tv_drf": {
        "method": _reading(TvMethod, "whole tasks one by one, or the fluid optimum (machines of one shape)"),
        "unserved": _reading(Unserved, "whether tasks that are not run in their period are lost or wait"),
        "alone": _reading(
            Alone,
            "what a user would have had alone: its tasks in fractions, whole tasks (a coefficient below 1 in "
            "fractions may only mean that a part of a task cannot run), or each resource by itself",
        ),
    },
    "virtual_cluster": {
        "load": _reading(Load, "least loaded: the smallest part in use, or the most VMs free"),
        "fit": _reading(Fit, "where to: where least is wanted a VM; into the fullest, or the first, where all fits"),
        "general": _reading(General, "what is used on the few that are left"),
    },
}
