"""What the readers and digests of all traces promise alike, on small files of each."""

import gzip
import hashlib
import importlib
import math
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from book.common.traces import alibaba2017, alibaba_gpu2023
from fairbook.errors import InvalidInput, TraceError
from fairbook.traces import google2011, paths
from tests.commands import refused, run_laboratory
from tests.trace_files import TRACE_FILES, load_digest, raw_folder, write


class Kit(NamedTuple):
    """A trace: its tables, and a line that does not belong in the first of them."""

    name: str
    tables: tuple[str, str]
    bad: str

    @property
    def raw(self) -> Any:
        return importlib.import_module(f"book.common.raw.{self.name}")

    def load(self, folder: Path | None = None) -> Any:
        return load_digest(self.name, folder)

    def lay(self, folder: Path, more: str = "", suffix: str = ".csv") -> Path:
        """Write a folder of the trace, with more lines in its main table."""
        main, second = self.tables
        write(folder, TRACE_FILES[main] + more, main + suffix)
        return write(folder, TRACE_FILES[second], second + suffix).parent


KITS = (
    Kit("google2011", ("task_events", "machine_events"), "1,,7,0,,0,u,2,9,0.5,0.25,0,0,0"),
    Kit("alibaba2017", ("batch_task", "server_event"), "5,9,1,77,3,Failed,50,1GB"),
    Kit("alibaba_gpu2023", ("openb_pod_list_default", "openb_node_list_all_node"), "p9,3152,,1,470,,LS,Running,5,9,6"),
)
each = pytest.mark.parametrize("kit", KITS, ids=[kit.name for kit in KITS])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@each
def test_the_same_input_gives_the_same_bytes_packed_or_not(kit: Kit, tmp_path: Path) -> None:
    one = kit.raw.digest(kit.lay(tmp_path / "a"))
    two = kit.raw.digest(kit.lay(tmp_path / "b", suffix=".csv.gz"))
    one.write(tmp_path / "one")
    assert contents(tmp_path / "one") == one.files
    for name, output in one.provenance["outputs"].items():
        assert two.files[name] == one.files[name]
        assert output["sha256"] == hashlib.sha256(one.files[name]).hexdigest()
    assert kit.load(tmp_path / "one").provenance == one.provenance


@each
def test_other_files_are_refused(kit: Kit, tmp_path: Path) -> None:
    folder, main = kit.lay(tmp_path / "in", suffix=".csv.gz"), kit.tables[0]
    path = folder / f"{main}.csv.gz"
    whole = path.read_bytes()
    bad = gzip.decompress(whole) + kit.bad.encode()
    for other in (b"", whole[:-20], whole[:20], *map(gzip.compress, (b"a,b\n1,2\n", b"\xff\xfe,\n", bad))):
        path.write_bytes(other)
        with pytest.raises(TraceError, match=rf"{main}\.csv\.gz: is not a table of this trace as published"):
            kit.raw.digest(folder)
    path.unlink()
    with pytest.raises(TraceError, match=f"no {main} file"):
        kit.raw.digest(folder)


@each
def test_damaged_digests(kit: Kit, tmp_path: Path) -> None:
    out, other, record = tmp_path / "out", b"a,b\n1,2\n", f"{kit.name}.json"
    report = kit.raw.digest(kit.lay(tmp_path / "in"))
    for name in report.files.keys() - {record}:
        report.write(out)
        for data in (report.files[name].replace(b"1", b"2", 1), other):
            (out / name).write_bytes(data)
            with pytest.raises(TraceError, match=f"{name}: its SHA-256 is not the recorded"):
                kit.load(out)
        (out / name).unlink()
        with pytest.raises(TraceError, match=f"{name}: cannot be read"):
            kit.load(out)
    for text in ("", "{}", "[1]", '{"outputs": 3}'):
        (out / record).write_text(text)
        with pytest.raises(TraceError, match="is not the provenance"):
            kit.load(out)


@each
def test_verifying_tells_what_differs(kit: Kit, tmp_path: Path) -> None:
    folder = kit.lay(tmp_path / "in")
    report = kit.raw.digest(folder)
    report.write(tmp_path / "out")
    report.held_against(tmp_path / "out")
    table = TRACE_FILES[kit.tables[0]].splitlines(keepends=True)
    write(folder, "".join(table[:-1]), f"{kit.tables[0]}.csv")
    with pytest.raises(TraceError, match=r"differs? |differ: "):
        kit.raw.digest(folder).held_against(tmp_path / "out")


