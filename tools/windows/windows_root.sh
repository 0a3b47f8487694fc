# shellcheck shell=bash disable=SC2154
# A Debian 13 with MinGW-w64, Wine, lavapipe and vkformer's libraries for Windows; sourced after tools/debian_root.sh, not
# run. The caller sets `logs`, the folder for logs.

make_windows() {
  local libraries lock
  use_root windows
  make_root trixie "trixie-backports mesa-vulkan-drivers; testing glslang-tools" ccache cmake ninja-build make dpkg-dev \
    g++-mingw-w64-ucrt64 libz-mingw-w64-dev libvulkan-dev libcli11-dev nlohmann-json3-dev wine64 curl python3
  exec {lock}>"$root_home.lock"
  flock "$lock"  # others wait until they are built
  libraries=$(cat tools/windows/libraries.sh tools/windows/icu/CMakeLists.txt cmake/windows/toolchain.cmake | sha256sum)
  if [[ $(cat "$root_home/libraries" 2>/dev/null) != "$libraries" ]]; then
    echo "set-up: building the libraries for Windows from Debian's sources"
    in_root tools/windows/libraries.sh >"$logs/libraries.log" 2>&1 || {
      grep -m 5 -E '(error|Error|E):' "$logs/libraries.log" >&2 || tail -n 5 "$logs/libraries.log" >&2
      fail "${0##*/}: can't build the libraries (all output: $logs/libraries.log)"
    }
    echo "$libraries" >"$root_home/libraries"
  fi
  exec {lock}>&-
}

# build_windows [TARGET...]: in build/windows, default all. Only trainings in several processes, the Python module and
# downloads are left out.
build_windows() {
  in_root x86_64-w64-mingw32ucrt-g++ --version
  in_root cmake --preset release -B build/windows -DCMAKE_TOOLCHAIN_FILE=cmake/windows/toolchain.cmake \
    -DVKFORMER_UNITY_BUILD=ON -DVKFORMER_PYTHON=OFF \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache | tee "$logs/configure.txt"
  if grep 'not built' "$logs/configure.txt" | grep -v 'vkformer download'; then return 1; fi
  in_root cmake --build build/windows --parallel "$(nproc)" ${1:+--target "$@"}
}

# Runs a command in the root with programs for Windows on lavapipe: build/windows/bin/NAME runs NAME.exe in Wine.
in_wine() {
  in_root env XDG_RUNTIME_DIR=/tmp WINEPREFIX="/vkformer/$logs/wine" WINEDEBUG=-all WINEDLLOVERRIDES=winedbg.exe= \
    VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json "$@"
}
