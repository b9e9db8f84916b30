"""Who lives where, under the reader's hand."""

from book.common.explore import Column, Control, Explorable, Panel, State
from fairbook.mechanisms.clusters.virtual_cluster import Method, virtual_cluster

__all__ = ["homes", "puzzle"]

_USERS = "ABCDEF"
_WISHES = [4, 6, 8, 4, 4, 12]
_TOLERANCE = [1 / 4, 0, 1 / 2, 1 / 2, 1 / 2, 3 / 4]
_CLUSTERS = [12, 10, 8]
_METHODS: tuple[Method, ...] = ("relaxation", "greedy", "exact")


def homes() -> Explorable:
    """Settle the users of the worked example by three methods, while the last one wishes for more and more."""
    states, wishes = [], [str(n) for n in range(4, 21, 2)]
    for method in _METHODS:
        for last in wishes:
            alpha = [*_WISHES[:-1], int(last)]
            run = virtual_cluster(alpha, _TOLERANCE, _CLUSTERS, method=method)
            clusters = [
                Column(
                    f"cluster {h}",
                    [
                        (who, float(n))
                        for who, home, n in zip(_USERS, run.cluster, run.vms, strict=True)
                        if home == h and n
                    ],
                    line=float(size),
                )
                for h, size in enumerate(_CLUSTERS)
            ]
            parts = [
                Column(who, [(who, float(n) / wish)], f"{int(n)} of {wish}", 1 - k)
                for who, n, wish, k in zip(_USERS, run.vms, alpha, _TOLERANCE, strict=True)
            ]
            served = sum(n > 0 for n in run.vms)
            said = f"{run.slack.sum():.0f} of {sum(_CLUSTERS)} machines stay free. " + (
                f"The least fraction is {run.min_fraction:.3g}."
                if served == len(alpha)
                else f"Only {served} of {len(alpha)} users are served."
            )
            states.append(
                State(
                    [
                        Panel("who lives where; the line is the cluster's size", clusters, 13, "VMs"),
                        Panel("part of the wish; the line is the minimum", parts, 1),
                    ],
                    said,
                )
            )
    return Explorable(
        _USERS, [Control("method", list(_METHODS)), Control("F wishes for", wishes, wishes.index("12"))], states
    )


def puzzle() -> Explorable:
    """Let A want one VM and accept no less, and B want two and insist on more and more of them, of two in all."""
    states, least = [], [0.25, 0.5, 0.75, 1.0]
    for minimum in least:
        run = virtual_cluster([1, 2], [0, 1 - minimum / 2], [2], method="exact", whole=False)
        parts = [
            Column(f"user {who}", [(who, float(n) / wish)], f"{n:.3g} of {wish}", bound)
            for who, n, wish, bound in zip("AB", run.vms, (1, 2), (1.0, minimum / 2), strict=True)
        ]
        more = run.vms[1] > minimum + 1e-9
        states.append(
            State(
                [Panel("part of the wish; the line is the minimum", parts, 1.1)],
                f"B gets {run.vms[1]:.3g}, {'more than' if more else 'exactly'} its minimum of {minimum:g}. "
                "The pool could give everybody two thirds.",
            )
        )
    return Explorable("AB", [Control("B insists on", [f"{minimum:g}" for minimum in least])], states)
