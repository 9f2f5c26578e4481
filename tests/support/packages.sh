# SPDX-FileCopyrightText: 2026 The Triax authors
# SPDX-License-Identifier: Apache-2.0

# To be sourced by scripts: the Debian packages that the project needs, and how they get installed.

build_packages=(g++ cmake ninja-build libdnnl-dev libopenblas-dev libopenmpi-dev openmpi-bin)
test_packages=("${build_packages[@]}" doctest-dev python3)
full_packages=("${test_packages[@]}" clang-16 clang-format-16 libbenchmark-dev)

# install_missing PACKAGE...: installs those of the packages that are not installed yet.
install_missing() {
  local package missing=() as_root=()
  if ! command -v apt-get >/dev/null; then
    echo "This is not Debian, so nothing is installed here. The programs behind these packages are needed: $*"
    return 0
  fi
  for package in "$@"; do
    dpkg-query --show --showformat '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "These packages are missing: ${missing[*]}. Install them as root, then try again." >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
