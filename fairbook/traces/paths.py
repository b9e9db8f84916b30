"""Where the data files that ship with the package are."""

from __future__ import annotations

from pathlib import Path

from fairbook.errors import TraceError

_PACKAGE = Path(__file__).resolve().parents[1]


def data_path(name: str) -> Path:
    """Find a shipped data file, in an installed wheel or in a source checkout.

    A wheel carries the top-level ``data/`` as ``fairbook/_data``; a checkout (also an editable install) has ``data/``
    beside the package.

    Parameters
    ----------
    name : str
        File name relative to ``data/``.

    Returns
    -------
    pathlib.Path
        An existing file.

    Raises
    ------
    TraceError
        If the file is in neither place.

    Examples
    --------
    >>> data_path("google2011.json").name
    'google2011.json'
    """
    # The wheel's own folder first: beside an installed package, `data/` would belong to someone else.
    for folder in (_PACKAGE / "_data", _PACKAGE.parent / "data"):
        path = folder / name
        if path.is_file():
            return path
    raise TraceError(f"the data file {name} is missing from this installation of fairbook")
