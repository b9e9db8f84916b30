"""``fairbook completion``: a script that lets a shell complete commands, options and their choices."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fairbook.cli.common import add_command

#: For bash, which zsh understands as well: words by the last word, else by the command.
_BASH = """_fairbook() {{
  local words=""
  case "${{COMP_WORDS[COMP_CWORD-1]}}" in
{choices}
    *) case "${{COMP_WORDS[*]}}" in
{commands}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _fairbook fairbook"""


def _parsers(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, list[str]]]:
    """Yield each parser, the innermost commands first, and the words that may follow its name."""
    words = [word for action in parser._actions for word in action.option_strings]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            words += action.choices
            for inner in action.choices.values():
                yield from _parsers(inner)
        elif action.choices and not action.option_strings:
            words += action.choices
    yield parser, words


def _script(shell: str, top: argparse.ArgumentParser) -> str:
    known = list(_parsers(top))
    taken = {
        word: " ".join(map(str, action.choices))
        for parser, _ in known
        for action in parser._actions
        for word in action.option_strings
        if action.choices and not any(" " in choice for choice in action.choices)
    }
    if shell == "fish":
        lines = ["complete -c fairbook -n __fish_use_subcommand -a '" + " ".join(known[-1][1]) + "'"]
        for parser, words in known[:-1]:
            name = parser.prog.split()[-1]
            for word in words:
                option = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}" if word[0] != "-" else ""
                choices = f" -x -a '{taken[word]}'" if word in taken else ""
                lines += [f"complete -c fairbook -n '__fish_seen_subcommand_from {name}' {option}{choices}"] * bool(
                    option
                )
        return "\n".join(lines)
    choices = "\n".join(f'    {word}) words="{values}" ;;' for word, values in taken.items())
    commands = "\n".join(f'      "{parser.prog}"*) words="{" ".join(words)}" ;;' for parser, words in known)
    return "autoload -U +X bashcompinit && bashcompinit\n" * (shell == "zsh") + _BASH.format(
        choices=choices, commands=commands
    )


def _run(make_parser: Callable[[], argparse.ArgumentParser], options: argparse.Namespace) -> int:
    print(_script(options.shell, make_parser()))
    return 0


def add_completion(commands: Any, make_parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "completion",
        partial(_run, make_parser),
        "print what makes a shell complete this program's words",
        examples="""source <(fairbook completion bash)
source <(fairbook completion zsh)
fairbook completion fish | source""",
        bars=False,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
