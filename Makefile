# The only entry point. A target installs what it needs; a second call starts at once.
.DEFAULT_GOAL := help
.PHONY: help bench doctor install test test-long test-cpp test-python ran-cpp ran-python browser stress stress-asan stress-tsan fuzz style lint format golden sanitize sanitize-asan sanitize-tsan wheel floors docs clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# ninja comes as a wheel too, and cmake looks for it on the path.
export PATH := $(abspath $(BIN)):$(PATH)
# The tests start Python some thousand times. Containers often forbid it to keep what it has compiled.
export PYTHONDONTWRITEBYTECODE :=
# Arguments for the command: make bench ARGS="--sizes 4..1MiB"
ARGS ?=
# Of each fuzzer: make fuzz SECONDS=600
SECONDS ?= 60

native := $(shell find cpp/src cpp/include cpp/preload cpp/emulator bindings kernels cmake -type f) CMakeLists.txt pyproject.toml
tested := $(shell find cpp/tests tests/fuzz/cpp -type f)
# ccache remembers no file that was compiled with a precompiled header.
launcher := $(if $(shell command -v ccache),CMAKE_CXX_COMPILER_LAUNCHER=ccache ISTHMUS_PRECOMPILE=OFF)
# One build for the extension and for its tests: the core is compiled once.
build := build/release
sanitized := build/asan
# One build under ASan and UBSan for the C++ tests and the fuzzers, by the fuzzers' compiler. Without it, by g++ for the
# tests alone. Fresh: CMake gives up where the compiler is another than before.
asan = $(foreach clang,$(shell tests/fuzz/compiler.sh 2>/dev/null),--fresh -DISTHMUS_BUILD_FUZZERS=ON -DCMAKE_CXX_COMPILER=$(clang) -DCMAKE_C_COMPILER=$(subst ++,,$(clang)))
pip := $(BIN)/pip install -q --disable-pip-version-check
packages_of := $(BIN)/python cmake/build_requirements.py
# The last is no part of the package: tests in Python need it before all those in C++ are compiled.
installed := _native;isthmus_emulator;isthmus;gdrapi;isthmus_watch;isthmus_exec;isthmus_system_faults
cores := $(shell nproc)
# As many compilers as cores. Ninja's one or two more took a fifteenth longer on two cores.
export CMAKE_BUILD_PARALLEL_LEVEL := $(cores)
# Of ctest and of pytest: long checks are left out, or run alone.
labelled = -LE long
marked = -m 'not long'
programs = .tests
ctest = $(BIN)/ctest --test-dir $(build) -j $$(($(cores) + 1)) --output-on-failure $(labelled)
pytest = $(BIN)/python -m pytest -n $(cores) --dist worksteal $(marked) $(ARGS)
# Of `make stress`: what the environment names, or else the emulated driver.
driver_source := $(or $(ISTHMUS_DRIVER),emulated)
# NVRTC must not be newer than the driver's CUDA: 580 is the first driver of CUDA 13.
driver := $(shell sed -n 's/.*Kernel Module *\(for [^ ]*\)\? *\([0-9]*\)\..*/\2/p' /proc/driver/nvidia/version 2>/dev/null | head -n 1)
extra := $(if $(driver),$(shell test $(driver) -ge 580 && echo cuda13 || echo cuda12))

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

bench: $(VENV)/.isthmus  ## a first look at this machine (without a GPU: the emulated one); ARGS="..." goes to isthmus bench
	@$(BIN)/isthmus bench $(or $(ARGS),--quick)

doctor: $(VENV)/.isthmus  ## look for what slows transfers down here
	@$(BIN)/isthmus doctor $(ARGS)

install: $(VENV)/.isthmus  ## the library for C and C++ into PREFIX=..., with its headers, CMake package and isthmus.pc
	@$(if $(PREFIX),,$(error make install needs a folder to install into: make install PREFIX=$$HOME/.local))
	@$(BIN)/cmake --install $(build) --prefix $(PREFIX)

