"""All mechanisms on the same instances."""
