"""Numerical studies: one function per figure or table of a paper, each returning a tidy DataFrame."""

from fairbook.studies import dmfa_srq, foundations

__all__ = ["dmfa_srq", "foundations"]
