"""The claims of the cbDRF paper (Lu et al. 2014), its Table 1, and what the repaired mechanisms promise instead.

Each part registers its claims as it is imported; the ledger keeps this order.
"""

from book.cbdrf import (  # noqa: I001
    checks_credit as checks_credit,
    checks_theorems as checks_theorems,
    checks_conduct as checks_conduct,
    checks_table as checks_table,
    checks_release as checks_release,
    checks_figures as checks_figures,
)
