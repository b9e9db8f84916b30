"""Checks of a single notebook or folder of the book load no file of tests/; what keeps a page's cells together they need."""

from tests.conftest import pytest_xdist_make_scheduler

__all__ = ["pytest_xdist_make_scheduler"]
