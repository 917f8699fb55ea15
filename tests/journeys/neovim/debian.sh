# Packages of Debian's unstable distribution, unpacked into a private folder: nothing is installed into the system, and no
# root is needed. For scripts that define `fail`, which says what is wrong and ends.

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

# Unpacks packages ($2 and on) and all that they need, the C library included, into $1/root.
unpack() {
  local into=$1 apt=$1/apt mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  mirror=$(debian_mirror)
  [ -n "$mirror" ] || fail "apt's configuration names no Debian mirror"
  [ -r "$keyring" ] || fail "$keyring is missing"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$into/root"
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
  apt-get "${options[@]}" -y --download-only install "${@:2}" </dev/null >&2 || fail "apt-get cannot download ${*:2} from $mirror"
  for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb --extract "$package" "$into/root"
  done
  rm -rf "$apt"
}

# Packages can be fetched here, or it fails.
need_debian() {
  if ! grep -qs '^ID=debian$' /etc/os-release || [ -z "$(command -v apt-get)" ]; then
    fail "only Debian's packages can be fetched here, and this is another system"
  fi
}
