# Everything happens in .venv/ at the root. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

# One thread per process: the last digits of BLAS results depend on the thread count.
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1
export PYTHONHASHSEED = 0

# What a user's own settings of pip would do to .venv: install elsewhere, not at all, or only what has a hash.
unexport PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON PIP_DRY_RUN PIP_CONSTRAINT PIP_REQUIREMENT PIP_EDITABLE
unexport PIP_NO_BINARY PIP_ONLY_BINARY PIP_REQUIRE_HASHES PIP_REQUIRE_VIRTUALENV PYTHONPATH PYTHONHOME VIRTUAL_ENV
# Where no bytecode is kept, each of many processes compiles pandas and the like again: 4 s for a notebook's kernel.
unexport PYTHONDONTWRITEBYTECODE

# the interpreter that .venv is made with (make book PYTHON=python3.12); else the first fit one on the PATH
PYTHON ?=
PAGE ?=
PYTEST_ARGS ?=
LAB_ARGS ?=
TRIES ?= 1000
ENGINE_TRIES ?= 1000
OLD ?= HEAD
RESOLUTION ?= lowest-direct
WORKERS ?= auto
VENV := .venv
NEXT := .venv-next
OTHER := .venv-library
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install -q --disable-pip-version-check
LOCKED := $(VENV)/.locked
READY := $(VENV)/.ready

.PHONY: help setup book next page lab pdf test quick library proofs fresh fuzz mutants bench execute results compare lock lint package bump clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

setup: $(READY)  ## make .venv/ and install the lock and the package into it

# An environment holds paths: one that was copied with its checkout would run the code of the other copy. The PYTHON of
# `make fresh` is that of its copies.
ifneq ($(MAKECMDGOALS),fresh)
$(shell tools/make_venv.sh --check "$(VENV)" "$(PYTHON)")
endif

$(PY):
	@tools/make_venv.sh "$(VENV)" "$(PYTHON)"

# uv installs the lock in a few seconds where pip needs a minute; where uv cannot be had or fails, pip does it.
# The lock is complete, nothing is resolved again; what comes must have one of its hashes.
$(LOCKED): requirements.txt | $(PY)
	@echo "set-up: installing the locked packages, a gigabyte: about half a minute, or a few with pip alone or a slow network"
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.txt | $(PIP) --no-deps --require-hashes -r /dev/stdin \
	  && $(PY) -m uv pip install -q --no-deps --require-hashes --python $(PY) -r requirements.txt \
	  || $(PIP) --no-deps --require-hashes -r requirements.txt
	@touch $@

# No build isolation: hatchling comes from the lock as well. A first call and 5 s of compiling leave bytecode, for which
# the first call that loads numba would wait 2 s.
$(READY): $(LOCKED) pyproject.toml
	@$(PIP) --no-build-isolation --no-deps -e .
	@$(VENV)/bin/fairbook allocate data/example_users.csv --capacity cpu=1 memory=1 gpu=1 >/dev/null
	@$(PY) -m compileall -q -j 0 $$($(PY) -c "import numba, llvmlite, scipy; print(*numba.__path__, *llvmlite.__path__, *scipy.__path__)") || true
	@touch $@

book: $(READY)  ## build the HTML book: _build/html/index.html
	$(PY) tools/build_book.py
	@echo "open $(CURDIR)/_build/html/index.html"

# What holds when no release of Jupyter Book 1 installs any more: plain Sphinx, on the settings that it made of
# _config.yml. The pages must say the same.
next: book $(NEXT)/.ready  ## build the book with the newest Sphinx and themes as well: _build/next/index.html
	$(NEXT)/bin/jupyter-book config sphinx .
	rm -rf _build/next
	PYTHONPATH=tools $(NEXT)/bin/sphinx-build -q -a -E -W -n --keep-going . _build/next
	$(PY) tools/same_words.py _build/html _build/next

# Their newest releases of today, held back by nothing but each other.
$(NEXT)/.ready: tools/newest.txt pyproject.toml $(LOCKED)
	$(PY) -m uv venv -q --clear --python $(PY) $(NEXT)
	$(PY) -m uv pip install -q --upgrade --python $(NEXT) --overrides tools/newest.txt -e '.[sweeps,book]'
	@touch $@

page: $(READY)  ## bring one page of a book that was built up to date, in seconds: make page PAGE=gdrf/story
	@test -f "book/$(PAGE).md" || { echo "there is no book/$(PAGE).md; for example: make page PAGE=gdrf/story" >&2; exit 2; }
	@test -f _build/html/index.html || { echo "there is no book yet that the page could be put into; first: make book" >&2; exit 2; }
	$(PY) tools/execute.py --text $(PAGE)
	$(PY) tools/build_book.py --page $(PAGE)

