"""TV-DRF: users bring machines, and demands change with time."""
