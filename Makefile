# make            set up, write and compile the kernels, run the digits example
# make quick      in a minute, without compilers: formulas, analyses, passes, the reference, graphs
# make test       all tests but the slow ones;  make test-all  those too
# make clients    tests with PyTorch, JAX and Dask, in an environment of their own of 1.8 GB or more
# make orders     all tests of conformance of CUDA text on the CPU, in reverse and random order
# make golden     write the C of the tests' models anew, where it is meant to change
# make fuzz       invented formulas, schedules and files, 50 times as many as in tests (FUZZ=50)
# make sanitize   CUDA kernels on the CPU under sanitizers and the race detector
# make emulated   kernels and models of the C target on other processors, under emulation
# make mutants    faults put into formulas, kernels and text: what engines and tests make of them;
#                 docs/mutants.md says which engine found each
# make check      everything about the text: lint, format, types, layers, generated/ and the list of operators
# make format     mend what can be;  make readme  list the operators in docs/operators.md
# make docs       a site of docs/, formulas and headers, in site/; it asks nothing of elsewhere
# make bench      measure, beside the libraries that are there;  make bench-peers  install them
# make bench-check  what got slower than the baseline;  make bench-baseline  measure a new one
# make bench-readme  its table and picture;  make clean  remove what tools left behind
# make onnx-samples  ask ONNX Runtime anew for what tests compare models with
# make tflite-samples  ask interpreters of TensorFlow Lite anew for what tests compare models with
# make tflite-differences  where its kernels for other machines give other integers
# make tosa-conformance  what Arm's generator of tests and reference model say of the opset tosa
# make peers-conformance  other models of each operator by the runtimes of TensorFlow Lite and ONNX, and
#                 all of ONNX's own tests of nodes; PEERS_SEED=n draws others
# make gpu-test   all tests of conformance on a GPU;  make gpu-sanitize  under compute-sanitizer
# make gpu-bench  measure on a GPU
# make gpu-first  all that a GPU can tell, in under 10 minutes, without a network or a set-up;
#                 make gpu-wheels  before, where there is a network: what such a machine may lack
# make wheels     packages to install, for Linux with all operators compiled

VENV ?= .venv
PYTHON ?= python3
# What the tests of a file share is made once, in the process that runs them.
PYTEST_FLAGS ?= --numprocesses=auto --maxprocesses=8 --dist=loadfile --no-loadscope-reorder
BENCH_FLAGS ?=
FUZZ ?= 50
FUZZ_SEED ?= $(shell date +%s)
PEERS ?=
CLIENTS ?= build/clients
GPU_FLAGS ?=
TOSA_TOOLS ?= build/tosa-tools
TFLITE_TOOLS ?= build/tflite-tools
ONNX_TOOLS ?= build/onnx-tools
TOSA_OPERATORS ?=
PEERS_SEED ?= $(shell date +%s)
PEERS_MODELS ?= 8
GPU_PYTHON ?= 3.12

BIN := $(VENV)/bin
# A process that compiles all modules for itself begins twice as late, and tests begin hundreds.
unexport PYTHONDONTWRITEBYTECODE

# A stamp for each set of packages, named by content and place, so that neither a checkout's new
# time stamps nor a second run reinstalls anything, and a moved checkout does.
KEY := $(shell { cat pyproject.toml; pwd; } | cksum | cut -d ' ' -f 1)
CORE := $(VENV)/.installed-core-$(KEY)
TEST := $(VENV)/.installed-test,cuda,examples,verify-$(KEY)
CHECK := $(VENV)/.installed-check-$(KEY)
CUDA := $(VENV)/.installed-cuda-$(KEY)
EMULATION := $(VENV)/.installed-emulation-$(KEY)
DOCS := $(VENV)/.installed-docs-$(KEY)
WHEELS := $(VENV)/.installed-zig-$(KEY)

