# Shell functions shared by tools/quickstart and tools/check; sourced, not run.
# They install what the build needs on Debian 12, Debian 13 and Ubuntu 24.04, and skip what is there.

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache="$project/.cache"
setup_log="$project/build/setup.log"

fail() {
  echo "$*" >&2
  exit 1
}

system_id() {
  if [[ -r /etc/os-release ]]; then
    # shellcheck source=/dev/null
    (. /etc/os-release && echo "${ID:-unknown}:${VERSION_ID:-}")
  else
    uname -s
  fi
}

# What this system's packages are called, one a line: NAME, or NAME MINIMUM where an older one does not do.
wanted_packages() {
  printf '%s\n' "cmake 3.25" ninja-build g++ libvulkan-dev glslang-tools libfmt-dev libcli11-dev nlohmann-json3-dev \
    libicu-dev libsentencepiece-dev libsndfile1-dev libsamplerate0-dev libkissfft-dev libturbojpeg0-dev libpng-dev \
    libwebp-dev libmicrohttpd-dev libcurl4-openssl-dev libssl-dev "catch2 3"
  # Mesa 22 of Debian 12 runs the same shaders several times slower.
  if [[ $1 == debian:12 ]]; then echo "mesa-vulkan-drivers 25"; else echo mesa-vulkan-drivers; fi
  # For sanitizers and coverage-guided fuzzing; for trainings in several processes; for the Python module.
  if [[ $2 == tests ]]; then
    printf '%s\n' clang-19 libclang-rt-19-dev libopenmpi-dev openmpi-bin pybind11-dev python3-dev python3-numpy
  fi
  # Debian's layer comes with SwiftShader in one archive, see setup_test_drivers.
  if [[ $1 == ubuntu:* && $2 == tests ]]; then echo vulkan-validationlayers; fi
}

missing_packages() {
  local name minimum version
  wanted_packages "$@" | while read -r name minimum; do
    version=$(dpkg-query -W -f='${db:Status-Status} ${Version}\n' "$name" 2>/dev/null | sed -n 's/^installed //p' |
      head -n 1)
    if [[ -z $version ]] || { [[ -n $minimum ]] && dpkg --compare-versions "$version" lt "$minimum"; }; then
      echo "$name"
    fi
  done
}

as_root() {
  if [[ $EUID == 0 ]]; then "$@"; else sudo "$@"; fi
}

# Runs apt-get with its output in the log; another apt-get that is at work is waited for.
apt_get() {
  local attempt output
  for attempt in {1..30}; do
    if output=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=600 \
      -o Acquire::Retries=3 "$@" 2>&1); then
      echo "$output" >>"$setup_log"
      return
    fi
    echo "$output" >>"$setup_log"
    [[ $output == *"ould not get lock"* ]] || break
    ((attempt > 1)) || echo "set-up: waiting for another package manager to finish"
    sleep 10
  done
  echo "$output" | grep -E '^(E|W):' >&2 || echo "$output" | tail -n 5 >&2
  fail "set-up: 'apt-get $1' failed (all output: $setup_log)"
}

# Prints the machine's own bookworm source with the suite replaced, in the format it has; $1 is the file to copy from.
backports_source() {
  if [[ $1 == *.sources ]]; then
    awk -v RS= '("\n" $0 "\n") ~ /\nTypes:[ \t]*deb[ \t\n]/ && ("\n" $0 "\n") ~ /\nSuites:[^\n]*[ \t]bookworm[ \t\n]/ &&
                ("\n" $0) !~ /\nEnabled:[ \t]*no/ {
      sub(/Suites:[^\n]*/, "Suites: bookworm-backports"); print; exit }' "$1"
  else
    sed -nE 's/^(deb[ \t]+(\[[^]]*\][ \t]+)?[^ \t]+[ \t]+)bookworm([ \t])/\1bookworm-backports\3/p' "$1" | head -n 1
  fi
}

