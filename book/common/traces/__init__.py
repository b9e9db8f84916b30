"""Digests of the traces whose terms keep them out of the wheel, and the sampling of users from them."""
