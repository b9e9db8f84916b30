"""The ledger: every claim of every paper as a registered check with a computed verdict."""

from book.common.claims.registry import FULL, QUICK, check_mutant, claims, compute
from book.common.claims.stored import ledger

__all__ = ["FULL", "QUICK", "check_mutant", "claims", "compute", "ledger"]
