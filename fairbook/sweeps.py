"""Many runs of one function: over processes or machines, with progress, and in a journal that survives interruption.

:func:`sweep` calls a function once per job and lists the results in the order of the jobs, wherever they were
computed: in this process, in others on this machine, or on the workers of a Dask cluster. Which of these, joblib's
configuration says (``joblib.parallel_config``); the studies only call :func:`sweep`.

Inside ``with checkpoint(folder):`` each result is written to a journal, a file of SQLite, as it comes in. The same
sweep, called again after an interruption, reads what is there and computes what is missing. A result belongs to one
function, its source, its arguments, the data of the package and the versions of what computes: where any of these
differs it is computed again, and no old result is taken for a new one.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import os
import platform
import re
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from contextvars import ContextVar
from functools import cache, partial
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np

from fairbook.errors import InvalidInput, MissingDependency, StaleResult
from fairbook.progress import bar
from fairbook.results import edited_sources, file_stamp, source_hash
from fairbook.traces.paths import data_path

__all__ = ["Checkpoint", "checkpoint", "cluster", "decode", "encode", "sweep"]

Job = TypeVar("Job")
Result = TypeVar("Result")

_STARTED = time.time()
_FOUND: dict[Path, tuple[int, int, int]] = {}  # files of somebody's own, as they were when they were first asked for
_NESTED: dict[str, Callable[[Any], Any]] = {"list": list, "tuple": tuple, "dict": dict}
# asked once: what is edited later, this process does not run
_edited, _hashed = cache(edited_sources), cache(source_hash)


# ------------------------------------------------------------------------------------------------------- encoding


def encode(value: Any, argument: str = "value") -> str:
    """Write a value as one line of JSON from which :func:`decode` makes the same value, to the last bit.

    Parameters
    ----------
    value : object
        None, bool, int, float (nan and infinities too), str, list, tuple, dict, a numpy number or an array of numbers
        or booleans; or any nesting. None of their subclasses.
    argument : str
        Its name, for the error.

    Raises
    ------
    InvalidInput
        Where something else is in it.

    Examples
    --------
    >>> encode((1, -0.0, {"a": np.float32(0.5)}))
    '{"tuple": [1, -0.0, {"dict": [{"tuple": ["a", {"float32": ["<f4", "C", [], "AAAAPw=="]}]}]}]}'
    """

    def refuse(one: Any) -> NoReturn:
        raise InvalidInput(
            argument,
            "must be made of None, bool, int, float, str, list, tuple, dict, numpy numbers "
            "and arrays of numbers, where there is a checkpoint",
            type(one).__qualname__,
        )

    return json.dumps(_packed(value, refuse))


def decode(text: str) -> Any:
    """Read what :func:`encode` wrote; nothing in it is executed.

    Examples
    --------
    >>> decode(encode([(1, 2.5), float("-inf"), np.arange(3)]))
    [(1, 2.5), -inf, array([0, 1, 2])]
    """
    return json.loads(text, object_hook=_unpacked)


def _packed(value: Any, other: Callable[[Any], Any]) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    if kind in (list, tuple, dict):
        return {kind.__name__: [_packed(one, other) for one in (value.items() if kind is dict else value)]}
    array = np.float64(value) if kind is float else value  # JSON has neither nan nor infinity
    if (kind not in (float, np.ndarray) and not isinstance(value, np.generic)) or array.dtype.kind not in "biufc":
        return other(value)
    # the order decides in which order sums are taken later
    order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    raw = base64.b64encode(array.tobytes(order)).decode("ascii")
    return {kind.__name__: [array.dtype.str, order, array.shape, raw]}


def _unpacked(tagged: dict[str, Any]) -> Any:
    ((kind, content),) = tagged.items()
    if kind in _NESTED:
        return _NESTED[kind](content)
    dtype, order, shape, raw = content
    # unlike bytes, a bytearray may be written to
    array = np.ndarray(shape, dtype, bytearray(base64.b64decode(raw)), order=order)
    return array if kind == "ndarray" else array.item() if kind == "float" else array[()]


# ------------------------------------------------------------------------------------------------------- identity


def _named(modules: set[str], value: Any) -> Any:
    """Describe what a call holds besides plain data by its name, and add the module where it is defined."""
    again = partial(_packed, other=partial(_named, modules))
    if isinstance(value, partial):
        return {"partial": again([value.func, value.args, value.keywords])}
    held = dataclasses.is_dataclass(value) and not isinstance(value, type)
    owner = type(value) if held else value
    module, name = getattr(owner, "__module__", ""), getattr(owner, "__qualname__", "")
    with suppress(KeyError, AttributeError):
        if attrgetter(name)(sys.modules[module]) is owner and sys.modules[module].__file__:
            modules.add(module)
            fields = dataclasses.fields(value) if held else ()
            return {"name": [module, name, again({field.name: getattr(value, field.name) for field in fields})]}
    raise InvalidInput(
        "call",
        "and what it holds must be plain data, dataclasses and functions importable by name "
        "from a module with a file, where there is a checkpoint",
        value,
    )


def _hash_of(paths: list[Path]) -> str:
    """Hash files, unless this process may have read them as they were before.

    Times tell that once; one from the future tells nothing, and is not asked again.
    """
    found = hashlib.sha256()
    for path in paths:
        stamp, content = file_stamp(path), path.read_bytes()
        if path not in _FOUND and not _STARTED < stamp[0] / 1e9 <= time.time():
            _FOUND[path] = stamp
        if _FOUND.get(path) != stamp:
            raise StaleResult(f"{path} changed after this process had started; start it again")
        found.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()[:16]


def _source(module: str) -> str:
    """Hash a module with all that it imports from the project; one of somebody's own with all of this package."""
    with suppress(InvalidInput):
        found = _hashed(module)
        if edited := _edited(module):
            raise StaleResult(f"{', '.join(edited)} changed after this process had started; start it again")
        return found
    if module not in sys.modules:
        raise InvalidInput("module", "must be known here", module)
    return _hash_of([Path(str(sys.modules[module].__file__)), *sorted(Path(__file__).parent.rglob("*.py"))])


