"""Compile kernels and keep them on disk: ``python -m tests.warm 0 3`` does every third mechanism, from the first on."""

import sys

from fairbook import kernels
from fairbook.mechanisms import registry
from tests.library.test_protocol import data, ways

if __name__ == "__main__":
    kernels.MOST = -1
    for name in list(registry)[int(sys.argv[1]) :: int(sys.argv[2])]:
        for way in ways(name):
            registry[name].function(**data(name) | way).violations()