# Tests in Python begin while those in C++ are compiled: each leaves a core idle for a part of its time.
# Those in C++ speak last.
test:  ## tests that need no GPU, without the long ones
	@mkdir -p build && : >build/ctest.txt
	@echo "The tests in C++ run beside those in Python, and write to build/ctest.txt."
	@$(MAKE) --no-print-directory -k -j 3 ran-cpp ran-python labelled="$(labelled)" marked="$(marked)" programs="$(programs)" \
	  said='>>build/ctest.txt 2>&1'; code=$$?; cat build/ctest.txt; exit $$code

test-long: labelled = -L long
test-long: marked = -m long
test-long: programs = .long
test-long: browser $(VENV)/.docs test  ## the long ones: all faults, fleets on real processes, a browser, every architecture

test-cpp:  ## those of test in C++
	@$(MAKE) --no-print-directory -j 2 ran-cpp

test-python: ran-python  ## those of test in Python; ARGS="..." goes to pytest

stress: $(build)/.long  ## copies beside all that disturbs them for SECONDS=60, in C++, then in Python; ISTHMUS_DRIVER=system: on a GPU
	@ISTHMUS_DRIVER=$(driver_source) $(build)/bin/stress_copies --seconds $(SECONDS)
	@ISTHMUS_DRIVER=$(driver_source) PYTHONPATH=tests $(BIN)/python -m stress --seconds $(SECONDS) $(ARGS)

stress-asan stress-tsan: stress-%: $(VENV)/.tools $(VENV)/.test  ## the same in C++ under ASan+UBSan, and under TSan
	@$(BIN)/cmake --preset $* $($*) $(launcher:%=-D%) >/dev/null && $(BIN)/cmake --build --preset $* --target stress_copies
	@ISTHMUS_DRIVER=emulated ISTHMUS_PROFILE=off build/$*/bin/stress_copies --seconds $(SECONDS)

fuzz: $(sanitized)/.fuzzers $(VENV)/.fuzz  ## every fuzzer for SECONDS=60; ARGS="profile trace" runs these only
	@$(BIN)/python tests/fuzz/run.py --seconds $(SECONDS) --executables $(sanitized)/bin --folder build/fuzz/runs $(ARGS)

style: $(VENV)/.isthmus $(VENV)/.test $(VENV)/.lint  ## ruff, mypy --strict, clang-format
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/typing
	git ls-files 'cpp/*.[ch]pp' 'cpp/*.h' 'bindings/*.[ch]pp' 'kernels/*' 'tests/gpu/*.cu' 'tests/fuzz/cpp/*' 'tests/installed/consumer/*' | grep -v CMakeLists | xargs $(BIN)/clang-format --dry-run --Werror

lint: style  ## style, and clang-tidy, which reads each file by itself
	@$(BIN)/cmake --preset lint >/dev/null
	git ls-files 'cpp/src/*.cpp' 'cpp/emulator/*.cpp' 'cpp/preload/*.cpp' 'bindings/*.cpp' | xargs -P $(cores) -n 4 $(BIN)/clang-tidy --quiet -p build/lint

format: $(VENV)/.lint  ## rewrite sources in the project's format
	$(BIN)/ruff check --fix-only -q . ; $(BIN)/ruff format .
	git ls-files --cached --others --exclude-standard 'cpp/*.[ch]pp' 'cpp/*.h' 'bindings/*.[ch]pp' 'kernels/*' 'tests/gpu/*.cu' 'tests/fuzz/cpp/*' 'tests/installed/consumer/*' | grep -v CMakeLists | xargs $(BIN)/clang-format -i

golden: $(VENV)/.isthmus $(VENV)/.test  ## rewrite the golden files: CLI help and output, JSON schema, type stub
	$(BIN)/python -m nanobind.stubgen -q -m isthmus._native -o python/isthmus/_native.pyi
	$(BIN)/python -m isthmus.measure.run.schema
	$(BIN)/python -m isthmus.decide.profile.schema
	$(BIN)/python -m isthmus.measure.doctor.schema
	$(BIN)/python -m isthmus.sim.schema
	$(BIN)/python -m isthmus.watching.schema
	$(BIN)/python -m pytest -q --regenerate-golden

sanitize: sanitize-asan sanitize-tsan  ## the C++ tests under ASan+UBSan, then under TSan

