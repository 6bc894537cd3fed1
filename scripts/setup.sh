# Sourced by demo.sh and test.sh: installs the Debian packages that are missing,
# configures and builds. A second run takes seconds.
# shellcheck shell=bash

kimi_source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kimi_build=${KIMI_BUILD_DIR:-$kimi_source/build}

# LLVM and MLIR, the compiler that builds against them, and JSON for the tools
# that must not link LLVM.
kimi_packages=(
  cmake ninja-build ccache python3
  clang-22 lld-22 llvm-22 llvm-22-dev llvm-22-tools
  libmlir-22-dev mlir-22-tools liblld-22-dev libzstd-dev zlib1g-dev
  nlohmann-json3-dev
)

kimi_install_packages() {
  local package missing=()
  for package in "${kimi_packages[@]}" "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null |
      grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "error: these packages are missing, and there is no sudo to install them with: ${missing[*]}" >&2
      return 1
    }
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

kimi_build_project() {
  if [ ! -f "$kimi_build/build.ninja" ]; then
    echo "Configuring in $kimi_build"
    cmake -S "$kimi_source" --preset "${KIMI_PRESET:-release}" -B "$kimi_build" >"$kimi_build.log" 2>&1 || {
      cat "$kimi_build.log" >&2
      rm -f "$kimi_build.log"
      return 1
    }
    rm -f "$kimi_build.log"
  fi
  echo "Building"
  ninja -C "$kimi_build" --quiet
}
