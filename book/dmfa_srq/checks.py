"""The claims of the DMFA-SRQ paper (Zhang, Liu, Li, Zhang 2016), each with its check.

Each part registers its claims as it is imported; the ledger keeps this order.
"""

from book.dmfa_srq import (  # noqa: I001
    checks_theorems as checks_theorems,
    checks_algorithms as checks_algorithms,
    checks_figures as checks_figures,
)
