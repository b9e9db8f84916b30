"""The comparison: what its frames hold, that they are what was measured, and that the guide follows from them."""

import re
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairbook as fb
from book.common import results
from book.compare import explorable, studies as study
from book.compare.entrants import ENTRANTS, STAND_INS, Outcome, Shared
from book.compare.matrix import KEPT
from book.compare.properties import PROPERTIES
from tools.execute import BOOK

ONE = "alibaba2017"


@cache
def frame(name: str) -> pd.DataFrame:
    arguments = {"liars": 2} if name == "lying" else {}
    return getattr(study, name)(2, traces=ONE, **arguments)


def value(table: pd.DataFrame, mechanism: str, measure: str) -> float:
    found = table[(table["mechanism"] == mechanism) & (table["measure"] == measure)]["mean"]
    assert len(found) == 1
    return float(found.iloc[0])


# --------------------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize(
    ("name", "measures"), [("moment", study.MOMENT), ("day", study.DAY), ("lying", ("paying", "gain"))]
)
def test_every_mechanism_and_measure_has_a_row(name: str, measures: tuple[str, ...]) -> None:
    table = frame(name)
    assert list(table.columns) == ["trace", "mechanism", "measure", "mean", "low", "high", "runs"]
    keys = zip(table["trace"], table["mechanism"], table["measure"])
    assert list(keys) == list(product([ONE], study.MECHANISMS, measures))
    some = table.dropna()
    assert (some["low"] <= some["mean"]).all()
    assert (some["mean"] <= some["high"]).all()
    assert (some["mean"] >= 0).all()
    of_one = ["utilisation", "envious", "losers", "loss", "placed", "taken", "done", "paying"]
    assert (some.loc[some["measure"].isin(of_one), "mean"] <= 1 + 1e-9).all()


def test_what_must_be_so_is_so() -> None:
    now, day, lies = frame("moment"), frame("day"), frame("lying")
    same = ["drf", "cbdrf", "karma", "tv_drf_fluid"]  # at one moment, with no past
    for measure in study.MOMENT:
        assert [value(now, name, measure) for name in same] == pytest.approx([value(now, "drf", measure)] * 4)
    for name in same:
        assert value(now, name, "envious") == value(now, name, "losers") == value(now, name, "loss") == 0
        assert value(lies, name, "paying") == value(lies, name, "gain") == 0
    assert value(now, "dmfa_srq", "taken") == 0
    for name in study.MECHANISMS:
        if ENTRANTS[name].whole and ENTRANTS[name].places:
            assert value(now, name, "placed") == 1
            assert value(now, name, "min_placed") == value(now, name, "min_share")
    assert value(day, "drf", "done") > value(day, "cbdrf", "done")  # what cbDRF gives beyond the need is lost


def test_where_nodes_fail_the_rest_has_no_more_and_where_nobody_fails_it_is_the_day() -> None:
    found, day = study.failures(2, traces=ONE), frame("day")
    table = found.pivot(index="measure", columns="reading", values="mean")[[words for words, _, _ in study.FAILURES]]
    nobody, returns, stays = (dict(table.iloc[:, at]) for at in range(3))
    assert nobody == {measure: value(day, "cbdrf", measure) for measure in study.DAY}
    for measure in ("sum_share", "utilisation", "done"):
        assert nobody[measure] > returns[measure] > stays[measure]


def case_of_two() -> Shared:
    return Shared(
        np.array([[[1.0], [2.0]]]), np.array([[9.0, 9.0]]), np.array([[4.0]]), np.array([2.0]), np.zeros((0, 1))
    )


def test_envy_and_losses_by_hand() -> None:
    """Each brings 4; A needs 1 and B needs 2, so that alone they run 4 and 2."""
    case, drf, whole = case_of_two(), ENTRANTS["drf"], ENTRANTS["drf_by_task"]
    given = Outcome(np.array([[2.0, 3.0]]))
    assert study._envious(case, given, drf) == 0.5  # A could run 6
    assert study._losses(case, given, drf) == (0.5, pytest.approx(0.5))
    assert study._envious(case, given, whole) == 0.5  # less one of B's, 4
    assert study._losses(case, given, whole) == (0, 0)  # less by two tasks of 1, and one of anybody may be 2
    worse = Outcome(np.array([[1.0, 3.0]]))
    assert study._losses(case, worse, whole) == (0.5, pytest.approx(0.75))