@each
def test_the_commands(kit: Kit, tmp_path: Path) -> None:
    folder, trace = kit.lay(tmp_path / "in"), ("--trace", kit.name)
    code, printed, err = run_laboratory("digest", folder, *trace, "--output", tmp_path / "out")
    assert (code, err) == (0, "")
    assert printed.endswith(f"written to {tmp_path / 'out'}\n")
    assert contents(tmp_path / "out") == kit.raw.digest(folder).files
    assert "differs from the digest computed now" in refused(run_laboratory("verify", folder, *trace))
    assert f"no {kit.tables[0]} file" in refused(run_laboratory("verify", tmp_path, *trace))


# -------------------------------------------------------------------------------------------- the digests that ship


#: What is known of each trace from elsewhere: its README, its paper, or a count of the raw files.
KNOWN: dict[str, dict[str, int]] = {
    "google2011": {"submit_events": 936_182, "distinct_tasks": 614_019},
    "alibaba2017": {
        "rows": 80_553,
        "jobs_in_trace": 12_951,
        "rows_without_request": 9_017,
        "instances": 11_059_704,
        "instances_stored": 11_057_692,
        "jobs": 12_014,
        "groups": 80_553 - 9_017,
        "groups_zero_cpu": 0,
        "groups_zero_memory": 0,
        "rows_with_half_a_request": 0,
    },
    "alibaba_gpu2023": {
        "rows": 8_152,
        "pods": 8_152,
        "pods_without_gpu": 1_088,
        "pods_sharing_a_gpu": 3_078,
        "pods_with_one_gpu": 3_911,
        "pods_with_more_gpus": 75,
        "pods_zero_memory": 1,
        "pods_never_scheduled": 897,
        "pods_pending": 897,
    },
}


@each
def test_the_record_agrees_with_what_is_known_and_with_the_readme(kit: Kit) -> None:
    held = kit.load().provenance
    assert {name: held["counts"][name] for name in KNOWN[kit.name]} == KNOWN[kit.name]
    text = paths.data_path("README.md").read_text(encoding="utf-8")
    assert all(output["sha256"] in text for output in held["outputs"].values())
    assert held["licence"].replace("BY-", "BY ").removeprefix("for ") in text


#: Ways to draw users from the digests that ship, and options of each that are refused, by their first name.
DRAWS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "google2011": (
        lambda n, rng, **how: google2011.load_digest().sample(n, rng, **how),
        [{"unit": "Task"}, {"zeros": True}, {"scale": "cluster"}],
    ),
    "alibaba2017 sampled": (
        lambda n, rng, **how: alibaba2017.load_digest().sample(n, rng, **how),
        [{"min_groups": 0}, {"periods": 0}, {"after": "stop"}, {"memory_unit": math.nan}],
    ),
    "alibaba2017 dealt": (
        lambda n, rng, period=600, **how: alibaba2017.load_digest().deal(n, rng, period, **how),
        [{"period": 0.5}, {"period": math.nan}, {"merge": "max"}, {"memory_unit": 0}],
    ),
    "alibaba_gpu2023": (alibaba_gpu2023.sample_users, [{"unit": "job"}, {"zeros": "some"}, {"pods": "digest"}]),
    "alibaba_gpu2023 machines": (alibaba_gpu2023.sample_machines, [{"pods": "digest"}]),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_repeat_and_refuse(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (google2011, alibaba2017, alibaba_gpu2023):
        monkeypatch.setattr(module, "load_digest", cache(module.load_digest))
    draw, refused = DRAWS[name]
    a, b, c = (repr(draw(20, np.random.default_rng(seed))) for seed in (3, 3, 4))
    assert a == b != c
    for options in refused:
        with pytest.raises(InvalidInput, match=f"^{next(iter(options))} "):
            draw(5, np.random.default_rng(1), **options)
    for count in (0, 2.0, True):
        with pytest.raises(InvalidInput, match=r"^[nm] "):
            draw(count, np.random.default_rng(1))
    with pytest.raises(InvalidInput, match=r"^rng "):
        draw(5, 7)


@pytest.mark.traces
@each
def test_the_shipped_digest_is_that_of_the_raw_files(kit: Kit) -> None:
    report = kit.raw.digest(raw_folder(kit.name))
    report.held_against()
    held = kit.load().provenance
    assert report.provenance | {"fairbook": ""} == held | {"fairbook": ""}
    for name in held["outputs"]:
        assert report.files[name] == paths.data_path(name).read_bytes()
