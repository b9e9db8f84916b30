#!/usr/bin/env bash
# make_venv.sh DIRECTORY [PYTHON]: a virtual environment of Python 3.11 to 3.13.
set -eu
venv=$1
fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null; }

if [ -n "${2:-}" ]; then
    candidates=("$2")
else
    candidates=(python3 python3.13 python3.12 python3.11 python)
fi
for python in "${candidates[@]}"; do
    if fits "$python"; then
        echo "set-up: $("$python" --version) in $venv"
        exec "$python" -m venv --clear "$venv"
    fi
done
echo "fairbook needs Python 3.11 to 3.13; none of these is one: ${candidates[*]}" >&2
echo "say which to use:  make setup PYTHON=/path/to/python3.12" >&2
exit 1
