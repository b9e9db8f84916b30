#!/usr/bin/env bash
# make_venv.sh DIRECTORY [PYTHON]: a virtual environment of Python 3.11 to 3.14.
# By hand, since uv, which would choose a Python as well, comes with the lock that is installed into it.
# make_venv.sh --check DIRECTORY [PYTHON]: empty one that is broken, of another PYTHON, or came with a copied checkout.
set -eu
check=
if [ "$1" = --check ]; then check=yes && shift; fi
venv=$1
wanted=${2:-}
fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' 2>/dev/null; }
# What says of which interpreter an environment is, and in which checkout.
origin() { printf '%s\n' "$PWD"; "$1" -c 'import sys; print(sys.base_prefix, sys.version.split()[0])'; }

if [ -n "$check" ]; then
    [ -e "$venv/.locked" ] || [ -e "$venv/bin/python" ] || exit 0  # one that was not finished has no .origin
    now=$(origin "${wanted:-$venv/bin/python}" 2>/dev/null) || now=broken
    [ "$now" = "$(cat "$venv/.origin" 2>/dev/null)" ] || rm -f "$venv/.locked" "$venv/.ready" "$venv/bin/python"
    exit 0
fi

if [ -n "$wanted" ]; then
    candidates=("$wanted")
else
    candidates=(python3 python3.14 python3.13 python3.12 python3.11 python)
fi
for python in "${candidates[@]}"; do
    fits "$python" || continue
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "fairbook needs the module venv of $python: on Debian and Ubuntu, apt-get install python3-venv" >&2
        exit 1
    fi
    echo "set-up: $("$python" --version) in $venv"
    "$python" -m venv --clear "$venv"
    origin "$python" >"$venv/.origin"
    exit
done
echo "fairbook needs Python 3.11 to 3.14; none of these is one: ${candidates[*]}; say which:  make setup PYTHON=/path/to/python3.12" >&2
exit 1
