"""For checks of a single notebook or folder of the book, which load nothing of tests/ but need its scheduler."""

from tests.conftest import pytest_xdist_make_scheduler

__all__ = ["pytest_xdist_make_scheduler"]
