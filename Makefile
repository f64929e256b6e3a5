# Entry points. The build itself is defined by CMakePresets.json, the CMake files and tools/.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
SECONDS ?= 60
MINUTES ?= 10
SEED ?= 1
BYTES ?= 1000000000
RANKS ?= 64
PLANS ?= 100
# The one that CMake builds the module for.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

SAMPLE := tests/data/h200/fake-tp8.kineto.json.gz

.DEFAULT_GOAL := build
.PHONY: help packages test-packages sanitizer-packages lint-packages build program benches demo models power-model framework-fits step-jitter collective-models overlap-model sibling-levels test bench bench-analyze bench-memory bench-kernels bench-network bench-collectives bench-simulate bench-search bench-view bench-python python wheel licences documents fuzz scoreboard attack asan tsan lint format \
  library install package-packages package clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-17s %s\n", $$1, $$2}' Makefile

packages:  ## install missing packages of packages.txt (Debian 12 and 13, Ubuntu 24.04)
	@tools/install_packages packages.txt
	@command -v npm >/dev/null || tools/install_packages packages-web.txt

test-packages: packages
	@tools/install_packages packages-test.txt packages-package.txt

build: build/build.ninja  ## build the program, build/orrery, and all tests (the default)
	cmake --build build -j $(JOBS)

program: build/build.ninja  ## build the program alone, build/orrery, without tests and benchmarks
	cmake --build build -j $(JOBS) --target orrery

python: build/build.ninja  ## build the Python package, build/python/orrery (PYTHONPATH=build/python)
	cmake --build build -j $(JOBS) --target python_package

wheel: python  ## make a wheel of the Python package with its libraries, in build/wheel
	$(PYTHON) tools/make_wheel.py --package build/python/orrery --out build/wheel

benches: program
	cmake --build build -j $(JOBS) --target benches

build/build.ninja: CMakePresets.json | packages
	cmake --preset release

demo: program  ## simulate Llama 3 70B on 512 H100s, then inspect a small recorded trace; output in build/demo
	tools/demo build/orrery $(SAMPLE) build/demo

models: program  ## refit all shipped kernel models from data/measured and ../shared/kernels (GPUS="H200 T4" for only these)
	tools/fit_models $(GPUS)

overlap-model: program  ## refit the shipped overlap model from data/measured
	build/orrery fit overlap data/measured/h200/overlap-1.csv.orrtable data/measured/h200/overlap-2.csv.orrtable \
	  --counters data/measured/h200/overlap-counters-1.csv.orrtable -o data/models/overlap.orrmodel || [ $$? -eq 3 ]

sibling-levels: program  ## refit scale factors for GPUs with few GEMM measurements, from ../shared/kernels
	build/orrery fit siblings ../shared/kernels/neusight/e2e_nodes.csv.gz --gpu MI100 --gpu MI210 \
	  -o data/models/sibling_levels.yaml || [ $$? -eq 3 ]
	cmake --build build -j $(JOBS) --target orrery

