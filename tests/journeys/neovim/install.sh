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

# True where program $1 runs and is new enough.
is_good() {
  local version
  version=$("$1" --version 2>/dev/null </dev/null | sed -n '1s/^NVIM v\([0-9][0-9.]*\).*/\1/p') || return 1
  [ -n "$version" ] && [ "$(printf '%s\n' "$wanted" "$version" | sort -V | head -n 1)" = "$wanted" ]
}

# The mirror that this machine's own apt uses for Debian itself (not for its security updates or for others).
debian_mirror() {
  local files=()
  for file in /etc/apt/sources.list.d/*.sources /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -r "$file" ] && files+=("$file")
  done
  [ ${#files[@]} -gt 0 ] || return 0
  sed -nE -e 's/^URIs:[[:space:]]*([^[:space:]]+).*/\1/p' -e 's/^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+).*/\2/p' \
    "${files[@]}" | sed -nE 's|/?$||; /\/debian$/{p;q;}'
}

# Unpacks the package and all that it needs, its C library included, into $1/root.
unpack() {
  local apt=$1/apt mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  mirror=$(debian_mirror)
  [ -n "$mirror" ] || fail "apt's configuration names no Debian mirror"
  [ -r "$keyring" ] || fail "$keyring is missing"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$1/root"
  : >"$apt/status" # an empty list of installed packages: every library comes along
  printf 'deb [signed-by=%s] %s sid main\n' "$keyring" "$mirror" >"$apt/sources.list"
  local options=(
    -qq -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
    -o Dir::State::Lists="$apt/lists" -o Dir::State::Status="$apt/status" -o Dir::Cache="$apt/cache"
    -o APT::Install-Recommends=false -o APT::Sandbox::User="$(id -un)"
    -o Acquire::Languages=none -o Acquire::Retries=3
  )
  apt-get "${options[@]}" update </dev/null >&2 || fail "apt-get cannot read the package lists of $mirror"
  apt-get "${options[@]}" -y --download-only install neovim </dev/null >&2 || fail "apt-get cannot download Neovim from $mirror"
  for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb --extract "$package" "$1/root"
  done
  rm -rf "$apt"
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

if ! grep -qs '^ID=debian$' /etc/os-release || [ -z "$(command -v apt-get)" ]; then
  fail "only Debian's package can be fetched here, and this is another system"
fi

mkdir -p "$cache"
exec 9>"$cache/lock"
flock -w 600 9 || fail "another installation has held $cache/lock for ten minutes"
if ! is_good "$tree/nvim"; then
  rm -rf "$cache"/unfinished.* # of an installation that was killed: we hold the lock
  unfinished=$(mktemp -d "$cache/unfinished.XXXXXX")
  trap 'rm -rf "$unfinished"' EXIT
  trap 'exit 130' INT TERM HUP
  say "fetching Neovim into $tree"
  unpack "$unfinished"
  write_wrapper "$unfinished"
  is_good "$unfinished/nvim" || fail "the package does not run here, or is older than $wanted"
  rm -rf "$tree"
  mv "$unfinished" "$tree" # in one step: a tree of this name is a whole one
fi
printf '%s\n' "$tree/nvim"
