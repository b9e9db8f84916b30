"""What all papers talk about: instances, allocations and time.

Units are the same everywhere. A *demand* is what one task needs, in the unit in which the caller counts
the resource. ``tasks @ demands`` is the resource in use, in that same unit. A *share* is a part of the
pool's capacity. A *dominant share* is a user's largest share over the resources, without weights; a *level*
is share divided by weight, and it is the levels that fair mechanisms equalise.
"""

from fairbook.model.allocation import Allocation
from fairbook.model.dynamic import DynamicAllocation
from fairbook.model.instance import Instance

__all__ = ["Allocation", "DynamicAllocation", "Instance"]
