#!/usr/bin/env bash
# fresh.sh [PYTHON ...]: the checkout as a stranger gets it, on each PYTHON (default: the first fit one on the PATH).
# A copy without git, in a path with a blank, with the environment of another checkout in it, with settings of pip that
# would break a careless set-up, by a user who is not root where that user can run the PYTHON. Then set-up, the book
# and a small selection of checks: FRESH_ARGS, as pytest takes them.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
args=${FRESH_ARGS:-tests/library/test_drf.py tests/project/test_environment.py tests/project/test_package.py tests/project/test_project_files.py book/tutorial.ipynb}
export PIP_USER=1 PIP_TARGET=$folder/elsewhere PIP_REQUIRE_HASHES=1 PIP_CONSTRAINT=$folder/none PYTHONPATH=$PWD

for python in "${@:-}"; do
    copy="$folder/a copy/${python//\//-}"
    mkdir -p "$copy/.venv/bin" "$folder/home"
    tar -c --exclude=.git --exclude=.venv --exclude='.venv-*' --exclude=_build --exclude=.pytest_cache --exclude=__pycache__ . | tar -x -C "$copy"
    ln -s "$PWD/.venv/bin/python" "$copy/.venv/bin/python"  # copied along
    touch "$copy/.venv/.locked" "$copy/.venv/.ready"
    run=(env "HOME=$folder/home")
    if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups "${python:-python3}" -V >/dev/null 2>&1; then
        chown -R 65534:65534 "$folder"
        run+=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    fi
    for goal in setup book test; do
        echo "fresh: ${python:-the first fit Python}, $("${run[@]}" id -un): make $goal"
        "${run[@]}" make -s -C "$copy" "$goal" PYTHON="$python" PYTEST_ARGS="-q $args" >"$folder/said" 2>&1 || {
            tail -n 40 "$folder/said"
            echo "fresh: FAILED"
            exit 1
        }
        tail -n 1 "$folder/said"
    done
done