.PHONY: demo build quick test test-all clients golden fuzz orders sanitize emulated mutants check format readme docs bench bench-peers bench-check bench-baseline bench-readme onnx-samples tflite-differences tflite-samples tosa-conformance peers-conformance gpu-test gpu-sanitize gpu-bench gpu-first gpu-wheels wheels clean

demo: build
	@$(BIN)/python examples/digits/demo.py

build: $(CORE)
	@$(BIN)/cvmgen build

$(VENV)/.installed-%-$(KEY):
	@$(PYTHON) tools/install.py $(VENV) $*
	@rm -f $(VENV)/.installed-$*-*
	@touch $@

$(TEST) $(CHECK) $(CUDA) $(EMULATION) $(WHEELS) $(DOCS): | $(CORE)

quick: $(TEST)
	@CVMGEN_TEST_TARGETS=python,numpy $(BIN)/python -m pytest $(PYTEST_FLAGS) tests/spec tests/ir \
	  tests/analysis tests/typing tests/known tests/lower tests/inside tests/reference tests/graph \
	  --ignore tests/graph/test_resnet.py --ignore tests/graph/test_sent.py

test: $(TEST)
	@$(BIN)/python -m pytest $(PYTEST_FLAGS)

test-all: $(TEST)
	@$(BIN)/python -m pytest $(PYTEST_FLAGS) -m ''

# In an environment of its own. PEERS=torch==2.13.0+cpu chooses a smaller release of one of them.
clients: build
	@test -f $(CLIENTS)/.installed || $(PYTHON) tools/install.py $(CLIENTS) $(PEERS) test,torch,jax,dask,cuda
	@touch $(CLIENTS)/.installed
	@$(CLIENTS)/bin/python -m pytest -q tests/api/test_torch.py tests/api/test_jax.py tests/cli/test_many.py

orders: $(TEST)
	@for order in reverse 1 2; do \
	  CVMGEN_TEST_TARGETS=c,cuda-cpu CVMGEN_TEST_ORDER=$$order \
	    $(BIN)/python -m pytest $(PYTEST_FLAGS) tests/conformance tests/opsets || exit 1; \
	done

golden: $(TEST)
	@$(BIN)/python -m tests.model.golden

fuzz: $(TEST)
	@echo "again with: make fuzz FUZZ=$(FUZZ) FUZZ_SEED=$(FUZZ_SEED)"
	@CVMGEN_FUZZ=$(FUZZ) CVMGEN_FUZZ_SEED=$(FUZZ_SEED) $(BIN)/python -m pytest $(PYTEST_FLAGS) tests/fuzz

sanitize: $(TEST)
	@$(BIN)/python -m pytest $(PYTEST_FLAGS) -m '' tests/emit/test_cuda_races.py tests/emit/test_cuda_sanitized.py

# Large, so it comes only when asked for.
emulated: $(TEST) $(EMULATION)
	@$(BIN)/python -m pytest -q -m '' tests/conformance/test_emulated.py tests/emit/test_tile.py tests/model/test_models.py -k 'answers or arm or another'

mutants: $(TEST)
	@$(BIN)/python -m tests.verification.mutants
	@$(BIN)/python -m pytest $(PYTEST_FLAGS) -q -m slow tests/emit/test_cuda_mutants.py tests/verification/values/test_actions.py

check: $(CHECK)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/cvmgen format --check
	@$(BIN)/cvmgen build --check
	@$(BIN)/cvmgen list --into docs/operators.md --check

format: $(CHECK)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/cvmgen format

readme: build
	@$(BIN)/cvmgen list --into docs/operators.md

docs: $(DOCS)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

# BENCH_FLAGS='--only conv2d --quick' measures less.
bench: build
	@$(BIN)/python -m benchmarks $(BENCH_FLAGS)

bench-check: build
	@$(BIN)/python -m benchmarks --check $(BENCH_FLAGS)

bench-baseline: build
	@$(BIN)/python -m benchmarks --json benchmarks/baseline.json $(BENCH_FLAGS)

bench-readme: $(CORE)
	@$(BIN)/python -m benchmarks --readme

