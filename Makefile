# The commands of the README. Each installs what it needs.
.PHONY: setup build demo test wheel asan bench bench-baselines selfcheck campaign-slice format docs clean

# Where coequal finds the CUDA compiler if there is no toolkit.
export VIRTUAL_ENV := $(CURDIR)/.venv

build: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target coequal

setup:
	@scripts/setup

test: setup
	@cmake --workflow --preset check

# A wheel in dist/ that holds the libraries it needs, tried in an environment of its own.
wheel: setup
	@scripts/wheel

asan: setup
	@cmake --workflow --preset asan

demo: build
	@scripts/demo

bench: setup
	@bench/run

bench-baselines: setup
	@bench/run --baselines

# Random programs and mutants of our own kernels, checked and run on numbers (tests/selfcheck).
selfcheck: build
	@.venv/bin/python tests/selfcheck/fuzz.py --programs 2000
	@.venv/bin/python tests/selfcheck/campaign.py --coequal build/release/coequal --count 5000

campaign-slice: build
	@.venv/bin/python tests/selfcheck/campaign.py --coequal build/release/coequal --count 500

format: setup
	@scripts/format

docs: build
	@scripts/update-docs
	@scripts/update-readme
	@PYTHONPATH=python .venv/bin/python -m coequal._torch.coverage docs/torch.md

clean:
	@rm -rf build dist
