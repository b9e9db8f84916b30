"""The measures of the GDRF paper, equations (4), (5), (7) and (8), and the family of Lan et al. that (7) stands on."""

from typing import Any

import numpy as np

from fairbook.errors import InvalidInput
from fairbook.model.inputs import FloatArray

__all__ = ["joe_wong_fairness", "lan_fairness", "placement_fairness", "relative_utilisation"]


def lan_fairness(values: Any, beta: float) -> float:
    """Give the fairness measure of Lan et al., sgn(1 - beta) (sum_i p_i^(1 - beta))^(1 / beta) with p_i = x_i / sum x.

    At every beta it is largest where all are equal: n for beta < 1 and -n for beta > 1.

    Parameters
    ----------
    values : array_like, shape (n,)
        Not negative, in any unit: only their ratios matter. A zero adds nothing for beta < 1 and makes the measure
        minus infinite for beta > 1. All zero counts as all equal.
    beta : float
        Any real number but 1, where the measure jumps from n to -n, or an infinity. The larger beta, the more the worst
        off count. Limits stand in where the formula has none: at 0 the exponential of the entropy of p, at inf
        -1 / min p, at -inf 1 / max p.

    Notes
    -----
    Cost O(n). Computed in logarithms, so that neither tiny shares nor a beta near 0, near 1 or far away do harm.
    At beta = -1 it is n times Jain's index.

    References
    ----------
    Lan, Kao, Chiang, Sabharwal, "An axiomatic theory of fairness in network resource allocation", INFOCOM 2010.

    Examples
    --------
    >>> [round(lan_fairness([3, 1], beta), 4) for beta in (-np.inf, -1, 0, 0.5, 2, np.inf)]
    [1.3333, 1.6, 1.7548, 1.866, -2.3094, -4.0]
    """
    if beta == 1:
        raise InvalidInput("beta", "must not be 1, where the measure jumps", beta)
    x = np.asarray(values, dtype=float)
    used = x[x > 0] if x.any() else np.ones_like(x)
    if beta > 1 and used.size < x.size:
        return -np.inf
    logs = np.log(used)  # of the shares p, once their sum is taken away
    logs -= logs.max()
    logs -= np.log(np.exp(logs).sum())
    if np.isinf(beta):
        log = -logs.max() if beta < 0 else -logs.min()
    elif abs(beta) < 0.1:  # sum p^(1-b) = 1 + sum p (exp(-b log p) - 1), since the shares sum to 1
        tiny = abs(beta) <= 1e-30
        log = -np.exp(logs) @ logs if tiny else np.log1p(np.exp(logs) @ np.expm1(-beta * logs)) / beta
    else:
        top = logs.max() if beta < 1 else logs.min()
        log = (1 - beta) / beta * top + np.log(np.exp((1 - beta) * (logs - top)).sum()) / beta
    return float(np.copysign(np.exp(log), 1 - beta))


def joe_wong_fairness(dominant_shares: Any, beta: float, lam: float) -> float:
    """Give the measure of fairness and efficiency of Joe-Wong et al.: Lan's measure times (sum of the shares)^lam.

    Equation (7), with dominant_shares[j] = mu_j x_j, shape (n,), not negative.

    Notes
    -----
    For beta > 0 and lam = (1 - beta) / beta it orders allocations as the alpha-fair utility with alpha = beta does,
    since its absolute value is then (sum_j (mu_j x_j)^(1 - beta))^(1 / beta). With lam fixed its limits at beta = 1
    depend, among positive shares, on nothing but their number and their sum.

    References
    ----------
    Joe-Wong, Sen, Lan, Chiang, "Multi-resource allocation: fairness-efficiency tradeoffs in a unifying framework",
    INFOCOM 2012; GDRF paper, equation (7).

    Examples
    --------
    >>> round(joe_wong_fairness([0.3, 0.1], beta=2, lam=-0.5), 4), round(-(1 / 0.3 + 1 / 0.1) ** (1 / 2), 4)
    (-3.6515, -3.6515)
    """
    return lan_fairness(dominant_shares, beta) * float(np.sum(dominant_shares)) ** lam


def relative_utilisation(used: FloatArray, capacities: FloatArray) -> FloatArray:
    """Give the relative utilisation of each machine, w_j = sum_r C_jr eta_jr / sum_r C_jr, shape (N,).

    Equations (4) and (5), of (N, m) amounts. The paper adds up amounts of different resources, so the value depends on
    their units. It is all in use over all there is.

    >>> relative_utilisation(np.array([[2, 4], [1, 0]]), np.array([[4, 12], [2, 0]]))
    array([0.375, 0.5  ])
    """
    parts = capacities / capacities.sum(axis=1, keepdims=True)
    w: FloatArray = (parts * used / np.where(capacities > 0, capacities, 1.0)).sum(axis=1)
    return w


def placement_fairness(shares_placed: Any, w: Any, k: Any = 1.0) -> Any:
    """Give the placement fairness of machines, f = k s^w, entry by entry.

    Equation (8), with s = sum_i mu_i* v_i: the dominant shares, in the whole pool, of all that is placed on the
    machine. An empty machine has s = w = 0 and by 0 ** 0 = 1 the value k, which for s <= 1 is the largest there is.

    >>> placement_fairness(np.array([0, 0.01, 0.25]), np.array([0, 0.25, 0.5])).round(4)
    array([1.    , 0.3162, 0.5   ])
    """
    return k * np.asarray(shares_placed, dtype=float) ** w
