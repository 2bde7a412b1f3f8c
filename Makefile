# The commands of the README. Each installs what it needs.
.PHONY: setup build demo test asan bench bench-baselines format clean

build: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release

setup:
	@scripts/setup

test: setup
	@cmake --workflow --preset check

asan: setup
	@cmake --workflow --preset asan

demo: build
	@scripts/demo

bench: setup
	@bench/run

bench-baselines: setup
	@bench/run --baselines

format:
	@git ls-files '*.cpp' '*.h' | xargs clang-format -i

clean:
	@rm -rf build
