# draftline: set-up, demo, tests. `make setup` works from nothing and is quick when nothing is to do.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH_INDEX ?=
STAMP := $(VENV)/.stamp

.PHONY: setup demo test test-editors test-vscode vscode test-engines test-sequences vllm lint types bench peers gpu-check clean
.DELETE_ON_ERROR:

setup: $(STAMP)

# torch first and alone, pinned by constraints.txt; the rest can then not replace it.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("draftline needs Python 3.11 or newer: make setup PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch
	$(BIN)/python -m pip install --quiet -c constraints.txt --group dev -e ".[openvino]"
	@touch $(STAMP)

demo: setup
	$(BIN)/draftline models pull smollm2-135m
	$(BIN)/python -m benchmarks.demo

test: setup
	$(BIN)/draftline models pull smollm2-135m
	$(BIN)/python -m pytest -m "not editor and not vscode and not engines"

test-editors: setup
	$(BIN)/draftline models pull smollm2-135m
	$(BIN)/python -m pytest -m editor

# VS Code itself, as code-server in Chromium; installed privately, needs npm.
test-vscode: setup
	$(BIN)/draftline models pull smollm2-135m
	$(BIN)/python -m pytest -m vscode

vscode:
	cd editors/vscode && npm ci && npm test && npm run package

# Servers of others behind the remote engine: llama-server (`make peers`) and vLLM (`make vllm`), those that are there.
test-engines: setup
	$(BIN)/draftline models pull smollm2-135m
	$(BIN)/python -m pytest -m engines -s -rs

vllm: setup
	$(BIN)/python -m tests.engines_real.install_vllm

# 100,000 random edits, positions and encodings: 20 minutes.
test-sequences: setup
	DRAFTLINE_SEQUENCES=100000 $(BIN)/python -m pytest -q tests/lsp_server/test_sequences.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

# Other engines to compare with; llama.cpp is built from source, which takes 10 to 60 minutes, once.
peers: setup
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[openvino,peers]"
	$(BIN)/python -m decoder.bench.peers.llama_cpp_build

TASKS ?= ../shared/tasks/dev
bench: setup
	$(BIN)/draftline models pull smollm2-135m
	$(BIN)/draftline bench $(TASKS) --modes plain,undrafted,lookup

# Needs no set-up: torch, transformers and numpy of PYTHON alone. Takes minutes; TINY=1 shows on a CPU that it runs.
gpu-check:
	$(PYTHON) -m benchmarks.gpu_check $(if $(TINY),--tiny)

clean:
	rm -rf $(VENV)
