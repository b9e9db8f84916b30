"""Virtual clusters that come and go: the rules against a plain simulation in fractions, by hand, saved states."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fairbook as fb
from book.virtual_cluster.oracle import as_case, share

RULES = [
    {"give": give, "take": take, "pick": pick}
    for give in ("gap", "tolerance")
    for take in ("surplus", "printed", "reshare")
    for pick in ("least_wanted", "free")
]


class Plain:
    """The rules, one VM at a time, in fractions."""

    def __init__(self, capacities: list[int], give: str, take: str, pick: str) -> None:
        self.capacities, self.give, self.take, self.pick = capacities, give, take, pick
        self.there: dict[int, dict[str, Any]] = {}
        self.taken_back = self.turned_away = 0

    def on(self, j: int) -> list[dict[str, Any]]:
        return [one for one in self.there.values() if one["cluster"] == j]

    def arrive(self, user: int, alpha: int, k: Fraction) -> bool:
        minimum = int(as_case([alpha], [k], [1]).minimum[0])
        options = []
        for j, C in enumerate(self.capacities):
            if C and sum(one["min"] for one in self.on(j)) + minimum <= C:
                wanted = Fraction(sum(one["alpha"] for one in self.on(j)) + alpha, C)
                free = C - sum(one["vms"] for one in self.on(j))
                options.append((wanted if self.pick == "least_wanted" else -free, j))
        if not options:
            self.turned_away += 1
            return False
        j = min(options)[1]
        others, C = self.on(j), self.capacities[j]
        new = {"alpha": alpha, "k": k, "min": minimum, "cluster": j, "vms": minimum}
        self.there[user] = new
        if self.take == "reshare":
            self.share(j)
            return True
        while sum(one["vms"] for one in others) + minimum > C:
            marks = [
                Fraction(one["vms"] - one["min"], one["alpha"])
                if self.take == "surplus"
                else Fraction(one["vms"], one["alpha"]) - one["k"]
                if one["vms"] > one["min"]
                else Fraction(-9)
                for one in others
            ]
            others[marks.index(max(marks))]["vms"] -= 1
            self.taken_back += 1
        self.hand_out(j)
        return True

    def depart(self, user: int) -> None:
        j = self.there.pop(user)["cluster"]
        if self.take == "reshare":
            self.share(j)
        else:
            self.hand_out(j)

    def share(self, j: int) -> None:
        here = self.on(j)
        if here:
            vms = share([one["min"] for one in here], [one["alpha"] for one in here], self.capacities[j])
            for one, number in zip(here, vms, strict=True):
                self.taken_back += max(0, one["vms"] - int(number))
                one["vms"] = int(number)

    def hand_out(self, j: int) -> None:
        here = self.on(j)
        for _ in range(self.capacities[j] - sum(one["vms"] for one in here)):
            waiting = [one for one in here if one["vms"] < one["alpha"]]
            if not waiting:
                return
            marks = [one["k"] if self.give == "tolerance" else -Fraction(one["vms"], one["alpha"]) for one in waiting]
            waiting[marks.index(max(marks))]["vms"] += 1


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: "-".join(rules.values()))
def test_the_rules_against_a_plain_simulation(rules: dict[str, Any]) -> None:
    back = away = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        C = rng.integers(0, 15, int(rng.integers(1, 4))).tolist() + [8]
        pool, plain = fb.VirtualClusterPool(C, **rules), Plain(C, **rules)
        for user in range(25):
            if plain.there and rng.random() < 0.35:
                gone = int(rng.choice(list(plain.there)))
                pool.depart(gone)
                plain.depart(gone)
            else:  # powers of two: differences of fractions and tolerances are exact in floats
                alpha, k = int(2 ** rng.integers(0, 4)), Fraction(int(rng.integers(0, 5)), 4)
                assert pool.arrive(user, alpha, float(k)) == plain.arrive(user, alpha, k)
            assert pool.users == tuple(plain.there)
            assert (pool.taken_back, pool.turned_away) == (plain.taken_back, plain.turned_away)
            assert len(pool) == len(plain.there)
            if plain.there:
                state = pool.state
                assert state.vms.tolist() == [one["vms"] for one in plain.there.values()], (seed, user)
                assert state.cluster.tolist() == [one["cluster"] for one in plain.there.values()]
                assert state.violations() == []
                assert state.served.all()
        back, away = back + pool.taken_back, away + pool.turned_away
    assert back > 20
    assert away > 10


#: Capacities, rules, who comes (VMs, tolerance) or goes, the VMs of those who stay, how many were taken back.
BY_HAND: dict[str, tuple[list[int], dict[str, Any], list[Any], dict[str, int], int]] = {
    # 10/10 against 10/6: ann goes first; bob 16/10 against 6/6; cat finds 5 and 0 left
    "where users go": (
        [10, 6],
        {},
        [("ann", 10, 0.5), ("bob", 6, 0), ("cat", 6, 0), ("dan", 5, 0)],
        {"ann": 5, "bob": 6, "dan": 5},
        5,
    ),
    # calm has 8, of which 2 are free beside tense's minimum and 2 are taken back; brief takes 2 more from calm: 4, 4
    "who gets what is free: the largest gap": (
        [10],
        {"give": "gap"},
        [("calm", 8, 1), ("tense", 8, 0.5), ("brief", 2, 0)],
        {"calm": 4, "tense": 4, "brief": 2},
        4,
    ),
    "and when one goes": (
        [10],
        {"give": "gap"},
        [("calm", 8, 1), ("tense", 8, 0.5), ("brief", 2, 0), "brief"],
        {"calm": 5, "tense": 5},
        4,
    ),
    "or who tolerates most": (
        [10],
        {"give": "tolerance"},
        [("calm", 8, 1), ("tense", 8, 0.5)],
        {"calm": 6, "tense": 4},
        2,
    ),
    "calm gave, and calm gets": (
        [10],
        {"give": "tolerance"},
        [("calm", 8, 1), ("tense", 8, 0.5), ("brief", 2, 0), "brief"],
        {"calm": 6, "tense": 4},
        4,
    ),
    # surplus 4/8 and 2/4 (a tie: the first), then 3/8 < 2/4, 3/8 > 1/4: 3 VMs: calm 6, brisk 3
    "who gives": (
        [12],
        {"give": "gap"},
        [("calm", 8, 0.5), ("brisk", 4, 0.5), ("new", 3, 0)],
        {"calm": 6, "brisk": 3, "new": 3},
        3,
    ),
    # both have 5, of which ann gives 5 back
    "shared anew": ([10], {"take": "reshare"}, [("ann", 10, 0.5), ("bob", 10, 0.5)], {"ann": 5, "bob": 5}, 5),
    # 1 - 0.25 against 1 - 0.75: the one that tolerates least gives first, down to its minimum
    "as printed": (
        [16],
        {"take": "printed"},
        [("tense", 8, 0.25), ("calm", 8, 0.75), ("new", 3, 0)],
        {"tense": 6, "calm": 7, "new": 3},
        3,
    ),
}


@pytest.mark.parametrize("what", BY_HAND)
def test_by_hand(what: str) -> None:
    capacities, rules, events, vms, taken_back = BY_HAND[what]
    pool = fb.VirtualClusterPool(capacities, **rules)
    came = [pool.depart(one) if isinstance(one, str) else pool.arrive(*one) for one in events]
    assert pool.state.to_frame()["vms"].to_dict() == vms
    assert pool.state.requests.whole
    assert (pool.taken_back, pool.turned_away) == (taken_back, came.count(False))
