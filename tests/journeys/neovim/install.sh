#!/usr/bin/env bash
# Finds or fetches a Neovim that speaks inline completion (>= 0.12); the last line on stdout is a program to run.
# A good `nvim` on PATH is taken as it is. Otherwise Debian's unstable package is unpacked, with the libraries it
# needs, into a private cache: nothing is installed into the system, and no root is needed.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/draftline-nvim
tree=$cache/tree
wanted=0.12

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "install.sh: $*; install Neovim >= $wanted yourself and put it on PATH"
  exit 1
}

. "$(dirname "$0")/debian.sh"

# True where program $1 runs and is new enough.
is_good() {
  local version
  version=$("$1" --version 2>/dev/null </dev/null | sed -n '1s/^NVIM v\([0-9][0-9.]*\).*/\1/p') || return 1
  [ -n "$version" ] && [ "$(printf '%s\n' "$wanted" "$version" | sort -V | head -n 1)" = "$wanted" ]
}

# The program: it finds its tree beside itself, and hands no library path on to what Neovim starts.
write_wrapper() {
  cat >"$1/nvim" <<'WRAPPER'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
for loader in "$root"/usr/lib/*-linux-gnu/ld-linux-*; do
  VIM=$root/usr/share/nvim VIMRUNTIME=$root/usr/share/nvim/runtime
  export VIM VIMRUNTIME
  exec "$loader" --library-path "$(dirname "$loader")" --argv0 nvim "$root/usr/bin/nvim" "$@"
done
echo "nvim: no dynamic loader in $root" >&2
exit 127
WRAPPER
  chmod +x "$1/nvim"
}

for candidate in "$(command -v nvim || true)" "$tree/nvim"; do
  if [ -x "$candidate" ] && is_good "$candidate"; then
    printf '%s\n' "$candidate"
    exit 0
  fi
done

need_debian

mkdir -p "$cache"
exec 9>"$cache/lock"
flock -w 600 9 || fail "another installation has held $cache/lock for ten minutes"
if ! is_good "$tree/nvim"; then
  rm -rf "$cache"/unfinished.* # of an installation that was killed: we hold the lock
  unfinished=$(mktemp -d "$cache/unfinished.XXXXXX")
  trap 'rm -rf "$unfinished"' EXIT
  trap 'exit 130' INT TERM HUP
  say "fetching Neovim into $tree"
  unpack "$unfinished" neovim
  write_wrapper "$unfinished"
  is_good "$unfinished/nvim" || fail "the package does not run here, or is older than $wanted"
  rm -rf "$tree"
  mv "$unfinished" "$tree" # in one step: a tree of this name is a whole one
fi
printf '%s\n' "$tree/nvim"