# Drawings of a notebook are shown once it is trusted, as those of one's own checkout may be. What is saved differs from
# what was there by what a person changed only: tools/execute.py.
lab: $(READY)  ## open a page in JupyterLab, text and outputs paired: make lab PAGE=gdrf/story
	@$(PY) -m jupyter trust $(wildcard book/*.ipynb book/*/*.ipynb) >/dev/null
	$(PY) -m jupyterlab --ServerApp.root_dir="$(CURDIR)" --FileContentsManager.pre_save_hook=tools.execute.before_saving $(LAB_ARGS) $(if $(PAGE),book/$(PAGE).ipynb,--LabApp.default_url=/lab/tree/book)

pdf: book  ## print the book as a PDF, with Chromium: _build/pdf/fairbook.pdf
	$(PY) -m tools.make_pdf

test: $(READY)  ## run all checks: make test PYTEST_ARGS="-k twins"
	$(PY) -m pytest -n $(WORKERS) $(PYTEST_ARGS)

quick: $(READY)  ## the checks that need neither a built book, a browser nor minutes; no notebooks, claims, experiments
	$(PY) -m pytest -q -n $(WORKERS) -o addopts="--doctest-modules --strict-markers" -m "not book and not browser and not slow and not traces" tests fairbook $(PYTEST_ARGS)

# The lock holds the tools; numpy, scipy, pandas, numba, joblib and tqdm are the oldest that pyproject.toml allows, or
# the newest, which no lock holds back.
library: $(READY)  ## the library's checks with other versions below it: make library RESOLUTION=lowest-direct or highest
	$(PY) -m uv venv -q --clear --python $(PY) $(OTHER)
	$(PY) -m uv pip install -q --no-deps --require-hashes --python $(OTHER) -r requirements.txt
	$(PY) -m uv pip install -q --upgrade --resolution $(RESOLUTION) --python $(OTHER) -e '.[sweeps]'
	$(OTHER)/bin/python -W error tests/stranger.py README.md >/dev/null
	$(OTHER)/bin/python -m pytest -q -n $(WORKERS) -o addopts="--doctest-modules --strict-markers" fairbook \
	  tests/library/test_{judges,matrix,protocol,stateful,sweeps}.py $(PYTEST_ARGS)

fresh:  ## the checkout as a stranger gets it, once for each of PYTHON="python3.11 python3.13"; takes minutes
	tools/fresh.sh $(PYTHON)

fuzz: $(READY)  ## damage inputs and judge engines at random, many times: make fuzz TRIES=20000 ENGINE_TRIES=100000
	FAIRBOOK_FUZZ=$(TRIES) FAIRBOOK_FUZZ_ENGINES=$(ENGINE_TRIES) $(PY) -m pytest -q -s tests/project/test_fuzz.py

# Niced, and one process: it takes an hour or two for all, and goes on where it was stopped.
mutants: $(READY)  ## change rules and engines, one thing at a time, and list what no test notices: make mutants TRIES=50
	nice $(PY) -m tools.mutants $(TRIES)

bench: $(READY)  ## write the benchmark table; fails below the promised ratios
	$(PY) -m benchmarks

execute: $(READY)  ## execute every notebook again, or one: make execute PAGE=dmfa_srq/story
	$(PY) tools/execute.py $(PAGE)

results: $(READY)  ## recompute the stored full-effort results, going on where it stopped: make results WORKERS=4
	$(PY) -m book results --full $(if $(filter-out auto,$(WORKERS)),--workers $(WORKERS))

compare: $(READY)  ## say how the stored results differ from those of a revision: make compare OLD=HEAD~3
	$(PY) tools/compare_results.py $(OLD)

lock: $(READY)  ## resolve requirements.txt again from pyproject.toml
	$(PY) -m uv pip compile pyproject.toml -q --universal --python-version 3.11 --fork-strategy fewest --extra sweeps --extra book --extra lab --extra test --upgrade --generate-hashes \
	  --no-emit-index-url --custom-compile-command "make lock" -o requirements.txt

proofs: $(READY)  ## let Coq check the proofs (needs coqc: Debian and Ubuntu, apt-get install coq)
	@command -v coqc >/dev/null || { echo "the proofs need coqc: on Debian and Ubuntu, apt-get install coq"; exit 1; }
	$(PY) -m proofs.check

lint: $(READY)  ## ruff and mypy
	$(PY) -m ruff check .
	$(PY) -m ruff format --check -q .
	$(PY) -m mypy

package: $(READY)  ## build dist/: source archive and wheel of the library
	$(PY) -m hatchling build -t sdist -t wheel

bump: $(READY)  ## write a new version everywhere: make bump VERSION=0.2.0 [RELEASED=2027-01-31]
	$(PY) tools/bump.py $(VERSION) $(RELEASED)
	@rm -f $(READY)

clean:  ## remove builds and caches; keeps environments and the stored results
	rm -rf _build build dist conf.py .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf
