"""Whole tasks on machines: whose turn it is, and which machine it gets."""
