"""Dominant resource fairness, on which the papers stand."""