def test_what_is_placed_by_hand() -> None:
    case = case_of_two()
    share, least = study._placed(case, Outcome(np.array([[3.5, 1.5]])), ENTRANTS["drf"])
    assert share == pytest.approx((3 + 2) / (3.5 + 3))  # rounded down, all of it fits
    assert least == pytest.approx(2 / 8)
    assert np.isnan(study._placed(case, Outcome(np.zeros((1, 2))), ENTRANTS["drf"])[0])
    narrow = Shared(np.array([[[3.0], [3.0]]]), case.tasks, case.block, case.slot, case.extra)
    share, _ = study._placed(narrow, Outcome(np.array([[1.0, 5 / 3]])), ENTRANTS["drf"])
    assert share == pytest.approx(2 / (1 + 5 / 3))  # one of 3 on each machine of 4


# --------------------------------------------------------------------------------------------------------- matrix


def stored_cells() -> pd.DataFrame:
    """Tell the cells by whatever is stored now, though sources may have changed since."""
    known = pd.concat(
        [
            results.load(f"{paper}/ledger", check=False)
            for paper in sorted({one.split(".")[0] for one in study.EVIDENCE.values()})
        ]
    )
    return study.cells(results.load("compare/matrix", check=False), known)


@cache
def matrix() -> pd.DataFrame:
    return study.matrix(4)


def ledger(**verdicts: str) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"id": one, "verdict": verdicts.get(one.replace(".", "__"), "holds")}
            for one in sorted(set(study.EVIDENCE.values()))
        ]
    )


def test_every_cell_is_computed() -> None:
    table = matrix()
    assert list(zip(table["mechanism"], table["property"])) == list(product(study.MECHANISMS, PROPERTIES))
    assert (table["witness"].ne("") == table["found"]).all()
    missed = table[~table["found"]]
    assert missed["tried"].tolist() == [
        4 * PROPERTIES[name].effort + len(KEPT.get(name, ())) for name in missed["property"]
    ]
    assert table["found"].any()


def test_proofs_are_on_the_page_and_each_settles_a_cell() -> None:
    page = (BOOK / "compare" / "evidence.md").read_text(encoding="utf-8")
    assert set(study.PROOFS.values()) == set(re.findall(r"^:label: (prop-compare-\S+)", page, re.MULTILINE))
    assert not set(study.PROOFS) & set(study.EVIDENCE)
    assert {*study.PROOFS, *study.EVIDENCE} <= set(product(ENTRANTS, PROPERTIES))


def test_verdicts_of_cells() -> None:
    table = matrix().assign(found=False)
    some = {("drf", "envy"): True, ("karma", "remembers"): True, ("tv_drf", "waste"): True}
    table["found"] = [some.get(key, False) for key in zip(table["mechanism"], table["property"])]
    refuted = study.EVIDENCE["dmfa_srq", "sharing"].replace(".", "__")
    told = study.cells(table, ledger(**{refuted: "refuted"})).set_index(["mechanism", "property"])
    for cell, verdict, contradicts in (
        (("drf", "envy"), "fails", True),
        (("drf", "lies"), "holds", False),
        (("dmfa_srq", "sharing"), "fails", False),
        (("tv_drf", "envy"), "not broken", False),
        (("tv_drf", "waste"), "fails", True),
        (("drfh", "waste"), "holds", False),
        (("drf", "remembers"), "none", False),
        (("karma", "remembers"), "seen", False),
        (("tv_drf", "remembers"), "not seen", False),
    ):
        assert told.loc[cell, ["verdict", "contradicts"]].tolist() == [verdict, contradicts], cell
    assert told.loc[("drfh", "waste"), "proof"] == "prop-compare-full"
    assert told["contradicts"].sum() == 2
    undecided = study.EVIDENCE["drf", "lies"].replace(".", "__")
    told = study.cells(table, ledger(**{undecided: "undetermined"})).set_index(["mechanism", "property"])
    assert told.loc[("drf", "lies"), "verdict"] == "not broken"


