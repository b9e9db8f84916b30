"""Mechanisms: an instance in, a result out. They know no trace, no plot, no claim and no oracle.

>>> registry["drf_by_task"].readings["stuck"].values
('skip', 'stop')
"""

from fairbook.mechanisms.rows import Mechanism, registry

__all__ = ["Mechanism", "registry"]


def __dir__() -> list[str]:
    return sorted(__all__)
