# Two commands: `make demo` shows what allocsolve does, `make test` proves that it does it.
# Each sets up everything it needs in .venv; both need only make and Python >= 3.11 with venv.

VENV := .venv
RUN := $(VENV)/bin
SUITABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	$$p -c "$(SUITABLE)" >/dev/null 2>&1 && echo $$p && break; done)
OUT := demo-output
SAMPLES := instances/bundled
# The environment names the checkout it was made for, so that a copied folder makes its own.
HERE := $(VENV)/.made-for$(subst /,-,$(subst $() ,-,$(CURDIR)))

KERNEL_TESTS := tests/models/test_list_scheduling.py tests/models/test_node_tables.py \
	tests/models/test_random.py tests/models/test_law_kernels.py \
	tests/models/test_coded_law_kernels.py tests/models/test_fair_bounds.py \
	tests/solvers/test_list_methods.py
INDEX_TESTS := tests/models/test_list_scheduling.py tests/models/test_node_tables.py \
	tests/models/test_random.py tests/models/test_coded_law_kernels.py \
	tests/models/test_replay.py tests/models/test_coded_pair_kernels.py tests/solvers/test_tabu.py
# Processes that share the tests; 0 runs them one after another in this one.
WORKERS ?= 2
SHARED := -n $(WORKERS) --dist worksteal

.PHONY: demo test lint types coverage indices clean

demo: $(VENV)/.demo
	mkdir -p $(OUT)
	$(RUN)/allocsolve doctor --compile
	$(RUN)/allocsolve solve $(SAMPLES)/ft06.txt -o $(OUT)/ft06.json
	$(RUN)/allocsolve check -v $(SAMPLES)/ft06.txt $(OUT)/ft06.json -o $(OUT)/ft06-check.json
	$(RUN)/allocsolve plot $(SAMPLES)/ft06.txt $(OUT)/ft06.json -o $(OUT)/ft06.svg
	$(RUN)/allocsolve solve $(SAMPLES)/house.sm -o $(OUT)/house.json
	$(RUN)/allocsolve check -v $(SAMPLES)/house.sm $(OUT)/house.json -o $(OUT)/house-check.json
	$(RUN)/allocsolve plot $(SAMPLES)/house.sm $(OUT)/house.json -o $(OUT)/house.svg
	$(RUN)/allocsolve solve $(SAMPLES)/stragglers.json -o $(OUT)/stragglers.json
	$(RUN)/allocsolve check -v $(SAMPLES)/stragglers.json $(OUT)/stragglers.json \
		-o $(OUT)/stragglers-check.json
	$(RUN)/allocsolve plot $(SAMPLES)/stragglers.json $(OUT)/stragglers.json \
		-o $(OUT)/stragglers.svg
	$(RUN)/allocsolve solve $(SAMPLES)/cluster.json -o $(OUT)/cluster.json
	$(RUN)/allocsolve check -v $(SAMPLES)/cluster.json $(OUT)/cluster.json \
		-o $(OUT)/cluster-check.json
	$(RUN)/allocsolve plot $(SAMPLES)/cluster.json $(OUT)/cluster.json -o $(OUT)/cluster.svg
	@grep -q '"status": "OPTIMAL"' $(OUT)/ft06.json && grep -q '"value": 55,' $(OUT)/ft06.json
	@grep -q '"status": "OPTIMAL"' $(OUT)/stragglers.json
	@grep -q '"status": "OPTIMAL"' $(OUT)/cluster.json
	@echo
	@echo "ft06, a job shop of 6 jobs on 6 machines: makespan 55, proven optimal and checked."
	@echo "house, a project of 16 tasks on 2 resources:"
	@grep -E '"(status|objective)"' $(OUT)/house.json
	@echo "stragglers, 12 coded rows from 4 nodes, two of them slow:"
	@grep -E '"(status|objective)"' $(OUT)/stragglers.json
	@echo "cluster, 240 jobs that share 168 machines of 3 types:"
	@grep -E '"(status|objective)"' $(OUT)/cluster.json
	@echo
	@echo "In $(OUT)/:"
	@ls $(OUT)

test: lint types coverage indices

lint: $(VENV)/.test
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .

types: $(VENV)/.test
	$(RUN)/mypy

# The command line is measured too: coverage follows the subprocesses that the tests start, and
# the processes that share them.
# Compiled loops are measured as plain Python, which must give the same results.
# Loops are compiled first, once: the processes that the tests start find them in the cache.
coverage: $(VENV)/.test
	$(RUN)/allocsolve doctor --compile >/dev/null
	$(RUN)/coverage erase
	$(RUN)/coverage run -m pytest $(SHARED)
	NUMBA_DISABLE_JIT=1 $(RUN)/coverage run -m pytest -q $(SHARED) $(KERNEL_TESTS)
	$(RUN)/coverage combine -q
	$(RUN)/coverage report

# Compiled loops do not check their indices; here they do, in a cache of their own.
indices: $(VENV)/.test
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$(CURDIR)/$(VENV)/checked-kernels" \
		$(RUN)/python -m pytest -q -n $(WORKERS) --dist loadfile $(INDEX_TESTS)

$(VENV)/.test: pyproject.toml $(HERE)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,plot,frames]"
	@touch $(VENV)/.demo $@

$(VENV)/.demo: pyproject.toml $(HERE)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable ".[plot]"
	@touch $@

$(HERE):
	@test -n "$(PYTHON)" || { echo "allocsolve needs Python >= 3.11 with the module venv" \
		"(on Debian and Ubuntu: the package python3-venv); name one with make PYTHON=..." >&2; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	@touch $@

clean:
	rm -rf $(VENV) $(OUT) build dist *.egg-info .coverage* htmlcov .mypy_cache .pytest_cache .ruff_cache
