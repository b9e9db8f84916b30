"""Many runs of one function: over processes or machines, with progress, and in a journal that survives interruption.

:func:`sweep` calls a function once per job and lists the results in the order of the jobs, wherever they were
computed: in this process, in others on this machine, or on the workers of a Dask cluster. Which of these, joblib's
configuration says (``joblib.parallel_config``); the studies only call :func:`sweep`.

Inside ``with checkpoint(folder):`` each result is written to a journal as it comes in. The same sweep, called again
after an interruption, reads what is there and computes what is missing. A journal belongs to one function, its source,
its arguments, the data of the package and the versions of what computes: where any of these differs there is another
journal, and no old result is taken for a new one.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import inspect
import json
import math
import os
import platform
import re
import socket
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, cached_property, partial
from importlib.machinery import SourceFileLoader
from importlib.metadata import version
from pathlib import Path
from types import CellType, CodeType, ModuleType
from typing import Any, NoReturn, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, parallel_config
from joblib.parallel import get_active_backend
from tqdm import tqdm

from fairbook import results
from fairbook.errors import InvalidInput, MissingDependency, StaleResult
from fairbook.results import edited_sources, source_hash
from fairbook.traces._paths import data_path

__all__ = ["Checkpoint", "checkpoint", "cluster", "decode", "encode", "sweep"]

Job = TypeVar("Job")
Result = TypeVar("Result")

_PACKAGE = Path(__file__).resolve().parent
_SYNC_EVERY = 1.0  # seconds; what the system may lose when the power fails
_COMPUTING = ("numpy", "scipy", "pandas", "numba")
# what reading a text that somebody or some disk has changed may raise
_DAMAGE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError, struct.error)


# ------------------------------------------------------------------------------------------------------- encoding

_DTYPE = re.compile(r"[<>|][biufcSUmM]\d{1,6}(\[\d{0,6}[A-Za-z]{1,2}\])?", re.ASCII)
_PLAIN = (
    "must be made of None, bool, int, float, str, bytes, list, tuple, dict, numpy numbers and arrays, and pandas "
    "frames and series with a plain index; return such, or do without the checkpoint"
)


def encode(value: Any) -> str:
    """Write a value as one line of JSON from which :func:`decode` makes the same value, to the last bit.

    Parameters
    ----------
    value : object
        None, bool, int, float (nan and infinities too), str, bytes, list, tuple, dict, a numpy scalar or array of
        numbers, booleans, times or text, a DataFrame or Series of these; or any nesting. Of their subclasses only those
        of numpy and pandas named here: what is read back is never more than plain data, and nothing is executed.

    Raises
    ------
    InvalidInput
        Where something else is in it.

    Examples
    --------
    >>> encode((1, -0.0, {"a": np.float32(0.5)}))
    '{"tuple":[1,-0.0,{"dict":[["a",{"scalar":["<f4","AAAAPw=="]}]]}]}'
    """
    return json.dumps(_packed(value), separators=(",", ":"))


def decode(text: str | bytes) -> Any:
    """Read what :func:`encode` wrote.

    Raises
    ------
    InvalidInput
        Where it is something else. Nothing in it is executed.

    Examples
    --------
    >>> decode(encode([(1, 2.5), float("-inf"), np.arange(3)]))
    [(1, 2.5), -inf, array([0, 1, 2])]
    """
    try:
        return _unpacked(json.loads(text))
    except _DAMAGE:
        raise InvalidInput("text", "must be what encode() wrote", text) from None


def _packed(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is float:
        # JSON has numbers only; repr() is exact for those
        return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}
    if kind is int:
        return value if -(2**63) <= value < 2**63 else {"int": hex(value)}
    if kind is list:
        return [_packed(one) for one in value]
    if kind is tuple:
        return {"tuple": [_packed(one) for one in value]}
    if kind is dict:
        return {"dict": [[_packed(name), _packed(one)] for name, one in value.items()]}
    if kind is bytes:
        return {"bytes": _base64(value)}
    if isinstance(value, np.generic) and _is_plain(value.dtype):
        return {"scalar": [value.dtype.str, _base64(value.tobytes()[: value.dtype.itemsize])]}
    if kind is np.ndarray and _is_plain(value.dtype):
        # the order decides in which order sums are taken later
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        return {"array": [value.dtype.str, order, list(value.shape), _base64(value.tobytes(order))]}
    if kind in (pd.Series, pd.DataFrame) and not value.attrs:
        parts = [value] if kind is pd.Series else [value.iloc[:, at] for at in range(value.shape[1])]
        head = _packed(value.name) if kind is pd.Series else _packed_index(value.columns)
        body = [_packed_column(part) for part in parts]
        return {"series" if kind is pd.Series else "frame": [head, _packed_index(value.index), body]}
    _refuse(kind)


def _refuse(kind: Any) -> NoReturn:
    raise InvalidInput("value", _PLAIN, getattr(kind, "__qualname__", kind))


def _is_plain(dtype: np.dtype) -> bool:
    return _DTYPE.fullmatch(dtype.str) is not None


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _packed_index(index: pd.Index) -> Any:
    if type(index) is pd.RangeIndex:
        return [_packed(index.name), [index.start, index.stop, index.step]]
    if index.nlevels > 1 or getattr(index, "freq", None) is not None:
        _refuse(type(index))
    return [_packed(index.name), _packed_column(index)]


def _packed_column(column: pd.Series | pd.Index) -> Any:
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return {"object": [_packed(one) for one in column]}
    if isinstance(dtype, np.dtype):
        return _packed(np.ascontiguousarray(column.to_numpy()))
    if not isinstance(dtype, pd.StringDtype) or dtype.na_value is not np.nan:
        _refuse(dtype)
    return {dtype.storage: [None if gone else one for one, gone in zip(column, column.isna(), strict=True)]}


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(one) for one in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tuple":
        return tuple(_unpacked(one) for one in content)
    if kind == "dict":
        return {_unpacked(name): _unpacked(one) for name, one in content}
    if kind == "float":
        return struct.unpack(">d", bytes.fromhex(content))[0]
    if kind == "int":
        return int(content, 16)
    if kind == "bytes":
        return base64.b64decode(content, validate=True)
    if kind == "scalar":
        return _array(content[0], "C", [], content[1])[()]
    if kind == "array":
        return _array(*content)
    head, index, body = content
    rows = _unpacked_index(index)
    if kind == "series":
        values, dtype = _unpacked_column(body[0])
        return pd.Series(values, rows, dtype, name=_unpacked(head))
    if kind == "frame":
        columns = [_unpacked_column(one) for one in body]
        frame = pd.DataFrame({at: pd.Series(one, rows, dtype) for at, (one, dtype) in enumerate(columns)}, rows)
        frame.columns = _unpacked_index(head)
        return frame
    raise ValueError(kind)


def _array(dtype: str, order: Any, shape: list[int], text: str) -> np.ndarray:
    raw = bytearray(base64.b64decode(text, validate=True))  # unlike bytes it may be written to
    if not _DTYPE.fullmatch(dtype):
        raise ValueError(dtype)
    kind = np.dtype(dtype)
    cells = 1
    for length in shape:
        cells *= length
    if cells * kind.itemsize != len(raw):
        raise ValueError(shape)
    return np.ndarray(tuple(shape), kind, raw, order=order)


def _unpacked_index(value: Any) -> pd.Index:
    name, content = value
    if isinstance(content, list):
        return pd.RangeIndex(*content, name=_unpacked(name))
    values, dtype = _unpacked_column(content)
    return pd.Index(values, dtype, name=_unpacked(name))


def _unpacked_column(value: Any) -> tuple[Any, Any]:
    """Give values and their dtype, which pandas would guess otherwise."""
    ((kind, content),) = value.items()
    if kind == "array":
        found = _array(*content)
        return found, found.dtype
    return [_unpacked(one) for one in content], object if kind == "object" else pd.StringDtype(kind, na_value=np.nan)


# ------------------------------------------------------------------------------------------------------- identity


@cache
def _hash_of_files(folder: str, pattern: str) -> str:
    found = hashlib.sha256()
    for path in sorted(Path(folder).glob(pattern)):
        if path.is_file() and "_data" not in path.relative_to(folder).parts:
            content = path.read_bytes()
            found.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    return found.hexdigest()[:16]


@cache
def _conditions(modules: tuple[str, ...]) -> dict[str, str]:
    """Name all that a result depends on besides the function and its arguments.

    Modules of fairbook count as :func:`fairbook.results.source_hash` sees them. What else there is may import anything:
    with it all of fairbook counts, byte by byte. Looked at once: what is edited later, this process does not run.
    """
    own = {name for name in modules if name.split(".")[0] == "fairbook"}
    whole = own != set(modules) or not own
    edited = sorted({one for name in own for one in edited_sources(name)})
    if whole:
        edited = [str(path.relative_to(_PACKAGE.parent)) for path in sorted(_PACKAGE.glob("**/*.py"))
                  if path.stat().st_mtime > results._STARTED]
    if edited:
        raise StaleResult(f"{', '.join(edited)} changed after this process had started; start it again")
    found = {f"source of {name}": source_hash(name) for name in sorted(own)}
    if whole:
        found["source of fairbook"] = _hash_of_files(str(_PACKAGE), "**/*.py")
    found["data"] = _hash_of_files(str(data_path("README.md").parent), "*.[cj]s*")
    found |= {package: version(package) for package in _COMPUTING}
    found["python"] = ".".join(platform.python_version_tuple()[:2])
    return found | {"machine": platform.machine()}


def _other_sources(modules: tuple[str, ...]) -> dict[str, str]:
    """Hash the files of modules that are none of fairbook's. Not looked at once: such a module may be reloaded."""
    found = {}
    for name in modules:
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if module is not None and file and name.split(".")[0] != "fairbook" and Path(file).is_file():
            source = Path(file).read_bytes()
            _check_loaded(module, name, source)
            found[f"source of {name}"] = hashlib.sha256(source).hexdigest()[:16]
    return found


