"""``fairbook completion``: a script that lets a shell complete commands, options and their choices."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from fairbook.cli.common import add_command

#: Each asks ``fairbook completion words``, with the line so far in the environment.
_SCRIPTS = {"bash": "complete -o default -C 'fairbook completion words' fairbook"}
_SCRIPTS["zsh"] = f"autoload -U +X bashcompinit && bashcompinit\n{_SCRIPTS['bash']}"
_SCRIPTS["fish"] = "complete -c fairbook -a '(env COMP_LINE=(commandline -cp) fairbook completion words)'"


def _words(parser: argparse.ArgumentParser, line: str) -> list[str]:
    """List what may stand for the last word of a line."""
    *before, last = line.split(" ")
    for word in before[1:]:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction) and word in action.choices:
                parser = action.choices[word]
    takes = {name: action.choices for action in parser._actions[::-1] for name in action.option_strings or [""]}
    offered = takes.get(before[-1]) or [*takes, *(takes[""] or ())]
    return [word for word in offered if word and word.startswith(last)]


def add_completion(commands: Any, make_parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Declare the command."""

    def run(options: argparse.Namespace) -> int:
        print(_SCRIPTS.get(options.shell) or "\n".join(_words(make_parser(), os.environ.get("COMP_LINE", "fairbook "))))
        return 0

    parser = add_command(
        commands,
        "completion",
        run,
        "print what makes a shell complete this program's words",
        examples="""source <(fairbook completion bash)
source <(fairbook completion zsh)
fairbook completion fish | source""",
        bars=False,
    )
    parser.add_argument("shell", choices=(*_SCRIPTS, "words"), help="`words` answers the scripts")
    # bash says once more what is completed
    parser.add_argument("asked", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
