"""What the table of bad inputs leaves out, and where a kind has another right outcome, each with the reason."""

from tests.bad_inputs import Row

#: Public names of fairbook that take no input to be checked here, with the reason.
NO_ENTRY = {
    **dict.fromkeys(
        ("Allocation", "CreditRun", "DynamicAllocation", "FluidPlacement", "Placement", "TvDrfRun", "VirtualClusters"),
        "a result: built by mechanisms, as what was measured; violations() is what judges it",
    ),
    "Instance": "stores what was given; mechanisms check it",
    "Instance.arguments": "of names in a signature",
    **dict.fromkeys(("FairbookError", "InvalidInput", "MissingDependency", "TraceError"), "an error"),
    "CreditRule.factor": "of checked credits, inside of the mechanism",
    **{
        f"{name}.plot": "draws what was measured"
        for name in ("Allocation", "CreditRun", "DynamicAllocation", "FluidPlacement", "Placement", "TvDrfRun")
    },
    "VirtualClusters.plot": "the same",
    "VirtualClusters.packs": "of checked requests",
    "read_export": "of a file; its errors are in test_cli_exports",
    "results.StaleResult": "an error",
    "metrics.Run": "a protocol",
    "tables.Markdown": "any text",
    "tables.myst": "frames of the book's own pages",
    "results.save": "of fairbook's own tables; its errors are in test_results",
    "results.source_hash": "names of fairbook's own modules",
    "results.edited_sources": "the same",
}

#: Where a kind has another right outcome: (entry, argument, kind), * for any. The call must go well, or be refused
#: under the name of another argument, and never end otherwise.
EXEMPT = {
    ("gdrf", "seed", "a huge whole number"): "a seed may have any number of digits",
    ("mdrf", "seed", "a huge whole number"): "a seed may have any number of digits",
    ("virtual_cluster", "seed", "a huge whole number"): "a seed may have any number of digits",
    ("virtual_cluster", "node_limit", "a huge whole number"): "no limit",
    ("virtual_cluster", "small", "a huge whole number"): "all users are few then",
    ("virtual_cluster", "max_vms", "one entry too many"): "whichever is shorter is to blame",
    ("virtual_cluster", "max_vms", "one entry too few"): "whichever is shorter is to blame",
    ("virtual_cluster", "max_vms", "a dict"): "one user; whichever is shorter is to blame",
    ("virtual_cluster", "capacities", "zero inside"): "a cluster may be down",
    ("VirtualClusterPool", "capacities", "zero inside"): "a cluster may be down",
    ("VirtualClusterPool.arrive", "max_vms", "a whole float"): "virtual_cluster takes floats that are whole",
    ("grant_tasks", "demands", "a row of zeros"): "a node may sit out",
    ("metrics.dominant_shares", "capacities", "zero inside"): "who uses what is not there is to blame",
    ("metrics.utilisation", "capacities", "zero inside"): "who uses what is not there is to blame",
    **{
        (f"judge {name} in fractions", "*", kind): "a text such as 1/3 is a number, and labels are left alone"
        for name in ("dmfa_srq", "oracle of dmfa_srq", "drf")
        for kind in (
            "text inside",
            "texts",
            "texts in pandas",
            "names twice",
            "a name missing",
            "a huge whole number inside",
            "arrays in a list",
        )
    },
    ("judge drf in fractions", "max_tasks", "None inside"): "no bound",
    **{
        (f"judge {name}", "weights", "None"): "equal"
        for name in ("lp_levels", "decimal_levels", "oracle of dmfa_srq in fractions")
    },
    ("*", "machines", "one dimension less"): "one class",
    ("cbdrf", "released", "one dimension less"): "the same in every phase",
    ("karma", "max_tasks", "one dimension less"): "the same in every phase",
    ("CbDrf.release", "*", "one dimension less"): "the same for all",
    ("karma_phase", "credit", "one dimension less"): "the same for all",
    ("virtual_cluster", "tolerance", "one dimension less"): "the same for all",
}


def exempt(row: Row) -> str | None:
    """Give the reason why a row has another outcome, or None."""
    entry, argument, kind = row.entry.name, row.argument, row.kind
    for name in (entry, "*"):
        for one in (argument, "*"):
            for what in (kind, "*"):
                if (name, one, what) in EXEMPT:
                    return EXEMPT[name, one, what]
    return None