# Debian 12 has Mesa 25 and Catch2 3 in its backports suite, on the servers that the machine uses already.
enable_backports() {
  local file source
  # shellcheck disable=SC2016
  if apt-get indextargets --format '$(RELEASE)' | grep -qx bookworm-backports; then return; fi
  for file in /etc/apt/sources.list.d/*.sources /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -r $file ]] || continue
    source=$(backports_source "$file")
    [[ -n $source ]] || continue
    echo "set-up: enabling bookworm-backports, from $file"
    echo "$source" | as_root tee "/etc/apt/sources.list.d/vkformer-backports.${file##*.}" >/dev/null
    return
  done
  fail "set-up: no apt source for 'bookworm' to take bookworm-backports from; enable it, then run this again"
}

list_and_stop() {
  cat >&2 <<'LIST'
This system is none of Debian 12, Debian 13 and Ubuntu 24.04. Install these, then run this again:
  CMake >= 3.25, Ninja, a C++20 compiler (GCC >= 12 or Clang >= 14)
  Vulkan headers and loader >= 1.3, glslangValidator (package glslang or glslang-tools)
  a Vulkan 1.3 driver: your GPU's, or Mesa's lavapipe (package mesa-vulkan-drivers, vulkan-swrast or similar)
  ICU >= 70 with its headers (libicu-dev, libicu-devel or icu)
  SentencePiece >= 0.1.97 with its headers (libsentencepiece-dev, sentencepiece-devel or sentencepiece)
  libsndfile and libsamplerate with their headers (libsndfile1-dev and libsamplerate0-dev; libsndfile-devel and
    libsamplerate-devel; or libsndfile and libsamplerate)
  libjpeg-turbo, libpng and libwebp with their headers (libturbojpeg0-dev, libpng-dev and libwebp-dev; turbojpeg-devel,
    libpng-devel and libwebp-devel; or libjpeg-turbo, libpng and libwebp)
  libmicrohttpd with its headers (libmicrohttpd-dev, libmicrohttpd-devel or libmicrohttpd), for `vkformer serve` alone
  libcurl >= 7.85 and OpenSSL >= 3 with headers, for `vkformer download` alone
  Open MPI or MPICH with its headers (libopenmpi-dev, openmpi-devel or openmpi), for trainings in several processes alone
  Python >= 3.9 with its headers, numpy and pybind11 >= 2.10, for the Python module alone
  fmt >= 9, CLI11, nlohmann-json >= 3.11, Catch2 >= 3, kissfft (CMake fetches those that are missing, with git)
LIST
  exit 1
}

# On a system whose packages are not known: is all that CMake cannot fetch there?
tools_are_there() {
  command -v cmake ninja c++ glslangValidator >/dev/null &&
    echo '#include <vulkan/vulkan.h>' | c++ -x c++ -E - >/dev/null 2>&1
}

# Installs what is missing; $1: "build", or "tests" for what all tests need.
setup_packages() {
  local system missing name
  local stable=() backports=()
  mkdir -p "$project/build"
  system=$(system_id)
  case $system in
    debian:12 | debian:13 | ubuntu:24.04) ;;
    *)
      tools_are_there || list_and_stop
      return
      ;;
  esac
  missing=$(missing_packages "$system" "$1" | tr '\n' ' ')
  [[ -n $missing ]] || return 0
  if [[ $EUID != 0 ]] && ! command -v sudo >/dev/null; then
    [[ $system != debian:12 ]] || missing+="(catch2 and mesa-vulkan-drivers from bookworm-backports)"
    fail "set-up: these packages are missing; install them as root, then run this again: $missing"
  fi
  echo "set-up: installing $missing"
  for name in $missing; do
    if [[ $system == debian:12 && ($name == catch2 || $name == mesa-vulkan-drivers) ]]; then
      backports+=("$name")
    else
      stable+=("$name")
    fi
  done
  if ((${#backports[@]})); then enable_backports; fi
  apt_get update
  if ((${#stable[@]})); then apt_get install --no-install-recommends "${stable[@]}"; fi
  if ((${#backports[@]})); then apt_get install --no-install-recommends -t bookworm-backports "${backports[@]}"; fi
  missing=$(missing_packages "$system" "$1" | tr '\n' ' ')
  [[ -z $missing ]] || fail "set-up: the machine's package sources have no current version of $missing"
}

# Debian's chromium-common carries SwiftShader and a current validation layer. They are unpacked into .cache/vulkan, not
# installed.
unpack_chromium_vulkan() {
  local target="$cache/vulkan" scratch="$cache/download"
  local download=(apt-get download chromium-common)
  if [[ -e $target/VkLayer_khronos_validation.json ]]; then return; fi
  echo "set-up: unpacking SwiftShader and the validation layer from chromium-common"
  rm -rf "$target" "$scratch"
  mkdir -p "$target" "$scratch"
  # apt's own user may not write into the checkout.
  if [[ $EUID == 0 ]]; then download+=(-o APT::Sandbox::User=root); fi
  if ! (cd "$scratch" && "${download[@]}") >>"$setup_log" 2>&1; then
    apt_get update
    (cd "$scratch" && "${download[@]}") >>"$setup_log" 2>&1 ||
      fail "set-up: can't download chromium-common (all output: $setup_log)"
  fi
  dpkg-deb --fsys-tarfile "$scratch"/chromium-common_*.deb | tar -x -C "$target" --strip-components=4 \
    ./usr/lib/chromium/libvk_swiftshader.so ./usr/lib/chromium/vk_swiftshader_icd.json \
    ./usr/lib/chromium/libVkLayer_khronos_validation.so
  rm -r "$scratch"
  # The archive has no manifest for the layer. Written last: it says that the rest is complete.
  cat >"$target/VkLayer_khronos_validation.json" <<'MANIFEST'
{
  "file_format_version": "1.2.0",
  "layer": {
    "name": "VK_LAYER_KHRONOS_validation",
    "type": "GLOBAL",
    "library_path": "./libVkLayer_khronos_validation.so",
    "api_version": "1.4.0",
    "implementation_version": "1",
    "description": "Khronos validation layer"
  }
}
MANIFEST
}

first_existing() {
  local file
  for file in "$@"; do
    if [[ -e $file ]]; then
      echo "$file"
      return
    fi
  done
}

# shellcheck disable=SC2034
# Sets lavapipe, swiftshader (driver manifests) and layer_folder; one that this system does not have is empty.
setup_test_drivers() {
  if [[ $(system_id) == debian:* ]]; then unpack_chromium_vulkan; fi
  lavapipe=$(first_existing "/usr/share/vulkan/icd.d/lvp_icd.$(uname -m).json" /usr/share/vulkan/icd.d/lvp_icd*.json)
  # Ubuntu has no package with SwiftShader, but Chrome and the Chromium snap carry it.
  swiftshader=$(first_existing "$cache/vulkan/vk_swiftshader_icd.json" /opt/google/chrome/vk_swiftshader_icd.json \
    /snap/chromium/current/usr/lib/chromium-browser/vk_swiftshader_icd.json /usr/lib/chromium/vk_swiftshader_icd.json)
  layer_folder=$(dirname "$(first_existing "$cache/vulkan/VkLayer_khronos_validation.json" \
    /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json)")
  if [[ $layer_folder == . ]]; then layer_folder=""; fi
}

# Configures and builds one preset, from nothing as cheaply as can be (unless `unity` is OFF); the arguments after it are
# targets (default: all). Shaders are compiled for the release build alone.
build() {
  local preset=$1 log="$project/build/build-$1.log" options=("-DVKFORMER_UNITY_BUILD=${unity:-ON}")
  shift
  if [[ $preset != release && -e $project/build/release/build.ninja ]]; then
    options+=("-DVKFORMER_SHADERS_FROM=$project/build/release")
  fi
  # Clang needs half of GCC's time for sanitized code.
  if [[ $preset == asan ]] && command -v clang++-19 >/dev/null; then
    options+=(-DCMAKE_CXX_COMPILER=clang++-19)
  fi
  # The one that the packages are for, whatever else comes first.
  if [[ -x /usr/bin/python3-config ]]; then options+=(-DPython_EXECUTABLE=/usr/bin/python3); fi
  mkdir -p "$project/build"
  local time=""
  [[ -e $project/build/$preset/.ninja_log ]] || time="; from nothing, 3 to 10 minutes on two cores"
  echo "building ($preset; all output: build/build-$preset.log$time)"
  if ! {
    cmake --preset "$preset" "${options[@]}" && cmake --build --preset "$preset" ${1:+--target "$@"}
  } >"$log" 2>&1; then
    grep -m 20 -E 'error|Error|FAILED' "$log" >&2 || tail -n 20 "$log" >&2
    fail "the $preset build failed (all output: $log)"
  fi
}

# The documents and sources of this project, one after the other.
project_text() {
  if git -C "$project" rev-parse >/dev/null 2>&1; then
    git -C "$project" ls-files -z -- '*.md' '*.h' '*.cpp' '*.comp' '*.glsl' | xargs -0 cat
  else
    find . -path ./build -prune -o -path ./.cache -prune -o -type f \
      \( -name '*.md' -o -name '*.h' -o -name '*.cpp' -o -name '*.comp' -o -name '*.glsl' \) -print0 | sort -z |
      xargs -0 cat
  fi
}
