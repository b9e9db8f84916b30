"""Figures: one function per figure takes a frame from :mod:`fairbook.studies` and draws it."""

from fairbook.figures import cbdrf, dmfa_srq, foundations, gdrf, style, tv_drf, virtual_cluster

__all__ = ["cbdrf", "dmfa_srq", "foundations", "gdrf", "style", "tv_drf", "virtual_cluster"]
