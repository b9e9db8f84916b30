"""What is known of the cells of the matrix, by the search in ``matrix.py`` and by proof; which mechanism to take."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from book.compare.entrants import ENTRANTS, MECHANISMS, STAND_INS
from book.compare.properties import PROPERTIES

# ---------------------------------------------------------------------------------------------------- what is known


#: Claims of the chapters that say of a mechanism what a property says here, at one moment and in the same sense. Zero
#: demands are allowed here and in the theorems that these claims cite, if not in all that the claims look at.
EVIDENCE: dict[tuple[str, str], str] = {
    ("drf", "sharing"): "cbdrf.table_1.sharing_incentive.drf",
    ("drf", "envy"): "cbdrf.table_1.envy_freeness.drf",
    ("drf", "lies"): "cbdrf.table_1.strategy_proofness.drf",
    ("drf", "waste"): "cbdrf.table_1.pareto_efficiency.drf",
    ("dmfa_srq", "sharing"): "dmfa_srq.theorem_2.zeros",
    ("dmfa_srq", "lies"): "dmfa_srq.theorem_4.zeros",
    ("dmfa_srq", "waste"): "dmfa_srq.theorem_1.zeros",
    ("cbdrf", "sharing"): "cbdrf.corollary_2.good_standing",
    ("cbdrf", "envy"): "cbdrf.theorem_4.equal_records",
    ("cbdrf", "lies"): "cbdrf.theorem_5.phase",
    ("cbdrf", "waste"): "cbdrf.theorem_6.all_good",
    ("tv_drf_fluid", "sharing"): "tv_drf.theorem_1.fluid.one",
    ("tv_drf_fluid", "waste"): "tv_drf.theorem_2.fluid.one",
    ("drfh_fluid", "sharing"): "gdrf.drfh.sharing",
    ("sequential_minmax", "sharing"): "sequential_minmax.sharing.equal",
    ("sequential_minmax", "waste"): "sequential_minmax.pareto",
    ("gdrf", "envy"): "gdrf.envy.end",
    ("gdrf", "waste"): "gdrf.maximal.nearest",
}


_BY_PERIOD = (
    "drf",
    "dmfa_srq",
    "cbdrf",
    "drf_by_task",
    "sequential_minmax",
    "drfh_fluid",
    "drfh",
    "drfh_first_fit",
    "gdrf",
    "mdrf",
    "per_server_drf",
    "slots",
    "slots_racks",
)

#: Labels of the proofs on the comparison's page, by the cells that they settle: that the mechanism has the property; of
#: ``remembers``, that it has not.
PROOFS: dict[tuple[str, str], str] = {
    (mechanism, name): f"prop-compare-{label}"
    for label, names, mechanisms in (
        ("order", ("order",), ("drf", "cbdrf", "karma", "tv_drf_fluid", "drfh_fluid")),
        ("moment", ("sharing", "envy", "lies", "waste"), ("karma",)),
        ("moment", ("envy", "lies"), ("tv_drf_fluid",)),
        ("drfh", ("envy", "lies", "waste"), ("drfh_fluid",)),
        ("keeps", ("keeps",), ("dmfa_srq",)),
        ("periods", ("sharing_periods", "sharing_three"), ("drf", "dmfa_srq", "cbdrf", "sequential_minmax")),
        ("lies", ("lies_periods",), ("drf", "dmfa_srq", "cbdrf", "drfh_fluid")),
        ("two", ("sharing_periods",), ("tv_drf_fluid",)),
        ("tasks", ("sharing", "sharing_periods", "sharing_three", "envy"), ("drf_by_task",)),
        ("first_fit", ("envy",), ("drfh_first_fit",)),
        ("full", ("waste",), ("drf_by_task", "drfh", "drfh_first_fit", "mdrf", "per_server_drf", "tv_drf")),
        (
            "full",
            ("places",),
            ("drfh", "drfh_first_fit", "gdrf", "mdrf", "per_server_drf", "tv_drf", "slots", "slots_racks"),
        ),
        ("machines", ("more",), ("per_server_drf",)),
        ("slots", ("keeps",), ("slots",)),
        ("memory", ("remembers",), _BY_PERIOD),
    )
    for mechanism in mechanisms
    for name in names
}


def cells(frame: pd.DataFrame, ledger: pd.DataFrame) -> pd.DataFrame:
    """Say for every cell of the matrix what is known: from its own search, a claim of a chapter, a proof on the page.

    Parameters
    ----------
    frame : DataFrame
        From :func:`book.compare.matrix.matrix`.
    ledger : DataFrame
        With columns ``id`` and ``verdict``, as ``book.common.claims.ledger`` gives it.

    Returns
    -------
    DataFrame
        ``frame`` with ``claim`` (id, or empty), ``said`` (its verdict there), ``proof`` (label in :data:`PROOFS`, or
        empty) and ``verdict``: ``fails`` (a witness, here or in the chapter), ``holds`` (proved in the chapter under
        the conditions of its claim, or on the page, and not broken here), ``not broken`` (searched only); for
        ``remembers``: ``seen``, ``none`` (proved), ``not seen``. ``contradicts``: whether search and proof disagree.
    """
    verdicts = dict(zip(ledger["id"], ledger["verdict"]))
    rows = []
    for mechanism, name, found in zip(frame["mechanism"], frame["property"], frame["found"]):
        known, proof = EVIDENCE.get((mechanism, name), ""), PROOFS.get((mechanism, name), "")
        says = verdicts.get(known, "")
        settled = bool(proof) or says == "holds"
        if name == "remembers":
            verdict = "seen" if found else "none" if settled else "not seen"
        else:
            verdict = "fails" if found or says == "refuted" else "holds" if settled else "not broken"
        rows.append(
            {
                "claim": known,
                "said": says,
                "proof": proof,
                "verdict": verdict,
                "contradicts": settled and (bool(found) or says == "refuted"),
            }
        )
    return pd.concat([frame.reset_index(drop=True), pd.DataFrame(rows)], axis=1)


#: Heads of the columns of :func:`sheet`, by property.
HEADS = {
    "sharing": "own machines",
    "sharing_periods": "two periods",
    "sharing_three": "three periods",
    "envy": "envy",
    "lies": "lies",
    "lies_periods": "lies over periods",
    "keeps": "arrivals",
    "more": "more machines",
    "order": "order",
    "waste": "waste",
    "places": "fits",
    "remembers": "memory",
}


def sheet(cells: pd.DataFrame, proofs: Mapping[str, str]) -> pd.DataFrame:
    """Write the matrix as a table in which each word leads to its evidence.

    Parameters
    ----------
    cells : DataFrame
        From :func:`cells`.
    proofs : mapping
        The label of the proof of each claim in :data:`EVIDENCE` that holds.

    Returns
    -------
    DataFrame
        One row a mechanism, one column a property; roles of MyST that lead to proofs, or to what :func:`accounts`
        writes.
    """
    rows: dict[str, dict[str, str]] = {}
    for one in cells.itertuples():
        known = (one.proof or proofs.get(one.claim, "")) if one.verdict in ("holds", "none") else ""
        word = "proved" if known and one.verdict == "holds" else one.verdict
        led = f"{{prf:ref}}`{word} <{known}>`" if known else f"{{ref}}`{word} <witness-{one.mechanism}>`"
        rows.setdefault(one.mechanism, {"mechanism": ENTRANTS[one.mechanism].label})[HEADS[one.property]] = led
    return pd.DataFrame(rows.values())


def accounts(cells: pd.DataFrame) -> str:
    """Write down in MyST, one dropdown a mechanism, what was found on each property, witnesses included."""
    written = []
    for mechanism, part in cells.groupby("mechanism", sort=False):
        lines = [f":::{{dropdown}} {ENTRANTS[mechanism].label}", f":name: witness-{mechanism}"]
        lines += [":class-container: account", ""]
        for one in part.itertuples():
            known = f" Claim `{one.claim}`: {one.said}." if one.claim else ""
            known += f" {{prf:ref}}`Proved <{one.proof}>`." if one.proof else ""
            none = "Not seen" if one.property == "remembers" else "Not broken"
            found = (
                f"Instance {one.tried}: {one.witness}. There: {one.case}."
                if one.found
                else f"{none} on any of {one.tried} instances."
            )
            lines += [PROPERTIES[one.property].label, f": **{one.verdict}**. {found}{known}", ""]
        written.append("\n".join([*lines, ":::"]))
    return "\n\n".join(written)


class Need(NamedTuple):
    """A situation: what must not be given up, and what is to be large, or small, among what is left."""

    situation: str
    must: tuple[str, ...]
    table: str
    measure: str
    least: bool = False


#: What :func:`guide` answers.
NEEDS: tuple[Need, ...] = (
    Need(
        "one pool, divisible tasks, all users present at once",
        ("sharing", "envy", "lies", "waste", "order"),
        "moment",
        "min_share",
    ),
    Need("users come one by one, and nothing is taken back", ("keeps", "sharing"), "moment", "min_share"),
    Need("demands change, users that were idle get more later", ("remembers",), "day", "min_share"),
    Need("the same, in whole tasks on machines", ("remembers", "places"), "day", "min_share"),
    Need(
        "demands change, users that were idle get more later, and no lie pays",
        ("remembers", "lies_periods"),
        "day",
        "min_share",
    ),
    Need(
        "whole tasks on machines, nobody has less than its own machines would run",
        ("places", "sharing"),
        "moment",
        "min_share",
    ),
    Need(
        "whole tasks on machines, nothing idle, small losses compared with a user's own machines",
        ("places", "waste"),
        "moment",
        "loss",
        True,
    ),
    Need("whole tasks on machines, nothing idle", ("places", "waste"), "moment", "sum_share"),
    Need(
        "whole tasks on machines, nothing idle, arrivals take little back",
        ("places", "waste"),
        "moment",
        "taken",
        True,
    ),
    Need("whole tasks on machines, nothing idle, lies bring little", ("places", "waste"), "lying", "gain", True),
    Need(
        "whole tasks on machines, nothing idle, few users find a lie that pays",
        ("places", "waste"),
        "lying",
        "paying",
        True,
    ),
)


#: What is to be small must be at most this, or else nothing is recommended.
ENOUGH = 0.05


def averaged(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Give the mean of a measure over the traces by mechanism, and half the width of its 95 % interval.

    Returns
    -------
    DataFrame
        Index ``mechanism``, columns ``mean`` and ``half``.
    """
    rows = frame[frame["measure"] == measure]
    halves = rows.assign(half=((rows["high"] - rows["low"]) / 2) ** 2).groupby("mechanism")["half"]
    return pd.DataFrame({"mean": rows.groupby("mechanism")["mean"].mean(), "half": halves.sum() ** 0.5 / halves.size()})


def leaders(values: pd.DataFrame, least: bool) -> pd.Series:
    """Give the best mean, and those whose interval meets the interval of the best, the best first.

    Parameters
    ----------
    values : DataFrame
        From :func:`averaged`.
    least : bool
        Whether small values are good. None is good enough above :data:`ENOUGH`.
    """
    ranked = values.dropna().sort_values("mean", ascending=least, kind="stable")
    if ranked.empty or (least and ranked["mean"].iloc[0] > ENOUGH):
        return pd.Series(dtype=float)
    far = (ranked["mean"] - ranked["mean"].iloc[0]).abs() - ranked["half"] - ranked["half"].iloc[0]
    return ranked["mean"][far <= 1e-9]


def guide(
    cells: pd.DataFrame,
    moment: pd.DataFrame,
    day: pd.DataFrame,
    lying: pd.DataFrame,
) -> pd.DataFrame:
    """Choose mechanisms by what must hold and what they measured: first the matrix, then the means over the traces.

    Parameters
    ----------
    cells, moment, day, lying : DataFrame
        From the functions of these names.

    Returns
    -------
    DataFrame
        One row a need of :data:`NEEDS`: ``situation``, ``must``, ``measure``, ``least`` (whether it is to be small),
        ``left`` (number of mechanisms that nothing is known against, stand-ins not counted), ``best`` (:func:`leaders`
        among them by the mean of the measure over the traces; empty where none is left or good enough), ``value`` (the
        best mean of all that are left).
    """
    kept = cells[cells["verdict"].isin(["holds", "not broken", "seen"])]
    good = set(zip(kept["mechanism"], kept["property"]))
    tables = {"moment": moment, "day": day, "lying": lying}
    rows = []
    for need in NEEDS:
        left = [name for name in MECHANISMS if name not in STAND_INS and all((name, one) in good for one in need.must)]
        values = averaged(tables[need.table], need.measure).reindex(left)
        best = leaders(values, need.least)
        rows.append(
            {
                "situation": need.situation,
                "must": ", ".join(need.must),
                "measure": need.measure,
                "least": need.least,
                "left": len(left),
                "best": ", ".join(best.index),
                "value": values["mean"].min() if need.least else values["mean"].max(),
            }
        )
    return pd.DataFrame(rows)
