"""Figures: one function per figure takes a frame from :mod:`fairbook.studies` and draws it."""

from fairbook.figures import dmfa_srq, foundations, style

__all__ = ["dmfa_srq", "foundations", "style"]