def test_search_and_claims_do_not_contradict_each_other() -> None:
    told = stored_cells()
    assert len(told) == len(ENTRANTS) * len(PROPERTIES)
    assert not told["contradicts"].any()
    assert set(told["verdict"]) == {"holds", "fails", "seen", "none"}  # nothing is open


def test_the_sheet_leads_to_proofs_and_witnesses() -> None:
    told = study.cells(matrix(), ledger())
    sheet = study.sheet(told, dict.fromkeys(study.EVIDENCE.values(), "thm-x")).set_index("mechanism")
    label = {name: one.label for name, one in ENTRANTS.items()}
    assert sheet.loc[label["drf_by_task"], "fits"] == "{ref}`fails <witness-drf_by_task>`"
    assert sheet.loc[label["drf"], "envy"] == "{prf:ref}`proved <thm-x>`"
    text = study.accounts(told)
    assert all(f":name: witness-{name}\n" in text for name in ENTRANTS)
    for one in told[told["found"]].itertuples():
        assert f"Instance {one.tried}: {one.witness}. There: {one.case}." in text


# ---------------------------------------------------------------------------------------------------------- guide


def told(found: set[tuple[str, str]]) -> pd.DataFrame:
    rows = pd.DataFrame(list(product(study.MECHANISMS, PROPERTIES)), columns=["mechanism", "property"])
    return study.cells(rows.assign(found=[cell in found for cell in rows.itertuples(index=False, name=None)]), ledger())


def measured(**values: float) -> pd.DataFrame:
    """Make up means: 0.5 but for those given as mechanism__measure."""
    names = {*study.MOMENT, *study.DAY, "paying", "gain"}
    return pd.DataFrame(
        [
            {
                "trace": trace,
                "mechanism": mechanism,
                "measure": measure,
                "mean": mean,
                "low": mean - 0.005,
                "high": mean + 0.005,
            }
            for trace in study.TRACES
            for mechanism in study.MECHANISMS
            for measure in sorted(names)
            for mean in [values.get(f"{mechanism}__{measure}", 0.5)]
        ]
    )


def guided(found: set[tuple[str, str]], **values: float) -> pd.DataFrame:
    table = measured(**values)
    return study.guide(told(found), table, table, table)


def test_the_guide_follows_the_numbers() -> None:
    broken = {(name, "places") for name in study.MECHANISMS if not name.startswith(("gdrf", "mdrf", "tv_drf"))}
    broken |= {("tv_drf_fluid", "places")}
    row = next(k for k, need in enumerate(study.NEEDS) if need.must == ("places", "sharing"))
    assert guided(broken).loc[row, ["left", "best"]].tolist() == [2, "gdrf, tv_drf"]  # a stand-in is not counted
    assert guided(broken, gdrf__min_share=0.6).loc[row, ["best", "value"]].tolist() == ["gdrf", pytest.approx(0.6)]
    # the interval of a mean of three is 0.005 / 3 ** 0.5 to each side, and 0.0057 is twice that
    assert guided(broken, gdrf__min_share=0.505).loc[row, "best"] == "gdrf, tv_drf"
    assert guided(broken, gdrf__min_share=0.506).loc[row, "best"] == "gdrf"
    # a witness counts for more than a number
    assert guided(broken | {("gdrf", "sharing")}, gdrf__min_share=0.6).loc[row, "best"] == "tv_drf"


