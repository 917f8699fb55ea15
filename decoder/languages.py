"""LSP language identifiers by file name, for commands that have no editor to ask."""

from pathlib import PurePath

_BY_SUFFIX = {
    "bash": "shellscript", "c": "c", "cc": "cpp", "cpp": "cpp", "cs": "csharp", "css": "css", "cxx": "cpp",
    "el": "elisp", "go": "go", "h": "c", "hpp": "cpp", "html": "html", "java": "java", "js": "javascript",
    "json": "json", "jsx": "javascriptreact", "kt": "kotlin", "lua": "lua", "md": "markdown", "mjs": "javascript",
    "php": "php", "pl": "perl", "py": "python", "pyi": "python", "rb": "ruby", "rs": "rust", "scala": "scala",
    "scss": "scss", "sh": "shellscript", "sql": "sql", "swift": "swift", "toml": "toml", "ts": "typescript",
    "tsx": "typescriptreact", "vue": "vue", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zig": "zig",
}  # fmt: skip
_BY_NAME = {"Dockerfile": "dockerfile", "Makefile": "makefile", "CMakeLists.txt": "cmake"}


def language_of(path: PurePath) -> str:
    """The identifier, or `plaintext`.

    >>> language_of(PurePath("src/queue.ts"))
    'typescript'
    """
    return _BY_NAME.get(path.name) or _BY_SUFFIX.get(path.suffix[1:].lower(), "plaintext")
