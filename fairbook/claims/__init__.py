"""The ledger: every claim of every paper as a registered check with a computed verdict."""

from fairbook.claims import dmfa_srq
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
    "dmfa_srq",
    "ledger",
    "missing_proofs",
    "store_ledger",
    "table",
]