def test_the_guide_under_the_hand_names_what_is_wise_or_warns_of_it() -> None:
    """In every state, with stored numbers: one best, no worse than an equal part, and a reason for what is struck."""
    guide, wise = explorable.guide(), 0
    names = {one.label for name, one in ENTRANTS.items() if name not in STAND_INS}
    for state in guide.states:
        told = state.ranking
        assert told is not None
        best, *others = told.rows
        assert (best.kind, {row.name for row in told.rows}, len(others)) == ("best", names, len(names) - 1)
        enough = float(best.numbers[0]) >= told.line
        assert enough or state.said.startswith("No rule is wise here")
        wise += enough
        for row in others:
            less = float(row.numbers[0]) <= float(best.numbers[0])
            why = r"\d|remembers" if row.kind == "struck" else "" if less else "as good"
            assert re.search(why, row.note), row
            assert all(0 <= float(number) <= top for number, top in zip(row.numbers, told.tops, strict=True)), row
        assert state.answers[0][0] == best.name
        for _, command, call, page in state.answers:
            assert not command or command.split()[1] in fb.mechanisms.registry
            assert call.startswith("fb.")
            assert (BOOK / "compare" / page).resolve().parent == BOOK / "api"
    assert (len(guide.states), wise >= 28) == (32, True)


def test_the_guide_warns_of_a_best_that_is_worse_than_an_equal_part() -> None:
    found, equal = explorable._numbers(False, False)
    assert equal == pytest.approx(100 / 12)
    state = explorable._state(explorable._Cluster(*[True] * 5), found.assign(share=found["share"] / 2), equal, set())
    assert state.said.startswith("No rule is wise here: give each user an equal part.")


def lacking(stuck: Any, seed: int) -> float:
    """Let a fifth user come, and serve the lowest share as tasks end: by how much the least share falls short."""
    rng, pool = np.random.default_rng(seed), [160, 160]
    demands = np.vstack([rng.choice([1, 2, 8], (4, 2)), [8, 8]])
    running = np.append(fb.drf_by_task(demands[:4], capacities=pool).tasks, 0)
    for _ in range(300):
        served = fb.drf_by_task(demands, capacities=pool, running=running, stuck=stuck)
        running = served.tasks - (np.arange(5) == rng.choice(5, p=served.tasks / served.tasks.sum()))
    return float(min(fb.drf_by_task(demands, capacities=pool).dominant_shares) - min(served.dominant_shares))


def test_serving_the_lowest_share_as_tasks_end_leads_to_the_same_shares_if_room_is_kept() -> None:
    assert max(lacking("stop", seed) for seed in range(10)) < 1e-9
    assert max(lacking("skip", seed) for seed in range(10)) > 8 / 160  # more than a task: smaller ones took the room


def test_what_the_page_says_in_words_follows_from_the_stored_numbers() -> None:
    """Names and numbers are computed there; this is what its sentences take for granted."""
    frames = {name: results.load(f"compare/{name}", check=False) for name in ("moment", "day", "lying")}
    cells = stored_cells()
    guide = study.guide(cells, **frames)
    best = [set(names.split(", ")) for names in guide["best"]]
    assert best[0] == {"drf", "cbdrf", "karma", "tv_drf_fluid"}  # "at one moment they are the same"
    assert best[1] == {"dmfa_srq"}
    assert best[2] == {"karma", "tv_drf_fluid", "tv_drf"}  # "within the intervals of both"
    assert best[3] == {"tv_drf"}
    assert best[4] == best[5] == {""}  # "none", where no lie may pay, and where nobody may be below its own
    assert guide.loc[6, "value"] == 0  # "a mean of nothing"
    fails = set(cells.loc[cells["verdict"] == "fails", ["mechanism", "property"]].itertuples(index=False, name=None))
    for name, one in ENTRANTS.items():  # "none is free of taking back", and "none proof against lies"
        assert not one.places or (name, "waste") in fails or (name, "places") in fails or (name, "keeps") in fails
        assert not one.whole or (name, "lies") in fails
    means = pd.concat(frames.values()).groupby(["measure", "mechanism"])["mean"].mean()
    few, seldom = (sorted(best[k]) for k in (9, 10))  # "at most", "up to"
    assert means["paying"][seldom].max() < means["paying"][few].max()
    assert means["gain"][few].max() <= study.ENOUGH
    for measure in ("envious", "paying", "gain"):  # "nowhere do more users envy or gain by a lie"
        assert means[measure].idxmax() == "per_server_drf"
    least = frames["moment"].groupby(["measure", "mechanism"])["mean"].mean()["min_share"]
    assert least.drop(["slots", "slots_racks"]).idxmin() == "per_server_drf"  # "the smallest but for slots"