def _check_loaded(module: ModuleType, name: str, source: bytes) -> None:
    """Refuse a file that was edited after this process had read it: the process runs what is no longer there."""
    if type(getattr(module, "__loader__", None)) is not SourceFileLoader:
        return
    waiting: list[Any] = []
    with suppress(SyntaxError, ValueError):  # half an edit is one as well
        waiting.append(compile(source, name, "exec", dont_inherit=True))
    written: set[CodeType] = set()
    while waiting:
        code = waiting.pop()
        if isinstance(code, CodeType):
            written.add(code)
            waiting += code.co_consts
    values = list(vars(module).values())
    values += [one for kind in values if inspect.isclass(kind) and kind.__module__ == name
               for one in vars(kind).values()]
    for value in values:
        code = getattr(getattr(value, "__wrapped__", value), "__code__", None)
        if isinstance(code, CodeType) and getattr(value, "__module__", None) == name and code not in written \
                and Path(code.co_filename).name == Path(str(module.__file__)).name:
            raise StaleResult(f"{module.__file__} changed after this process had read it; start it again")


class _Fingerprint:
    """A hash of a function and its arguments that is the same in another process, and the modules they come from."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._modules: set[str] = set()
        self._within: set[int] = set()

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(sorted(self._modules))

    def add(self, value: Any, where: str) -> None:
        """Add a value of any kind, as long as it is data or a function."""
        kind = type(value)
        while not inspect.isfunction(value) and (inner := getattr(value, "__wrapped__", None)) is not None:
            value, kind = inner, type(inner)  # cached, or compiled by numba
        if kind in (list, tuple):
            self._head(kind.__name__, len(value))
            for at, one in enumerate(value):
                self.add(one, f"{where}[{at}]")
        elif kind is dict:
            self._head("dict", len(value))
            for name, one in value.items():
                self.add(name, f"key of {where}")
                self.add(one, f"{where}[{name!r}]")
        elif kind in (set, frozenset):
            self._head(kind.__name__, *sorted(encode(one) for one in value))
        elif kind in (np.ndarray, np.memmap) and _is_plain(value.dtype):
            # joblib maps a large one into memory; the order decides in which order sums are taken
            order = value.flags.f_contiguous and not value.flags.c_contiguous
            self._head("array", value.dtype.str, value.shape, order)
            self.hash.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, partial):
            self._head("partial")
            self.add([value.func, value.args, value.keywords], where)
        elif inspect.ismethod(value) or (
            inspect.isbuiltin(value) and not isinstance(value.__self__, ModuleType | None)
        ):
            self._head("method", value.__name__)
            self.add(value.__self__, where)
        elif inspect.isfunction(value) or inspect.isbuiltin(value) or isinstance(value, type):
            self._code(value, where)
        elif isinstance(value, np.ufunc) and any(
            getattr(sys.modules.get(room), value.__name__, None) is value for room in ("numpy", "scipy.special")
        ):
            self._head("ufunc", value.__name__)
        elif isinstance(value, np.random.Generator):
            self._head("generator")
            self.add(value.bit_generator.state, where)
        else:
            try:
                self._head("plain", encode(value))
            except InvalidInput:
                self._fields(value, where)

    def _head(self, *words: Any) -> None:
        for word in words:
            text = str(word).encode(errors="surrogatepass")
            self.hash.update(f"{len(text)}:".encode() + text)

    def _code(self, value: Any, where: str) -> None:
        module = value.__module__ or ""
        self._head("code", module, value.__qualname__)
        if id(value) in self._within:  # it calls itself
            return
        self._within.add(id(value))
        self._modules.add(module)
        if inspect.isbuiltin(value) or module in sys.builtin_module_names or _has_file(module):
            pass  # the file counts as a whole, or the version of Python
        else:  # typed into a notebook
            try:
                self._head(inspect.getsource(value))
            except (OSError, TypeError):
                raise InvalidInput(where, "must be a function whose source can be read", value) from None
            self._called(value, where)
        if inspect.isfunction(value):
            # functions made by one line of code differ in their place on it, or in what they hold
            self._head(value.__code__.co_firstlineno, list(value.__code__.co_positions()))
            held = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
            self.add([held, value.__defaults__, value.__kwdefaults__], f"what {where} holds")
        self._within.discard(id(value))

    def _called(self, value: Any, where: str) -> None:
        """Add the other functions of a notebook that one of its functions names."""
        names: set[str] = set()
        waiting = [getattr(value, "__code__", None)]
        while waiting:
            code = waiting.pop()
            if isinstance(code, CodeType):
                names.update(code.co_names)
                waiting += code.co_consts
        for name in sorted(names):
            other = getattr(value, "__globals__", {}).get(name)
            if inspect.isfunction(other) and other.__module__ == value.__module__:
                self._head(name)
                self._code(other, f"{name} in {where}")

    def _fields(self, value: Any, where: str) -> None:
        kind = type(value)
        if isinstance(value, tuple):  # a named one
            fields: dict[str, Any] = dict(enumerate(value))  # type: ignore[arg-type]
        elif dataclasses.is_dataclass(value):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif hasattr(value, "__dict__") and kind.__module__.split(".")[0] == "fairbook":
            # what a property has computed by now is no part of the value
            fields = {k: v for k, v in vars(value).items() if not isinstance(getattr(kind, k, None), cached_property)}
        else:
            raise InvalidInput(where, "must be plain data, a function or a dataclass where there is a checkpoint", kind)
        self._head("object", kind.__module__, kind.__qualname__)
        self._modules.add(kind.__module__)
        if not _has_file(kind.__module__):  # typed into a notebook; what dataclass() wrote has no source
            for one in vars(kind).values():
                if inspect.isfunction(one) and one.__code__.co_filename != "<string>":
                    self._code(one, where)
        for name, one in fields.items():
            self._head(name)
            self.add(one, f"{where}.{name}")


def _has_file(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and Path(file).is_file()


def _identified(call: Callable[..., Any], about: Mapping[str, Any] | None) -> _Fingerprint:
    found = _Fingerprint()
    try:
        found.add(call, "call")
        found.add(dict(about or {}), "about")
    except RecursionError:
        raise InvalidInput("call", "must not hold anything that contains itself", call) from None
    return found


def _name(call: Any) -> str:
    while isinstance(call, partial):
        call = call.func
    return f"{getattr(call, '__module__', '')}.{getattr(call, '__qualname__', type(call).__qualname__)}"


# -------------------------------------------------------------------------------------------------------- journal


class _Journal:
    """One file of results that only grows, a line each: length and checksum of what follows, the job, its result.

    One process writes. A line that is not whole, or not what its checksum says, is as if it had never been written.
    """

    def __init__(self, path: Path, key: str, head: Mapping[str, Any]) -> None:
        self.key, self.users = key.encode(), 0
        self.found: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        self._size, self._synced = 0, 0.0
        try:
            damaged = self._read()
            if damaged:
                warnings.warn(f"{path}: {damaged} damaged lines are left out; their jobs are run again", stacklevel=7)
            os.ftruncate(self._file, self._size)  # a last line that is torn
            if not self._size:
                self._write(self._line(json.dumps({"journal": 1, **head}, sort_keys=True)))
                _sync_folder(path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def _line(self, text: str) -> bytes:
        content = text.encode("ascii")
        return b"%d %s %s\n" % (len(content), self._sum(content), content)

    def _sum(self, content: bytes) -> bytes:
        # with the key in it, a line that was copied from another journal does not fit
        return hashlib.sha256(self.key + b"\0" + content).hexdigest()[:16].encode()

    def _read(self) -> int:
        """Take over the lines that are whole; tell how many are damaged."""
        damaged = 0
        with os.fdopen(os.dup(self._file), "rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._size += len(line)
                try:
                    length, checksum, content = line[:-1].split(b" ", 2)
                    if int(length) != len(content) or checksum != self._sum(content):
                        raise ValueError
                    entry = json.loads(content)
                    if "journal" not in entry:
                        self.found[entry["job"]] = _unpacked(entry["result"])
                except _DAMAGE:
                    damaged += 1
        return damaged

    def append(self, job: str, result: Any, where: str) -> None:
        try:
            packed = _packed(result)
        except (InvalidInput, RecursionError) as error:
            kind = error.value if isinstance(error, InvalidInput) else type(result).__qualname__
            raise InvalidInput(f"the result of {where}", _PLAIN, kind) from None
        line = self._line(json.dumps({"job": job, "result": packed}, separators=(",", ":")))
        with self._lock:
            self._write(line)

    def _write(self, line: bytes) -> None:
        try:
            rest = line
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except BaseException:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)  # a full disk, or Ctrl-C in between
            raise
        self._size += len(line)
        if time.monotonic() - self._synced >= _SYNC_EVERY:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def close(self) -> None:
        try:
            os.fsync(self._file)
        finally:
            os.close(self._file)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Checkpoint:
    """A folder of journals that this process alone writes; made by :func:`checkpoint`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.process = folder, os.getpid()
        self._open: dict[str, _Journal] = {}
        self._used: set[Path] = set()
        self._lock = threading.Lock()

    @contextmanager
    def _journal(self, call: Callable[..., Any], about: Mapping[str, Any] | None) -> Iterator[_Journal]:
        identified = _identified(call, about)
        conditions = _conditions(identified.modules) | _other_sources(identified.modules)
        identified.add(conditions, "conditions")
        key = identified.hash.hexdigest()[:32]
        path = self.folder / f"{key}.journal"
        # one journal for all that use it now: sweeps in threads, a sweep within a sweep
        with self._lock:
            if key not in self._open:
                self._open[key] = _Journal(path, key, {"call": _name(call), **conditions})
                self._used.add(path)
            journal = self._open[key]
            journal.users += 1
        try:
            yield journal
        finally:
            with self._lock:
                journal.users -= 1
                if not journal.users:
                    self._open.pop(key).close()

    def forget(self) -> None:
        """Remove the journals used since the checkpoint was opened, or since the last call of this.

        For when their results are stored elsewhere.
        """
        for path in self._used - {self.folder / f"{key}.journal" for key in self._open}:
            path.unlink(missing_ok=True)
            self._used.discard(path)

    def clear(self) -> None:
        """Remove all journals in the folder, those of earlier sources and arguments too."""
        self.forget()
        for path in self._journals():
            path.unlink(missing_ok=True)

    def prune(self) -> None:
        """Remove the journals of earlier sources, data or versions, which nobody can take up any more."""
        for path in self._journals():
            if not _is_usable(path):
                path.unlink(missing_ok=True)

    def _journals(self) -> list[Path]:
        """List the journals in the folder that no sweep is using; other files are somebody else's."""
        return [path for path in sorted(self.folder.glob("*.journal"))
                if re.fullmatch(r"[0-9a-f]{32}", path.stem) and path.stem not in self._open]