sanitize-asan sanitize-tsan: sanitize-%: $(VENV)/.tools $(VENV)/.test
	@$(BIN)/cmake --preset $* $($*) $(launcher:%=-D%) >/dev/null && $(BIN)/cmake --build --preset $*
	@$(BIN)/ctest --preset $* -j $(cores)

wheel: $(VENV)/.tools  ## wheels for CPython 3.11, and for 3.12 and later, in dist/, each tried in an empty environment; PYTHONS="python3.12" builds by these only
	@$(pip) $$($(packages_of) wheel)
	@$(BIN)/python cmake/build_wheels.py dist $(PYTHONS)
	@$(BIN)/python -m pytest -q tests/wheels

floors: $(VENV)/.isthmus  ## the tests of the commands and of copies, with the oldest versions of what the package depends on
	@$(BIN)/python cmake/floors.py build/floors

docs: $(VENV)/.docs  ## the documentation as a site with a search, in build/docs/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "file://$(abspath build/docs/index.html)"

clean:  ## everything that was built or installed here
	rm -rf $(VENV) build dist

# --- what the targets above stand on; each file is touched when its step is done -----------------------------

# GoogleTest's wheel is wanted for its sources alone, so that of any platform and Python will do: it has none for Arm.
$(VENV)/.tools: pyproject.toml cmake/build_requirements.py cmake/prerequisites.sh
	@cmake/prerequisites.sh "make $(firstword $(MAKECMDGOALS))" $(PYTHON)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(pip) --no-compile --no-deps --upgrade --target $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
	  --only-binary=:all: --platform manylinux_2_28_x86_64 --python-version 3.11 $$($(packages_of) googletest) & \
	  $(pip) --no-compile $$($(packages_of)); code=$$?; wait $$! && exit $$code
	@touch $@

# Its dependencies are installed while it is compiled: each pip keeps one core busy.
$(VENV)/.isthmus: $(VENV)/.tools $(native)
	@echo "Compiling Isthmus: some two minutes on two cores the first time."
	@$(pip) $$($(packages_of) dependencies $(extra)) & \
	  $(pip) --no-deps --no-build-isolation --no-compile \
	  --config-settings=build-dir=$(build) --config-settings='build.targets=$(installed)' \
	  --config-settings=cmake.define.ISTHMUS_BUILD_TESTS=ON $(launcher:%=--config-settings=cmake.define.%) -e .; code=$$?; wait $$! && exit $$code
	@touch $@

$(VENV)/.test: $(VENV)/.isthmus
	$(pip) --no-build-isolation --no-compile $$($(packages_of) test)
	@touch $@

$(VENV)/.fuzz: $(VENV)/.test
	$(pip) $$($(packages_of) fuzz)
	@touch $@

$(VENV)/.docs: $(VENV)/.tools
	$(pip) $$($(packages_of) docs)
	@touch $@

$(VENV)/.lint: $(VENV)/.tools
	$(pip) $$($(packages_of) lint)
	@touch $@

$(sanitized)/.fuzzers: $(VENV)/.tools $(native) $(tested)
	@tests/fuzz/compiler.sh >/dev/null
	@$(BIN)/cmake --preset asan $(asan) $(launcher:%=-D%) >/dev/null && $(BIN)/cmake --build --preset asan --target fuzzers
	@touch $@

# Of this file's targets for tests. Neither ninja nor a test looks for this make's jobserver, which isn't handed on.
ran-cpp: $(build)/$(programs)
	@MAKEFLAGS= $(ctest) $(said)

ran-python: $(VENV)/.test
	@MAKEFLAGS= $(pytest)

browser:
	@tests/browser/install.sh

# pip installs what the tests need while they are compiled.
$(build)/.compiled: $(VENV)/.isthmus $(tested)
	@MAKEFLAGS= $(BIN)/cmake --build $(build) $(said)
	@touch $@

# Then CMake looks again: NVRTC's wheel is there now.
$(build)/.tests: $(build)/.compiled $(VENV)/.test
	@$(BIN)/cmake $(build) >/dev/null
	@MAKEFLAGS= $(BIN)/cmake --build $(build) $(said)
	@touch $@

# What only long tests need.
$(build)/.long: $(build)/.tests
	@MAKEFLAGS= $(BIN)/cmake --build $(build) --target long_programs $(said)
	@touch $@
