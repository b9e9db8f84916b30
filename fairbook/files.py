"""Writing files so that nobody ever sees a part of one. Knows nothing of the rest of the package."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_whole(files: Mapping[Path, bytes], *, mode: int | None = None) -> None:
    """Write files so that each is either the old one or the whole new one, whatever interrupts.

    All are written beside their targets first and then renamed in the order given: put last the file that vouches for
    the others. What was not renamed is removed again. A target that is a link stays one.

    Parameters
    ----------
    files : mapping of path to bytes
        The folders must exist.
    mode : int, optional
        Permissions. Default: those of the file that is there, else what the umask leaves.

    Raises
    ------
    OSError
        Where a file cannot be written, or there is something else than a file in its place, or one that is read-only.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole({Path(folder, "a"): b"1", Path(folder, "b"): b"2"})
    ...     sorted(os.listdir(folder))
    ['a', 'b']
    """
    waiting: list[tuple[str, Path]] = []
    try:
        for name, content in files.items():
            target = Path(os.path.realpath(name))
            _check_target(target)
            try:
                handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:50]}.", suffix=".part")
            except OSError as error:  # it names the temporary file, which nobody has asked for
                raise OSError(error.errno, error.strerror, str(name)) from None
            waiting.append((temporary, target))
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, _permissions(target) if mode is None else mode)  # mkstemp makes private files
        while waiting:
            os.replace(*waiting[0])
            waiting.pop(0)
    finally:
        for temporary, _ in waiting:
            Path(temporary).unlink(missing_ok=True)


def _check_target(target: Path) -> None:
    """Refuse what a file must not take the place of: anything but a file, or one that its owner made read-only."""
    if os.path.lexists(target) and not (target.is_file() and os.access(target, os.W_OK)):
        raise PermissionError(errno.EACCES, "Not a file that may be written", str(target))


def _permissions(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0o077)  # it can only be read by setting it
    os.umask(mask)
    return 0o666 & ~mask
