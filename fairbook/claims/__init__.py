"""The ledger: every claim of every paper as a registered check with a computed verdict."""

import importlib
import pkgutil

from fairbook.claims.registry import (
    FULL,
    QUICK,
    Claim,
    Effort,
    Evidence,
    Mechanism,
    Part,
    card,
    check_mutant,
    claim,
    claims,
    compute,
    ledger,
    missing_proofs,
    store_ledger,
    table,
)

__all__ = [
    "FULL",
    "QUICK",
    "Claim",
    "Effort",
    "Evidence",
    "Mechanism",
    "Part",
    "card",
    "check_mutant",
    "claim",
    "claims",
    "compute",
    "ledger",
    "missing_proofs",
    "store_ledger",
    "table",
]

# Every module of this room registers its claims: a new paper is a new file and nothing else.
for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
