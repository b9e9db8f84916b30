"""Small files of each trace in the published format, and where the genuine ones are."""

import gzip
import importlib
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

_USER = "70s3v5qRyCO/1PCdI6fVXnrW8FU/w+5CKRSa72xgcIo="
_POD = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"

#: Whole files, small, by table of a trace.
TRACE_FILES = {
    "task_events": "".join(
        f"{k},,34{k // 2},{k},3938719206,{k % 4},{_USER},3,9,0.{k}25,0.07{k},0.0004,0\n" for k in range(6)
    ),
    "machine_events": "".join(f"{k},{k % 3},{k // 3},HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLo,0.5,0.2493\n" for k in range(5)),
    "batch_task": "".join(f"{100 + k},{200 + k},{k // 2},{k},{k + 1},Terminated,50,0.00{k + 1}\n" for k in range(6)),
    "server_event": "".join(f"0,{k},add,,64,0.69000{k},1\n" for k in range(4)),
    "openb_pod_list_default": _POD
    + "".join(f"p{k},{1000 * k + 1},2048,{k % 2},{1000 * (k % 2)},,LS,Running,{k},90{k},{k}\n" for k in range(5)),
    "openb_node_list_all_node": "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,0,\nn1,96000,393216,8,V100M32\n",
}


def raw_folder(name: str) -> Path:
    """Return the folder with a genuine trace, or skip."""
    root = os.environ.get("FAIRBOOK_TRACES")
    if not root or not (Path(root) / name).is_dir():
        pytest.skip(f"FAIRBOOK_TRACES names no folder with {name}: the raw trace was NOT read")
    return Path(root) / name


def write(folder: Path, text: str | bytes, name: str) -> Path:
    """Write a file, packed where its name says so."""
    folder.mkdir(parents=True, exist_ok=True)
    data = text.encode() if isinstance(text, str) else text
    (folder / name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    return folder / name


def exact(name: str, source: Any) -> Any:
    """Digest a folder of a trace without rounding, and load what comes out."""
    digits = {"alibaba2017": ("memory_digits", "instance_digits"), "alibaba_gpu2023": ("digits",)}
    with tempfile.TemporaryDirectory() as folder:
        made = importlib.import_module(f"book.common.raw.{name}").digest(source, **dict.fromkeys(digits[name]))
        made.write(folder)
        return load_digest(name, folder)


def load_digest(name: str, folder: Path | str | None = None) -> Any:
    """Load a digest by the name of its trace."""
    room = "fairbook" if name == "google2011" else "book.common"
    return importlib.import_module(f"{room}.traces.{name}").load_digest(folder)


def follows(drawn: Mapping[Any, int], weights: Mapping[Any, float]) -> None:
    """Hold numbers of draws against a law, up to five standard deviations."""
    assert set(drawn) == set(weights)
    n, total = sum(drawn.values()), sum(weights.values())
    for key, p in ((key, weight / total) for key, weight in weights.items()):
        assert abs(drawn[key] - n * p) < 5 * math.sqrt(n * p * (1 - p)), key
