"""Numerical studies: one function per figure or table of a paper, each returning a tidy DataFrame."""

from fairbook.studies import cbdrf, compare, dmfa_srq, foundations, gdrf, tv_drf, virtual_cluster

__all__ = ["cbdrf", "compare", "dmfa_srq", "foundations", "gdrf", "tv_drf", "virtual_cluster"]
