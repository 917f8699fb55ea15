#!/usr/bin/env bash
# Fetches an Emacs with lsp-mode >= 10, which speaks inline completion; the last line on stdout is a program to run.
# Debian's unstable packages are unpacked, with the libraries they need, into a private cache. An Emacs on PATH is not
# used: it would have to have lsp-mode, of this version.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/draftline-emacs
tree=$cache/tree

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "install.sh: $*"
  exit 1
}

. "$(dirname "$0")/../neovim/debian.sh"

# The program: it finds its tree beside itself, and hands no library path on to what Emacs starts.
write_wrapper() {
  cat >"$1/emacs" <<'WRAPPER'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
for share in "$root"/usr/share/emacs/[0-9]*; do
  EMACSLOADPATH=$(find "$share/lisp" "$root"/usr/share/emacs/site-lisp/elpa-src/* -type d | tr '\n' ':')
  EMACSDATA=$share/etc EMACSDOC=$share/etc
  export EMACSLOADPATH EMACSDATA EMACSDOC
done
dump=$(find "$root/usr" -name 'emacs*.pdmp' | head -n 1)
for loader in "$root"/usr/lib/*-linux-gnu/ld-linux-*; do
  exec "$loader" --library-path "$(dirname "$loader")" "$root/usr/bin/emacs-nox" --dump-file="$dump" \
    --eval '(setq native-comp-enable-subr-trampolines nil native-comp-jit-compilation nil)' "$@"
done
echo "emacs: no dynamic loader in $root" >&2
exit 127
WRAPPER
  chmod +x "$1/emacs"
}

is_good() {
  "$1" -Q --batch --eval "(require 'lsp-inline-completion)" >/dev/null 2>&1 </dev/null
}

if is_good "$tree/emacs"; then
  printf '%s\n' "$tree/emacs"
  exit 0
fi
need_debian
mkdir -p "$cache"
exec 9>"$cache/lock"
flock -w 600 9 || fail "another installation has held $cache/lock for ten minutes"
if ! is_good "$tree/emacs"; then
  rm -rf "$cache"/unfinished.* # of an installation that was killed: we hold the lock
  unfinished=$(mktemp -d "$cache/unfinished.XXXXXX")
  trap 'rm -rf "$unfinished"' EXIT
  trap 'exit 130' INT TERM HUP
  say "fetching Emacs into $tree"
  unpack "$unfinished" emacs-nox elpa-lsp-mode
  write_wrapper "$unfinished"
  is_good "$unfinished/emacs" || fail "the packages do not run here, or have no inline completion"
  rm -rf "$tree"
  mv "$unfinished" "$tree" # in one step: a tree of this name is a whole one
fi
printf '%s\n' "$tree/emacs"
