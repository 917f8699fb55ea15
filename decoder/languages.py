"""LSP language identifiers by file name, for commands that have no editor to ask."""

from pathlib import PurePath

_BY_SUFFIX = {
    "bash": "shellscript", "c": "c", "cc": "cpp", "cjs": "javascript", "cpp": "cpp", "cs": "csharp", "css": "css",
    "cts": "typescript", "cxx": "cpp", "el": "elisp", "go": "go", "h": "c", "hh": "cpp", "hpp": "cpp", "htm": "html",
    "html": "html", "hxx": "cpp", "java": "java", "js": "javascript", "json": "json", "jsonc": "jsonc",
    "jsx": "javascriptreact", "kt": "kotlin", "kts": "kotlin", "lua": "lua", "markdown": "markdown", "md": "markdown",
    "mjs": "javascript", "mts": "typescript", "php": "php", "pl": "perl", "py": "python", "pyi": "python", "rb": "ruby",
    "rs": "rust", "scala": "scala", "scss": "scss", "sh": "shellscript", "sql": "sql", "swift": "swift", "toml": "toml",
    "ts": "typescript", "tsx": "typescriptreact", "vue": "vue", "xml": "xml", "yaml": "yaml", "yml": "yaml",
    "zig": "zig", "zsh": "shellscript",
}  # fmt: skip
_BY_NAME = {"Dockerfile": "dockerfile", "Makefile": "makefile", "CMakeLists.txt": "cmake"}


def language_of(path: PurePath) -> str:
    """The identifier, or `plaintext`.

    >>> language_of(PurePath("src/queue.ts"))
    'typescript'
    """
    return _BY_NAME.get(path.name) or _BY_SUFFIX.get(path.suffix[1:].lower(), "plaintext")