# Large, so it comes only when asked for. PEERS=torch==2.13.0+cpu chooses a release of one of them.
bench-peers: $(CORE)
	@$(PYTHON) tools/install.py $(VENV) bench $(PEERS)

# In an environment of its own.
tflite-samples:
	@test -d $(TFLITE_TOOLS) || $(PYTHON) -m venv $(TFLITE_TOOLS)
	@$(TFLITE_TOOLS)/bin/pip install --quiet ai-edge-litert flatbuffers tflite-micro
	@$(TFLITE_TOOLS)/bin/python tools/tflite_samples
	@$(TFLITE_TOOLS)/bin/python tools/tflite_samples roundings

tflite-differences:
	@test -d $(TFLITE_TOOLS) || $(PYTHON) -m venv $(TFLITE_TOOLS)
	@$(TFLITE_TOOLS)/bin/pip install --quiet ai-edge-litert flatbuffers tflite-micro
	@$(TFLITE_TOOLS)/bin/python tools/tflite_samples differences

# In an environment of its own.
onnx-samples:
	@test -d $(ONNX_TOOLS) || $(PYTHON) -m venv $(ONNX_TOOLS)
	@$(ONNX_TOOLS)/bin/pip install --quiet onnx onnxruntime
	@$(ONNX_TOOLS)/bin/python tools/onnx_samples.py tests/graph/onnx_samples.npz

# In an environment of its own, for hours if TOSA_OPERATORS does not name some.
tosa-conformance: $(TEST)
	@test -d $(TOSA_TOOLS) || $(PYTHON) -m venv $(TOSA_TOOLS)
	@$(TOSA_TOOLS)/bin/pip install --quiet tosa-tools
	@$(BIN)/python tools/tosa_conformance.py $(TOSA_TOOLS) build/tosa-conformance $(TOSA_OPERATORS)

# In environments of their own.
peers-conformance: $(TEST)
	@for tools in $(TFLITE_TOOLS) $(ONNX_TOOLS); do \
	    test -d $$tools || $(PYTHON) -m venv $$tools || exit 1; \
	done
	@$(TFLITE_TOOLS)/bin/pip install --quiet ai-edge-litert flatbuffers tflite-micro
	@$(ONNX_TOOLS)/bin/pip install --quiet onnx onnxruntime
	@mkdir -p build/peers && echo "PEERS_SEED=$(PEERS_SEED)"
	@$(TFLITE_TOOLS)/bin/python tools/tflite_samples build/peers/tflite.npz $(PEERS_SEED) $(PEERS_MODELS)
	@$(ONNX_TOOLS)/bin/python tools/onnx_samples.py build/peers/onnx.npz $(PEERS_SEED)
	@$(BIN)/python tools/peers_conformance.py build/peers

# Without a GPU it says so and is content.
gpu-test: $(TEST)
	@CVMGEN_TEST_TARGETS=c,cuda $(BIN)/python -m pytest tests/conformance tests/opsets tests/api/test_gpu.py

gpu-sanitize: $(TEST)
	@command -v compute-sanitizer >/dev/null || { echo "nothing was tested: no compute-sanitizer on PATH"; exit 0; }
	@for tool in memcheck racecheck; do \
	  compute-sanitizer --tool $$tool --error-exitcode 1 $(BIN)/python -m pytest tests/api/test_gpu.py -k random || exit 1; \
	done

gpu-bench: $(CUDA)
	@$(BIN)/python -m benchmarks.gpu

# Of a bare machine nothing is asked but Python and numpy.
gpu-first:
	@$(PYTHON) benchmarks/gpu_first.py $(GPU_FLAGS)

# GPU_PYTHON is the Python of the machine with the GPU.
gpu-wheels: build
	@$(BIN)/python -m benchmarks.gpu_wheels --python $(GPU_PYTHON)

# A library in each for Linux, so that neither a compiler nor a wait is needed where it is installed.
wheels: $(WHEELS)
	@$(BIN)/python tools/wheels.py dist

clean:
	@rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist site
	@find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
