#!/usr/bin/env bash
# Makes what cmake/macos/toolchain.cmake cross-compiles with, in the folder $1: Clang for macOS (of Zig, from npm), the
# headers of vkformer's libraries, which are those of this system, and empty archives in place of the libraries.
set -euo pipefail
folder=$1
rm -rf "$folder"
mkdir -p "$folder"/{bin,zig,prefix/{include,share,lib/cmake/{fmt,Catch2}}}
cd "$folder"

# fetch NAME SHA256: unpacks a package of npm into zig.
fetch() {
  npm pack --silent "@zigc/$1@0.16.0" >/dev/null
  echo "$2  zigc-$1-0.16.0.tgz" | sha256sum --check --quiet
  tar -x -z -f "zigc-$1-0.16.0.tgz" -C zig --strip-components=1
  rm "zigc-$1-0.16.0.tgz"
}
fetch linux-x64 37c09efd717ae2fc83423f6c2b6c494a0e8daa7daebf4fdc27271b4b8c3e8ce3
fetch lib e9fe416cf0d2e8303c08de32dc934af0cd13d22f255b65127bceb722cc3dcbcc

# program NAME ARGUMENT...: puts what calls Zig into bin.
program() {
  printf '%s\n' '#!/bin/sh' "export ZIG_LIB_DIR=$folder/zig" \
    "export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache" "exec $folder/zig/bin/zig $2 \"\$@\"" >"bin/$1"
  chmod +x "bin/$1"
}
# What Apple's C++ library does not have in this version of macOS is refused: Zig's own has all. Zig's checks of undefined
# behaviour would be symbols to find.
target="-target aarch64-macos.13.3 -fno-sanitize=undefined"
refusing=_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS
target+=" -U$refusing -D$refusing=1"
program cc "cc $target"
program c++ "c++ $target"
program ar ar
program ranlib ranlib

include=prefix/include system=/usr/include machine=/usr/include/x86_64-linux-gnu
cp -r $system/{CLI,nlohmann,vulkan,vk_video,fmt,catch2,unicode,kissfft,webp,openssl} $machine/curl $include
cp $machine/openssl/* $include/openssl
for header in png pngconf pnglibconf turbojpeg sndfile samplerate sentencepiece_{processor,trainer} microhttpd zlib zconf; do
  cp "$(find $system $machine -maxdepth 1 -name "$header.h" | head -n 1)" $include
done
for library in icu{uc,i18n,data} sentencepiece{,_train} sndfile samplerate turbojpeg png z webp{,demux} microhttpd curl \
  crypto ssl vulkan; do
  printf '!<arch>\n' >"prefix/lib/lib$library.a"
done
cp -r /usr/share/cmake prefix/share
cp "$(find /usr/lib -name Catch.cmake | head -n 1)" "$(find /usr/lib -name CatchAddTests.cmake | head -n 1)" prefix/lib/cmake/Catch2

# Zig's linker ends with a fault where there is no main(), which the tests have from Catch2's library.
echo 'int main() {}' >main.cpp
bin/c++ -c main.cpp -o prefix/lib/main.o
rm main.cpp

# package NAME VERSION TARGET [OBJECT]: of headers alone, but for the object.
package() {
  local folder=prefix/lib/cmake/$1 name=${1,,}
  printf 'set(PACKAGE_VERSION %s)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n' "$2" >"$folder/$name-config-version.cmake"
  # shellcheck disable=SC2016
  printf '%s\n' "add_library($3 INTERFACE IMPORTED)" \
    "target_include_directories($3 INTERFACE \"\${CMAKE_CURRENT_LIST_DIR}/../../../include\")" \
    "target_link_libraries($3 INTERFACE ${4:+\"\${CMAKE_CURRENT_LIST_DIR\}/../../$4\"})" \
    'list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")' >"$folder/$name-config.cmake"
}
package fmt 9.1.0 fmt::fmt
package Catch2 3.7.1 Catch2::Catch2WithMain main.o
