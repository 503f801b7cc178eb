# Two commands on a fresh machine with Python 3.11+ and make: `make run` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Three times the cores of a small machine: many tests wait for a process or a clock (353 s, with twice the cores 394).
WORKERS ?= 6
# A run starts hundreds of processes, and each would compile all of hcloud anew.
unexport PYTHONDONTWRITEBYTECODE
# Where colorama is there, numba colours the text of thousands of errors that it catches itself.
export NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING = 1
# Where a proxy has a certificate of its own, as companies do, uv trusts what the system trusts, like pip.
export UV_SYSTEM_CERTS = 1
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

PYTEST := $(BIN)/pytest -n $(WORKERS) --dist worksteal

.PHONY: run demo test check lint axe bench lock clean

run: $(VENV)/.run  ## plan the bundled example: six weeks of jobs, enough for a term of a year
	$(BIN)/hcloud plan --file examples/six-weeks/hcloud.yaml

demo: $(VENV)/.run  ## all of it in half a minute, on a cloud in memory
	$(BIN)/hcloud demo

# Linters run beside the tests at a lower priority: at the lowest they ended two minutes after the tests.
define BESIDE_LINT
@log=$$(mktemp); nice -n 5 $(MAKE) --no-print-directory lint >"$$log" 2>&1 & lint=$$!; \
trap 'kill $$lint 2>/dev/null; rm -f "$$log"' EXIT; trap 'exit 130' INT TERM; \
code=0; $(1) || code=$$?; \
wait $$lint || { echo "lint failed:"; cat "$$log"; code=1; }; \
exit $$code
endef

test: $(VENV)/.test  ## all checks and tests
	$(call BESIDE_LINT,$(PYTEST))

# Quick tests wait for nothing: a worker a core.
check: $(VENV)/.test  ## linters and the quick tests, in about a minute
	$(call BESIDE_LINT,$(BIN)/pytest -n auto --dist worksteal -q tests/unit -m "not slow")

# Mypy holds on to nearly all that it makes: to look for what may go took 7 of its 47 s (1.7 GB, with it 0.9).
MYPY := $(BIN)/python -c "import gc; gc.enable = gc.disable; gc.disable(); from mypy.__main__ import console_entry as run; run()"
lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MYPY)
	$(BIN)/lint-imports

axe: $(VENV)/.run  ## fetch the accessibility checker of the tests in a browser (needs npm)
	$(BIN)/python tests/browser/fetch_axe.py

bench: $(VENV)/.bench  ## measure against the peers (minutes)
	$(BIN)/python -m benchmarks.b1_simulate
	$(BIN)/python -m benchmarks.b2_sweep
	$(BIN)/python -m benchmarks.b3_decide
	$(BIN)/python -m benchmarks.b4_classify
	$(BIN)/python -m benchmarks.b4_accuracy
	$(BIN)/python -m benchmarks.b5_commitments
	$(BIN)/python -m benchmarks.b6_cost_gap
	$(BIN)/python -m benchmarks.b7_calls
	$(BIN)/python -m benchmarks.b8_startup
	$(BIN)/python -m benchmarks.b9_ingest
	$(BIN)/python -m benchmarks.b10_leaks
	$(BIN)/python -m benchmarks.b11_sizes
	$(BIN)/python -m benchmarks.b12_waits
	$(BIN)/python -m benchmarks.b13_bands
	$(BIN)/python -m benchmarks.b14_ten_thousand
	$(BIN)/python -m benchmarks.b15_jobs
	$(BIN)/python -m benchmarks.b19_bills
	$(BIN)/python -m benchmarks.b20_plan_jobs
	$(BIN)/python -m benchmarks.b21_placement
	$(BIN)/python -m benchmarks.b22_size
	$(BIN)/python -m benchmarks.b23_harvest
	$(BIN)/python -m benchmarks.b24_live_kills --ground local --ground memory
	$(BIN)/python -m benchmarks.b25_queues
	$(BIN)/python -m benchmarks.b26_watching
	$(BIN)/python -m benchmarks.b27_falls

# uv takes a tenth of pip's time; pip does it where uv is not had or does not reach the index that pip is set up for.
define INSTALL
$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1) || \
$(PIP) install --require-hashes -r $(1)
endef

$(VENV)/.run: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	-$(PIP) install --require-hashes -r requirements-installer.lock
	$(call INSTALL,requirements.lock)
	$(PIP) install --no-deps --no-build-isolation -e .
	touch $@

# Kernels are compiled beside what follows, which takes one core: the tests need them.
$(VENV)/.test: requirements-dev.lock $(VENV)/.run
	$(BIN)/python -c "from hcloud.sim.machine_code.compiled import is_made; is_made()"
	$(call INSTALL,requirements-dev.lock)
	$(BIN)/python -m compileall -q -j 2 hcloud benchmarks
	$(COMPILE_TESTS)
	touch $@

# Once, in three processes, what every worker would else do for itself: pytest rewrites the assertions of half a thousand
# files, and uv leaves the clouds' SDKs to be compiled by whoever imports them first, six seconds of a processor.
SDKS := azure.identity azure.mgmt.compute.models azure.mgmt.network.models azure.mgmt.reservations.models \
	azure.storage.blob boto3 google.cloud.compute_v1 \
	moto.ec2.responses moto.iam.responses moto.s3.responses moto.server moto.ssm.responses
define COMPILE_TESTS
$(BIN)/python -c "$(SDKS:%=import %;)" & sdks=$$!; \
$(BIN)/pytest -q --collect-only --snapshot-disable-unused tests/cli tests/unit >/dev/null & first=$$!; \
$(BIN)/pytest -q --collect-only --snapshot-disable-unused --ignore tests/cli --ignore tests/unit tests >/dev/null && \
wait $$first && wait $$sdks
endef

$(VENV)/.bench: requirements-bench.lock $(VENV)/.test
	$(call INSTALL,requirements-bench.lock)
	touch $@

LOCK = uv pip compile pyproject.toml --universal --generate-hashes --no-header --no-annotate \
	--python-version 3.11 --quiet --group build
EXTRAS = --extra aws --extra gcp --extra azure --extra fake --extra notebook
lock:  ## resolve the dependencies anew (needs uv)
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --quiet \
		--group installer --output-file requirements-installer.lock
	$(LOCK) --output-file requirements.lock
	$(LOCK) $(EXTRAS) --group dev --output-file requirements-dev.lock
	$(LOCK) $(EXTRAS) --group dev --group bench --output-file requirements-bench.lock

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
