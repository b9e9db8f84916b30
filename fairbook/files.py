"""Files read whole up to a bound, and written so that nobody ever sees a part of one. Knows nothing of the package."""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from uuid import uuid4

MOST_UNPACKED = 2**28  # bytes: some ten million lines


def unpacked(content: bytes, source: str) -> bytes:
    """Give what gzip has packed, if it has; a file of a megabyte may hold gigabytes, which are refused.

    Raises
    ------
    OSError
        Where that is damaged, or unpacks to more than 256 MiB; it names ``source``.
    """
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        found = gzip.GzipFile(fileobj=BytesIO(content)).read(MOST_UNPACKED + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise OSError(errno.EINVAL, f"Cannot be unpacked ({error})", source) from None
    if len(found) > MOST_UNPACKED:
        raise OSError(errno.EFBIG, "Unpacks to more than 256 MiB", source)
    return found


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
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole({Path(folder, "a"): b"1", Path(folder, "b"): b"2"})
    ...     sorted(os.listdir(folder))
    ['a', 'b']
    """
    waiting: list[tuple[Path, Path]] = []
    with ExitStack() as rest:
        for name, content in files.items():
            target = Path(os.path.realpath(name))
            if os.path.lexists(target) and not (target.is_file() and os.access(target, os.W_OK)):
                raise PermissionError(errno.EACCES, "Not a file that may be written", str(target))
            temporary = target.with_name(f".{target.name[:50]}.{uuid4().hex}.part")
            waiting.append((temporary, target))
            try:
                with temporary.open("wb") as file:
                    rest.callback(temporary.unlink, missing_ok=True)
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())  # on the disk before it has the name
            except OSError as error:  # it names the temporary file, which nobody has asked for
                raise OSError(error.errno, error.strerror, str(name)) from None
            if mode is not None or target.exists():
                temporary.chmod(target.stat().st_mode if mode is None else mode)
        for temporary, target in waiting:
            temporary.replace(target)
