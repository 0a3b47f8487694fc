# shellcheck shell=bash disable=SC2154
# Roots of other Debian suites, for checks and comparisons; sourced after tools/setup.sh, not run. They lie in
# /var/cache/vkformer, so that fresh checkouts find them, and need root: debootstrap, mount and chroot.
# The caller sets `logs`, the folder for logs.

# use_root NAME: what follows is about the root of that name. Says what is missing and fails where there can be none.
use_root() {
  root_home=/var/cache/vkformer/$1
  root=$root_home/root
  [[ $EUID == 0 ]] || fail "${0##*/}: needs root for debootstrap, mount and chroot; run it with sudo"
  unshare --mount true 2>/dev/null || fail "${0##*/}: needs the right to mount (CAP_SYS_ADMIN)"
}

# Runs a command in the root, in this checkout, which is always at the same place there, so that ccache finds what
# another checkout compiled. The mounts are in a namespace of their own: they end with the command, however it ends.
in_root() {
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    mkdir -p "$1/vkformer"
    mount --bind "$2" "$1/vkformer"
    mount --rbind /dev "$1/dev"
    mount -t proc proc "$1/proc"
    exec chroot "$1" env -i -C /vkformer PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive CCACHE_DIR=/var/cache/ccache CCACHE_SLOPPINESS=pch_defines,time_macros "${@:3}"' \
    in_root "$root" "$project" "$@"
}

# The server of this machine's own Debian packages.
mirror() {
  [[ $(system_id) == debian:* ]] || return 0
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(RELEASE) $(REPO_URI)' "Created-By: Packages" |
    sed -n "s/^$(. /etc/os-release && echo "$VERSION_CODENAME") //p" | head -n 1
}

# A server's copy may be older than its Release file says it is valid; nothing here needs the newest.
fill_root() {
  local server=$1 suite=$2 newer
  local -a lists suites
  mapfile -t lists < <(tr ';' '\n' <<<"$3" | sed '/^ *$/d')
  mapfile -t suites < <(tr ';' '\n' <<<"$3" | awk 'NF { print $1 }')
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$server" &&
    printf "deb $server %s main\n" "$suite" "${suites[@]}" >"$root/etc/apt/sources.list" &&
    echo 'Acquire::Check-Valid-Until "false"; Acquire::Retries "3"; APT::Install-Recommends "false";' \
      >"$root/etc/apt/apt.conf.d/vkformer" &&
    # Nothing comes from a newer suite but what is asked of it, and what that needs.
    printf 'Package: *\nPin: release n=%s\nPin-Priority: 900\n' "$suite" >"$root/etc/apt/preferences.d/vkformer" &&
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/vkformer" &&
    in_root apt-get update &&
    in_root apt-get -y install "${@:4}" || return
  for newer in "${lists[@]}"; do
    # shellcheck disable=SC2086
    in_root apt-get -y install --target-release $newer || return
  done
  in_root apt-get clean
}

# make_root SUITE NEWER PACKAGE...: unless it is there already. NEWER: packages taken from other suites,
# "SUITE PACKAGE...; SUITE PACKAGE...", or "".
make_root() {
  local server lock
  mkdir -p "$root_home"
  exec {lock}>"$root_home.lock"
  flock "$lock"  # others wait until it is made
  # Written last: it says that the root is complete, and with what.
  if [[ $(cat "$root_home/packages" 2>/dev/null) == "$*" ]]; then
    exec {lock}>&-
    return
  fi
  echo "set-up: making a root of Debian's $1 in $root"
  server=$(mirror)
  [[ -n $server ]] || fail "${0##*/}: this machine's apt sources name no mirror of Debian"
  if ! command -v debootstrap >/dev/null; then
    apt_get update
    apt_get install --no-install-recommends debootstrap
  fi
  rm -rf "$root_home"
  mkdir -p "$root_home"
  fill_root "$server" "$@" >"$logs/root.log" 2>&1 || {
    tail -n 5 "$logs/root.log" >&2
    fail "${0##*/}: can't make the root (all output: $logs/root.log)"
  }
  echo "$*" >"$root_home/packages"
  exec {lock}>&-
}

# The root that checks share: what a build needs, Mesa of the backports with its stand-ins for GPUs' kernel drivers, and
# of testing the compiler of shaders: matrices of bf16 need 15.3.
make_debian13() {
  local packages
  use_root debian13
  mapfile -t packages < <(printf '%s\n' ccache pybind11-dev python3-dev python3-numpy && wanted_packages debian:13 build | cut -d ' ' -f 1 | grep -v mesa)
  make_root trixie "trixie-backports mesa-vulkan-drivers mesa-drm-shim; testing glslang-tools spirv-tools" "${packages[@]}"
}

# build_debian13 [TARGET]: in build/debian13, default all. Nothing is left out.
build_debian13() {
  in_root c++ --version
  in_root cmake --preset release -B build/debian13 -DVKFORMER_UNITY_BUILD=ON -DCMAKE_CXX_COMPILER_LAUNCHER=ccache |
    tee "$logs/configure.txt"
  if grep 'not built' "$logs/configure.txt"; then return 1; fi
  in_root cmake --build build/debian13 --parallel "$(nproc)" ${1:+--target "$1"}
}