def _is_usable(path: Path) -> bool:
    """Tell whether a sweep of the present sources, data and versions may still take up a journal."""
    with path.open("rb") as file:
        line = file.readline()
    if not line.endswith(b"\n"):
        return False  # nothing was ever kept in it
    try:
        head = json.loads(line.split(b" ", 2)[2])
        here = _conditions(())
        for name, there in head.items():
            module = name.removeprefix("source of ")
            if module != name and module.startswith("fairbook."):
                if source_hash(module) != there:
                    return False
            elif here.get(name, there) != there:  # of a file of somebody's own nothing is known
                return False
    except InvalidInput:  # a module that is gone
        return False
    except (*_DAMAGE, StaleResult):
        pass
    return True


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
        Its ``forget()`` removes the journals once the results are safe elsewhere.

    Raises
    ------
    InvalidInput
        Where the folder is a file or in use, or a sweep's function, argument, job or result is nothing that can be
        written down.
    StaleResult
        From a sweep whose sources changed after the process had started: nobody knows which of them ran.
    OSError
        Where the folder cannot be made or written, a full disk included. What was written before stays whole.

    Notes
    -----
    A result is handed to the system as it comes in, so that it survives the death of the process (SIGKILL included);
    the disk is told to keep it at most a second later, and at the end of the sweep: a power failure may cost that
    second. An interruption costs the runs in flight, no more. Lines that a disk has damaged are left out with a
    warning, and their jobs run again. Measured with results of 100 floats: some 20 us a result to write, 15 us to read.

    The journal belongs to the function (with all modules of fairbook that it imports; of a function of your own the
    file it stands in; typed into a notebook, the functions there that it calls), its arguments, the data of fairbook,
    the versions of Python, numpy, scipy, pandas and numba and the kind of processor. What else your own function
    depends on, name in ``about``. A process that is forked from this one writes no journal.

    Examples
    --------
    >>> import operator, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, checkpoint(folder):
    ...     sweep(partial(operator.mul, 2), range(3))
    ...     sweep(partial(operator.mul, 2), range(4))  # computes one more
    [0, 2, 4]
    [0, 2, 4, 6]
    """
    place = Path(folder)
    if not os.fspath(folder) or (place.exists() and not place.is_dir()):
        raise InvalidInput("folder", "must be a folder", str(folder))
    try:
        import fcntl
    except ImportError:
        raise MissingDependency("a checkpoint needs the locks of a POSIX system (the module fcntl)") from None
    place.mkdir(parents=True, exist_ok=True)
    # The system gives the lock back when the process dies: there are no stale ones. Nor does the file ever go: whoever
    # removed it would let two processes lock two files of one name.
    handle = os.open(place / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 200, 0).decode(errors="replace").strip() or "another process"
            raise InvalidInput("folder", f"must not be in use, as it is by {holder}", str(folder)) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        made = Checkpoint(place)
        token = _CHECKPOINT.set(made)
        try:
            yield made
        finally:
            _CHECKPOINT.reset(token)
    finally:
        os.close(handle)


# ------------------------------------------------------------------------------------------------------- dispatch


def _is_dask(backend: Any) -> bool:
    return type(backend).__name__ == "DaskDistributedBackend"


@cache
def _differences(
    modules: tuple[str, ...], expected: tuple[tuple[str, str], ...], sources: tuple[tuple[str, str], ...]
) -> str:
    here = _conditions(modules)
    found = [(name, here.get(name), there) for name, there in expected]
    others = _other_sources(modules)  # where a module is not loaded, its function came with its source
    found += [(name, others.get(name, there), there) for name, there in sources]
    return ", ".join(f"{name} ({one}, not {there})" for name, one, there in found if one != there)


def _elsewhere(call: Callable[[Any], Any], at: int, job: Any, expected: Any) -> tuple[int, Any]:
    """Run a job where it was sent, but only if what is there would compute the same."""
    if expected is not None:
        differ = _differences(*expected)
        if differ:
            raise StaleResult(f"a worker on {socket.gethostname()} differs from who sent it the job in {differ}")
    return at, call(job)


def _arrivals(
    call: Callable[[Any], Any], todo: list[tuple[int, Any]], workers: int | None, about: Mapping[str, Any] | None
) -> Iterator[tuple[int, Any]]:
    """Yield each job's place with its result, as they come in."""
    backend, configured = get_active_backend()
    if (configured if workers is None else workers) == 1:
        yield from ((at, call(job)) for at, job in todo)
        return
    expected = None
    # a process that starts now may load sources that were edited since this one started
    if _is_dask(backend) or _CHECKPOINT.get() is not None:
        # what a script defines is sent along with its source
        modules = tuple(name for name in _identified(call, about).modules if name != "__main__")
        expected = modules, tuple(_conditions(modules).items()), tuple(_other_sources(modules).items())
    # a few backends only tell when all is done
    how = "generator_unordered" if getattr(backend, "supports_return_generator", False) else "list"
    arrived = Parallel(n_jobs=workers, return_as=how)(delayed(_elsewhere)(call, at, job, expected) for at, job in todo)
    try:
        yield from arrived
    finally:
        if how != "list":
            arrived.close()


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
        other processes run it, it is importable by name, or a ``functools.partial`` of such.
    jobs : iterable
        Inside a :func:`checkpoint` made of plain data, see :func:`encode`.
    about : mapping, optional
        What else the results depend on: a version of your own code or data, say. A checkpoint takes up old results only
        where it is equal. Function and arguments held by ``call`` count by themselves.
    workers : int, optional
        Processes. Default: what ``joblib.parallel_config`` says where it was called, else this process alone. With 1
        everything happens in this process, whatever is configured.
    progress : bool
        Whether to draw a bar on stderr, which moves as results come in.
    label : str
        Its name.

    Raises
    ------
    InvalidInput
        For bad arguments; inside a checkpoint also where something cannot be written down.
    StaleResult
        On a Dask cluster, and with a checkpoint, where a worker has other sources, data or versions.
    Exception
        Whatever ``call`` raises; a checkpoint keeps what came in before.

    Notes
    -----
    Overhead a job, measured on two cores: 2 us in this process, 10 to 40 us in others (loky, in batches that joblib
    makes), 0.2 to 0.5 ms with Dask. The journal adds some 20 us, see :func:`checkpoint`. All of it is nothing beside a
    run of 10 ms.

    Examples
    --------
    >>> sweep(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    if not callable(call):
        raise InvalidInput("call", "must be callable", call)
    if workers is not None and (
        isinstance(workers, bool) or not isinstance(workers, (int, np.integer)) or workers < 1
    ):
        raise InvalidInput("workers", "must be a whole number of at least 1, or None", workers)
    listed = list(jobs)
    place = _CHECKPOINT.get()
    if place is None or place.process != os.getpid():  # a forked child does not write into its parent's journals
        return _collected(call, listed, None, [], about, workers, progress, label)
    names: list[Hashable] = []
    for at, job in enumerate(listed):
        try:
            names.append(encode(job))
        except InvalidInput as error:
            raise InvalidInput(f"jobs[{at}]", _PLAIN, error.value) from None
    with place._journal(call, about) as journal:
        return _collected(call, listed, journal, names, about, workers, progress, label)


def _collected(
    call: Callable[[Any], Any],
    jobs: list[Any],
    journal: _Journal | None,
    names: list[Any],
    about: Mapping[str, Any] | None,
    workers: int | None,
    progress: bool,
    label: str,
) -> list[Any]:
    results: list[Any] = [None] * len(jobs)
    todo = []
    for at, job in enumerate(jobs):
        if journal is not None and names[at] in journal.found:
            results[at] = journal.found[names[at]]
        else:
            todo.append((at, job))
    done = len(jobs) - len(todo)
    with tqdm(total=len(jobs), initial=done, desc=label, disable=not progress, leave=False) as bar:
        for at, result in _arrivals(call, todo, workers, about) if todo else ():
            if journal is not None:
                journal.append(names[at], result, f"jobs[{at}]")
            results[at] = result
            bar.update()
    return results


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
    except ImportError:
        raise MissingDependency("Dask needs the package distributed: pip install 'fairbook[cluster]'") from None
    named = str(scheduler)
    if Path(named).is_file():
        how = {"scheduler_file": named}
    elif re.fullmatch(r"(tcp|tls|ucx|ws|wss)://\S+:\d+", named):
        how = {"address": named}
    else:
        raise InvalidInput("scheduler", "must be an address such as tcp://10.0.0.1:8786, or a scheduler file", named)
    with Client(timeout=30, **how) as client, parallel_config(backend="dask", client=client):
        yield client