power-model: program  ## refit what boards draw from data/measured and ../shared/kernels
	build/orrery fit power data/measured/h200/power/*.csv.zst \
	  $(foreach gpu,h200 b200 gb200,../shared/kernels/aiconfigurator2/$(gpu)_gemm_power.csv.gz) \
	  -o data/hardware/power.yaml || [ $$? -eq 3 ]

step-jitter: program  ## refit how steps vary from ../shared/truth
	build/orrery fit jitter ../shared/truth/mlperf_steps.csv.gz -o data/workload/step_jitter.yaml

framework-fits: program  ## refit the scalars of all frameworks from ../shared/truth
	build/orrery fit frameworks ../shared/truth/training.csv -o data/workload/framework_fits.yaml

collective-models: program  ## refit the shipped collective constants from ../shared
	build/orrery fit collectives ../shared/truth/nccl.csv ../shared/truth/nccl_multi.csv ../shared/kernels/aiconfigurator/*_nccl.csv.gz \
	  -o data/models/collectives.yaml || [ $$? -eq 3 ]
	cmake --build build -j $(JOBS) --target orrery

test: build test-packages  ## build, then run all tests
	ctest --test-dir build --output-on-failure -j2

bench: benches  ## speed and memory of trace reading, compared with Python (BYTES=1000000000, LARGE=1 for > 4 GB)
	python3 bench/ingest.py --build build --bytes $(BYTES) $(if $(LARGE),--large)

bench-analyze: benches  ## speed and memory of all metrics (RANKS=64, HTA=checkout to compare with)
	python3 bench/analyze.py --build build --ranks $(RANKS) $(if $(HTA),--hta $(HTA))

bench-memory: benches  ## speed and memory of the memory tools on a generated stream
	python3 bench/memory.py --build build

bench-kernels: benches  ## speed of operator prediction: a million distinct operators, one repeated
	python3 bench/modules.py kernels --build build

bench-network: benches  ## speed of the network flow simulation, compared with SimGrid
	python3 bench/modules.py network --build build

bench-collectives: benches  ## speed of collective prediction: closed form, flows over 1,024 GPUs
	python3 bench/modules.py collectives --build build

bench-simulate: benches  ## speed of job simulation: 8,192 and 131,072 GPUs, 1,024 ranks without folding
	python3 bench/simulate.py --build build --write docs/validation/simulate-speed.md

bench-search: program  ## speed of plan search: usual space, simulated plans, GPT-530B (CALCULON=checkout to compare with)
	python3 bench/search.py --build build --write docs/validation/search-speed.md $(if $(CALCULON),--calculon $(CALCULON))

bench-view: program  ## speed of the page of orrery view in Chromium: 10 million events, 10,000 ranks (RUN=file.orr to keep the generated run)
	python3 bench/view.py --build build --write docs/validation/view-speed.md $(if $(RUN),--run $(RUN))

bench-python: program python  ## speed of the Python module: reading, columns, simulated plans (PLANS=100, HTA=checkout to compare with)
	$(PYTHON) bench/python.py --build build --plans $(PLANS) --write docs/validation/python-speed.md $(if $(HTA),--hta $(HTA))

scoreboard: program  ## every published run beside baselines: docs/validation/scoreboard.html and .md, with models on one GPU, memory and operators (8 minutes)
	python3 tools/scoreboard.py --program build/orrery --out docs/validation

documents: program  ## regenerate all stale documents (tools/refresh_outputs.py --help); hours
	python3 tools/refresh_outputs.py --program build/orrery --update --times

licences:  ## list what is linked, compiled in, embedded or used to build: name, version, licence
	@python3 tools/list_licences.py

fuzz: build-asan/build.ninja  ## run each fuzzer for SECONDS=60
	cmake --build build-asan -j $(JOBS) --target fuzzers
	python3 tools/run_fuzzers.py --build build-asan --seconds $(SECONDS)

sanitizer-packages: packages
	@tools/install_packages packages-sanitizers.txt

attack: program  ## attack the program from outside for MINUTES=10: damaged files, hostile jobs and options, full disks, signals (SEED=1)
	python3 tools/attack.py --minutes $(MINUTES) --seed $(SEED)

asan: build-asan/build.ninja  ## all tests under the address and undefined-behaviour sanitizers
	cmake --build build-asan -j $(JOBS)
	ctest --test-dir build-asan --output-on-failure -j2

build-asan/build.ninja: CMakePresets.json | sanitizer-packages
	cmake --preset asan

tsan: build-tsan/build.ninja  ## all tests under the thread sanitizer
	cmake --build build-tsan -j $(JOBS)
	TSAN_OPTIONS=suppressions=$(CURDIR)/tests/tsan_suppressions.txt ctest --test-dir build-tsan --output-on-failure -j2

build-tsan/build.ninja: CMakePresets.json | sanitizer-packages
	cmake --preset tsan

lint-packages: packages
	@tools/install_packages packages-lint.txt

build-lint/build.ninja: CMakePresets.json | packages
	cmake --preset lint

lint: build-lint/build.ninja lint-packages  ## format, clang-tidy, layers, words, self-contained headers (FILES=regex limits clang-tidy)
	tools/lint build-lint $(JOBS) $(FILES)

format: lint-packages  ## rewrite all C++ sources in the project format
	git ls-files '*.h' '*.cc' | xargs clang-format-19 -i

library: build/build.ninja  ## build the C++ library, shared and static, in build/library
	cmake --build build -j $(JOBS) --target library

install: program library  ## install program, library, headers, manual pages, completions and documentation under PREFIX=/usr/local
	cmake --install build --prefix $(PREFIX)

package-packages: packages
	@tools/install_packages packages-package.txt

package: program library package-packages  ## make build/package/orrery_*.deb and orrery-*.tar.gz
	cd build && cpack

clean:  ## remove all build directories
	rm -rf build build-asan build-lint build-tsan
