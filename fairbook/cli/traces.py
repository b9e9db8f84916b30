"""``fairbook traces``: digests of public traces, computed, checked and shown."""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Iterator
from typing import Any, Final

from fairbook.cli.common import Parser, add_command, help_of, one_line, progress
from fairbook.errors import InvalidInput

#: Titles, and the tables that a trace consists of.
_TRACES: Final = {
    "google2011": ("Google ClusterData2011_2", "task_events, machine_events"),
    "alibaba2017": ("Alibaba v2017", "batch_task, server_event"),
    "alibaba_gpu2023": ("Alibaba gpu-v2023", "openb_pod_list_default, openb_node_list_all_node"),
}


def _trace_module(options: argparse.Namespace, *, raw: bool = True) -> Any:
    return importlib.import_module(f"fairbook.traces.{'raw.' if raw else ''}{options.trace}")


def _keywords(run: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Give a bar to what takes long enough to show how far it is."""
    return {"progress": progress(options)} if "progress" in inspect.signature(run).parameters else {}


def _traces_digest(options: argparse.Namespace) -> int:
    module = _trace_module(options)
    digits = [name for name in inspect.signature(module.digest).parameters if name.endswith("digits")]
    if options.exact and not digits:
        raise InvalidInput("--exact", "must not be given with a trace whose digest is never rounded", options.trace)
    shipped = None if options.exact else getattr(module, "SHIPPED_DIGITS", None)
    keywords = _keywords(module.digest, options) | dict.fromkeys(digits, shipped)
    report = module.digest(options.folder, options.output, **keywords)
    print(f"{report}\nwritten to {report.folder}")
    return 0


def _traces_verify(options: argparse.Namespace) -> int:
    verify = _trace_module(options).verify_digest
    report = verify(options.folder, options.digest, **_keywords(verify, options))
    print(f"{report}\nequal to the digest {'of this release' if options.digest is None else 'in ' + options.digest}")
    return 0


def _traces_show(options: argparse.Namespace) -> int:
    facts = _trace_module(options, raw=False).load_digest(options.digest).provenance
    rows = dict(_rows("", {name: value for name, value in facts.items() if name not in ("inputs", "units")}))
    width = max(map(len, rows))
    print("\n".join(f"{one_line(name):<{width}}  {one_line(str(value))}" for name, value in rows.items()))
    return 0


def _rows(name: str, fact: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a digest's record says, by the path of names to it."""
    if not isinstance(fact, dict):
        yield name.strip(), fact
        return
    for key, value in fact.items():
        yield from _rows(f"{name} {key}", value)


def add_traces(commands: Any) -> None:
    about = "digest public traces and check the digests"
    titles = ", ".join(title for title, _ in _TRACES.values())
    traces = commands.add_parser("traces", help=about, description=f"{about[0].upper()}{about[1:]} ({titles}).")
    traces.set_defaults(run=help_of(traces))
    actions = traces.add_subparsers(dest="action", metavar="ACTION", parser_class=Parser)
    digest = add_command(
        actions,
        "digest",
        _traces_digest,
        "digest the trace's files into small tables",
        examples="fairbook traces digest clusterdata-2011-2 --output digest\n"
        "fairbook traces digest cluster-trace-v2017 --trace alibaba2017 --output digest\n"
        "fairbook traces digest cluster-trace-gpu-v2023/csv --trace alibaba_gpu2023 --output digest",
    )
    digest.add_argument(
        "folder",
        metavar="FOLDER",
        help="folder of the trace as published: "
        + "; ".join(f"{tables} ({name})" for name, (_, tables) in _TRACES.items()),
    )
    digest.add_argument("--output", required=True, metavar="DIR", help="folder, made if absent")
    digest.add_argument(
        "--exact",
        action="store_true",
        help="Alibaba: keep every digit (default: 3 significant ones where the shipped digest rounds)",
    )
    verify = add_command(
        actions,
        "verify",
        _traces_verify,
        "compute a digest again and hold it equal to a recorded one",
        examples="fairbook traces verify clusterdata-2011-2",
    )
    verify.add_argument("folder", metavar="FOLDER", help="folder of the trace as published")
    show = add_command(actions, "show", _traces_show, "print what a digest was made of and what it holds", bars=False)
    for parser in (digest, verify, show):
        parser.add_argument(
            "--trace",
            choices=tuple(_TRACES),
            default="google2011",
            help="which trace (default: google2011)",
        )
    for parser in (verify, show):
        parser.add_argument(
            "--digest", metavar="DIR", help="folder of a digest (default: the one that ships with fairbook)"
        )
