"""Figures: one function per figure takes a frame from :mod:`fairbook.studies` and draws it."""

from fairbook.figures import dmfa_srq, style

__all__ = ["dmfa_srq", "style"]
