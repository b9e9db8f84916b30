"""What a check of a single notebook needs as well, which loads nothing of tests/: the scheduler, and the workers."""

from collections.abc import Generator

import pytest

from tests.conftest import pytest_xdist_make_scheduler

__all__ = ["pytest_xdist_auto_num_workers", "pytest_xdist_make_scheduler"]


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Take one worker more than there are cores: some wait, for a browser or for the kernel of a notebook."""
    return (yield) + 1