@cache
def _surroundings() -> dict[str, str]:
    found = {f"version of {package}": version(package) for package in ("numpy", "scipy", "pandas", "numba")}
    found |= {"version of Python": platform.python_version(), "kind of processor": platform.machine()}
    return found | {"the data": _hash_of(sorted(data_path("README.md").parent.glob("*.[cj]s*")))}


def _conditions(names: Iterable[str]) -> dict[str, str]:
    """Give all that a result depends on besides function and arguments, of which modules have names without a space."""
    return {name: _source(name) for name in sorted(names) if " " not in name} | _surroundings()


# -------------------------------------------------------------------------------------------------------- journal

# The lock is the system's, which frees it when the process dies. With a log of changes to come (WAL), SQLite hands each
# result to the system at once and waits for the disk only now and then.
_OPENING = """
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS runs (key TEXT, job TEXT, result TEXT, checksum TEXT, PRIMARY KEY (key, job))
    WITHOUT ROWID;"""


def _checksum(*row: Any) -> str:
    # with the key in it, a row that was copied from another sweep does not fit
    return hashlib.sha256(repr(row).encode()).hexdigest()[:16]


@contextmanager
def _in_our_words(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if "locked" in str(error):
            raise InvalidInput("folder", "must not be in use by another checkpoint", str(path.parent)) from None
        damaged = "" if isinstance(error, sqlite3.OperationalError) else "; without this file all runs start afresh"
        raise OSError(f"{path}: {error}{damaged}") from error


class Checkpoint:
    """A folder with a journal that this process alone reads and writes; made by :func:`checkpoint`."""

    def __init__(self, path: Path, journal: sqlite3.Connection) -> None:
        self.process, self._path, self._journal = os.getpid(), path, journal
        self._used: set[str] = set()

    def _do(self, command: str, *values: str) -> list[Any]:
        with _in_our_words(self._path):
            return self._journal.execute(command, values).fetchall()

    def _rows(self, column: str, value: str) -> Iterator[list[str]]:
        """Yield key, job and result of the rows that are whole."""
        for *row, checksum in self._do(f"SELECT key, job, result, checksum FROM runs WHERE {column} = ?", value):
            if checksum == _checksum(*row):
                yield row
            else:
                warnings.warn(f"{self._path}: a damaged row is left out; its job is run again", stacklevel=4)

    def _write(self, *row: str) -> None:
        self._do("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", *row, _checksum(*row))

    def _begin(self, call: Callable[..., Any], about: Mapping[str, Any] | None) -> tuple[str, dict[str, str]]:
        """Give the key of a sweep, and what is there already: job and result as they were written."""
        modules: set[str] = set()
        described = json.dumps(_packed([call, dict(about or {})], partial(_named, modules)))
        conditions = json.dumps(_conditions(modules))
        key = _checksum(described, conditions)
        self._used.add(key)
        self._write(key, "", conditions)  # no job is written as nothing
        return key, {job: result for _, job, result in self._rows("key", key)}

    def forget(self) -> None:
        """Remove the results of the sweeps since the checkpoint was opened, or since the last call of this.

        For when they are stored elsewhere.
        """
        while self._used:
            self._do("DELETE FROM runs WHERE key = ?", self._used.pop())

    def prune(self) -> None:
        """Remove the results of earlier sources, data or versions, which nobody can take up any more.

        Those of modules that are not known here, as somebody's own may be, stay.
        """
        for key, _, conditions in self._rows("job", ""):
            there = json.loads(conditions)
            with suppress(InvalidInput):
                if _conditions(there) != there:
                    self._do("DELETE FROM runs WHERE key = ?", key)
        self._do("VACUUM")


_CHECKPOINT: ContextVar[Checkpoint | None] = ContextVar("checkpoint", default=None)


@contextmanager
def checkpoint(folder: str | os.PathLike[str]) -> Iterator[Checkpoint]:
    """Keep every result of the sweeps in this block in a folder, and take from there what an earlier block left.

    Parameters
    ----------
    folder : path
        Made if it is absent. One process at a time; when it ends in whatever way, the folder is free again.

    Yields
    ------
    Checkpoint
        Its ``forget()`` removes the results once they are safe elsewhere.

    Raises
    ------
    InvalidInput
        Where the folder is in use; from a sweep whose function, argument, job or result is nothing that can be written
        down.
    StaleResult
        From a sweep whose sources changed after the process had started: nobody knows which of them ran.
    OSError
        Where the folder cannot be made or written, a full disk included; what was written before stays whole. Also
        where the journal is so damaged that it is no file of SQLite any more.

    Notes
    -----
    A result is handed to the system as it comes in, so that it survives the death of the process (SIGKILL included); a
    power failure costs what the system had not written to the disk by then, usually half a minute, and leaves the rest
    whole. An interruption costs the runs in flight, no more. Rows that a disk has damaged are left out with a warning,
    and their jobs run again. Measured with results of 100 floats: some 60 us a result to write, 15 us to read.

    A result belongs to the function, importable by name (with all modules of fairbook that its module imports; of a
    function of your own, the file it stands in and all of fairbook), its arguments, the data of fairbook, the versions
    of Python, numpy, scipy, pandas and numba and the kind of processor. What else your own function depends on, name
    in ``about``. A process that is forked from this one writes no journal.

    Examples
    --------
    >>> import statistics, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, checkpoint(folder):
    ...     sweep(statistics.fmean, [[1, 2], [3]])
    ...     sweep(statistics.fmean, [[1, 2], [3], [4, 4]])  # computes one more
    [1.5, 3.0]
    [1.5, 3.0, 4.0]
    """
    path = Path(folder) / "journal.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        with _in_our_words(path):
            journal = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            stack.enter_context(closing(journal))
            journal.text_factory = partial(str, encoding="ascii", errors="replace")  # the checksum judges what is read
            journal.executescript(_OPENING)
        made = Checkpoint(path, journal)
        token = _CHECKPOINT.set(made)
        try:
            yield made
        finally:
            _CHECKPOINT.reset(token)


# ------------------------------------------------------------------------------------------------------- dispatch


@cache
def _compare(expected: str) -> None:
    there = json.loads(expected)
    here = _conditions(there)
    if differ := ", ".join(f"{name} ({here[name]}, not {there[name]})" for name in there if here[name] != there[name]):
        raise StaleResult(f"a worker on {platform.node()} differs from who sent it the job in {differ}")


def _elsewhere(call: Callable[[Any], Any], at: int, job: Any, expected: str) -> tuple[int, Any]:
    """Run a job where it was sent, but only if what is there would compute the same."""
    if expected:
        _compare(expected)
    return at, call(job)


def _arrivals(
    call: Callable[[Any], Any], todo: list[tuple[int, Any]], workers: int | None, kept: bool
) -> Iterator[tuple[int, Any]]:
    """Yield each job's place with its result, as they come in."""
    try:
        from joblib import Parallel, delayed
        from joblib.parallel import get_active_backend
    except ImportError:
        if (workers or 1) > 1:
            raise MissingDependency("more than one worker needs joblib: pip install 'fairbook[sweeps]'") from None
        workers = 1
    else:
        backend, configured = get_active_backend()
        workers = workers or configured or backend.default_n_jobs
    if workers == 1:
        yield from ((at, call(job)) for at, job in todo)
        return
    expected = ""
    # a process that starts now may load sources that were edited since this one started
    if kept or type(backend).__name__ == "DaskDistributedBackend":
        modules: set[str] = set()
        with suppress(InvalidInput):  # what has no name is sent along as it is, like all that a script defines
            _named(modules, call)
        expected = json.dumps(_conditions(modules - {"__main__"} or {__package__}))
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered")
    with closing(parallel(delayed(_elsewhere)(call, at, job, expected) for at, job in todo)) as arrived:
        yield from arrived


def sweep(
    call: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    about: Mapping[str, Any] | None = None,
    workers: int | None = None,
    progress: bool = False,
    label: str = "runs",
) -> list[Result]:
    """Call a function once per job and list the results in the order of the jobs, wherever they were computed.

    Parameters
    ----------
    call : callable
        Takes a job. Must give the same for a job whatever ran before: a random stream is made from the job. Where
        other processes run it, and inside a :func:`checkpoint`, it is importable by name, or a ``functools.partial``
        of such.
    jobs : iterable
        Inside a :func:`checkpoint` made of plain data, see :func:`encode`.
    about : mapping, optional
        What else the results depend on: a version of your own code or data, say. A checkpoint takes up old results only
        where it is equal. Function and arguments held by ``call`` count by themselves.
    workers : int, optional
        Processes. Default: what ``joblib.parallel_config`` says where it was called, else this process alone. With 1
        everything happens in this process, whatever is configured.
    progress : bool
        Whether to draw a bar on stderr, which moves as results come in; there is none without the package tqdm.
    label : str
        Its name.

    Raises
    ------
    InvalidInput
        For bad arguments; inside a checkpoint also where something cannot be written down.
    StaleResult
        On a Dask cluster, and with a checkpoint, where a worker has other sources, data or versions.
    MissingDependency
        For more than one worker without the package joblib.
    Exception
        Whatever ``call`` raises; a checkpoint keeps what came in before.

    Notes
    -----
    Overhead a job, on two cores: below 1 us in this process, 10 to 40 us in others (loky, in batches that joblib
    makes), 0.2 to 0.5 ms with Dask. The journal adds some 60 us, see :func:`checkpoint`. All of it is nothing beside a
    run of 10 ms.

    Examples
    --------
    >>> sweep(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    if not callable(call):
        raise InvalidInput("call", "must be callable", call)
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, (int, np.integer)) or workers < 1):
        raise InvalidInput("workers", "must be a whole number of at least 1, or None", workers)
    listed = list(jobs)
    place = _CHECKPOINT.get()
    if place is not None and place.process != os.getpid():  # a forked child
        place = None
    found: dict[int, Any] = {}
    if place is not None:
        names = [encode(job, f"jobs[{at}]") for at, job in enumerate(listed)]
        key, there = place._begin(call, about)
        found = {at: decode(there[name]) for at, name in enumerate(names) if name in there}
    todo = [(at, job) for at, job in enumerate(listed) if at not in found]
    arrived = _arrivals(call, todo, workers, place is not None) if todo else iter(())
    for at, result in bar(arrived, shown=progress, total=len(listed), initial=len(found), desc=label, leave=False):
        if place is not None:
            place._write(key, names[at], encode(result, f"the result of jobs[{at}]"))
        found[at] = result
    return [found[at] for at in range(len(listed))]


@contextmanager
def cluster(scheduler: str | os.PathLike[str]) -> Iterator[Any]:
    """Send the sweeps of this block to the workers of a running Dask cluster.

    Parameters
    ----------
    scheduler : str or path
        Its address, ``"tcp://10.0.0.1:8786"``, or the file that ``dask scheduler --scheduler-file`` wrote.

    Yields
    ------
    distributed.Client

    Raises
    ------
    MissingDependency
        Without the package ``distributed`` (extra ``cluster``).
    InvalidInput
        Where this is no address and no such file.
    OSError
        Where nobody answers there within thirty seconds.

    Notes
    -----
    Only connect to a scheduler that you trust: Dask moves functions and results as pickles, which execute what they
    say. fairbook's own files never do.
    """
    try:
        from distributed import Client
        from joblib import parallel_config
    except ImportError:
        raise MissingDependency("Dask needs the package distributed: pip install 'fairbook[cluster]'") from None
    named = str(scheduler)
    is_file = Path(named).is_file()
    if not is_file and not re.fullmatch(r"(tcp|tls|ucx|ws|wss)://\S+:\d+", named):
        raise InvalidInput("scheduler", "must be an address such as tcp://10.0.0.1:8786, or a scheduler file", named)
    how = {"scheduler_file" if is_file else "address": named}
    with Client(timeout=30, **how) as client, parallel_config(backend="dask", client=client):
        yield client
