"""Contributed machines, period after period."""
