"""The ledger: every claim of every paper as a registered check with a computed verdict."""

from book.common.claims.registry import (
    FULL,
    QUICK,
    Claim,
    Effort,
    Evidence,
    Mechanism,
    Part,
    check_mutant,
    claim,
    claims,
    compute,
)
from book.common.claims.stored import ledger

__all__ = [
    "FULL",
    "QUICK",
    "Claim",
    "Effort",
    "Evidence",
    "Mechanism",
    "Part",
    "check_mutant",
    "claim",
    "claims",
    "compute",
    "ledger",
]
