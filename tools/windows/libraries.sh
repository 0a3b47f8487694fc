#!/usr/bin/env bash
# Builds the libraries of vkformer for Windows, as archives, into /opt/windows: from Debian's source packages, since Debian
# has no packages of them for MinGW. tools/check-windows runs it in its root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
toolchain=$here/../../cmake/windows/toolchain.cmake
triple=x86_64-w64-mingw32ucrt
prefix=/opt/windows
sources=/opt/sources

# get_sources SUITE PACKAGE...: with lists of their own, in which there is no other version.
get_sources() {
  local suite=$1 server apt
  shift
  server=$(awk '$1 == "deb" { print $2; exit }' /etc/apt/sources.list)
  mkdir -p "$sources/lists-$suite"
  cd "$sources"
  echo "deb-src $server $suite main" >"$suite.list"
  apt=(apt-get -o APT::Sandbox::User=root -o Dir::Etc::SourceList="$sources/$suite.list" -o Dir::Etc::SourceParts=-
    -o Dir::State::Lists="$sources/lists-$suite")
  "${apt[@]}" update
  "${apt[@]}" source "$@"
}

# The folder of a source package, below $sources or, in that, $2.
source_of() { echo "$sources/$1"-[0-9]*/"${2:-}"; }

# build_library NAME SOURCE TARGETS OPTION...
build_library() {
  local build=$sources/build-$1
  cmake -S "$2" -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_{C,CXX}_FLAGS_RELEASE="-O1 -DNDEBUG" -DCMAKE_{C,CXX}_COMPILER_LAUNCHER=ccache \
    -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DBUILD_PROGRAMS=OFF "${@:4}"
  # shellcheck disable=SC2086
  cmake --build "$build" --target $3
}

# cmake_library NAME SOURCE OPTION...
cmake_library() { build_library "$1" "$2" install "${@:3}"; }

# configured_library NAME OPTION...
configured_library() {
  cd "$(source_of "$1")"
  ./configure --host=$triple --prefix="$prefix" --disable-shared --enable-static CC="ccache $triple-gcc" CFLAGS=-O1 "${@:2}"
  make -j "$(nproc)"
  make install
}

# What is headers alone, or Debian has. zlib's import library would be taken before its archive.
copied() {
  cp -r /usr/include/{CLI,nlohmann,vulkan,vk_video} "$(source_of kissfft)" "$prefix/include"
  mv "$prefix"/include/kissfft-[0-9]* "$prefix/include/kissfft"
  cp -r /usr/share/cmake "$prefix/share"
  cp /usr/$triple/lib/libz.a "$prefix/lib"
  {
    echo "LIBRARY vulkan-1.dll"
    echo EXPORTS
    sed -nE 's/.*VKAPI_CALL (vk[A-Za-z0-9]+)\(.*/\1/p' /usr/include/vulkan/vulkan_core.h
  } >"$sources/vulkan-1.def"
  $triple-dlltool --def "$sources/vulkan-1.def" --output-lib "$prefix/lib/libvulkan-1.dll.a"
}

# The codecs go into its archive: whoever links it need not name them.
sndfile() {
  cmake_library ogg "$(source_of libogg)"
  cmake_library flac "$(source_of flac)" -DBUILD_CXXLIBS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOCS=OFF -DINSTALL_MANPAGES=OFF \
    -DWITH_STACK_PROTECTOR=OFF -DWITH_FORTIFY_SOURCE=OFF
  cmake_library vorbis "$(source_of libvorbis)"
  cmake_library opus "$(source_of opus)" -DOPUS_STACK_PROTECTOR=OFF
  cmake_library mpg123 "$(source_of mpg123 ports/cmake)" -DBUILD_LIBOUT123=OFF
  configured_library lame --disable-frontend --disable-decoder
  cmake_library sndfile "$(source_of libsndfile)" -DBUILD_EXAMPLES=OFF -DENABLE_CPACK=OFF \
    -DENABLE_STACK_PROTECTOR=OFF -DCMAKE_C_FLAGS=-DFLAC__NO_DLL
  cd "$prefix/lib"
  printf '%s\n' "create libsndfile-all.a" "addlib lib"{sndfile,FLAC,vorbisenc,vorbis,opus,ogg,mp3lame,mpg123}.a \
    "addlib /usr/$triple/lib/libshlwapi.a" save end | $triple-ar -M
  mv libsndfile-all.a libsndfile.a
}

pictures() {
  cmake_library jpeg "$(source_of libjpeg-turbo)" -DENABLE_SHARED=OFF -DWITH_SIMD=OFF
  cmake_library png "$(source_of libpng1.6)" -DPNG_SHARED=OFF -DPNG_TESTS=OFF -DPNG_EXECUTABLES=OFF
  cmake_library webp "$(source_of libwebp)" -DWEBP_BUILD_{ANIM_UTILS,CWEBP,DWEBP,GIF2WEBP,IMG2WEBP,VWEBP,WEBPINFO,WEBPMUX,EXTRAS}=OFF
}

others() {
  configured_library libmicrohttpd --disable-doc --disable-examples --disable-tools --disable-curl --disable-https
  cmake_library fmt "$(source_of fmtlib)" -DFMT_TEST=OFF -DFMT_DOC=OFF
  cmake_library samplerate "$(source_of libsamplerate)" -DLIBSAMPLERATE_EXAMPLES=OFF
  cmake_library catch2 "$(source_of catch2)" -DCATCH_INSTALL_DOCS=OFF
}

# Debian's patch takes its archives away; its programs would need half of the time.
large() {
  cd "$(source_of sentencepiece)"
  patch -R -p 1 <debian/patches/disable-static-library.patch
  build_library sentencepiece "$PWD" "sentencepiece-static sentencepiece_train-static" -DSPM_ENABLE_SHARED=OFF -DSPM_ENABLE_TCMALLOC=OFF
  cp "$sources"/build-sentencepiece/src/*.a "$prefix/lib"
  cp src/sentencepiece_{processor,trainer}.h "$prefix/include"
  cmake_library icu "$here/icu" -DSOURCE="$(source_of icu source)"
}

if (($#)); then
  "$@"
  exit
fi
rm -rf "$prefix" "$sources"
mkdir -p "$prefix"/{include,lib,share} "$sources"
# What does not have to be new is of Debian 12, whose sources mirrors have in full.
get_sources trixie icu catch2 mpg123 opus fmtlib
get_sources bookworm sentencepiece flac libogg libvorbis lame libsndfile libsamplerate kissfft libjpeg-turbo \
  libpng1.6 libwebp libmicrohttpd
copied
# Configuring keeps one core busy, so two of these run at a time.
printf '%s\n' large sndfile pictures others | xargs -P 2 -n 1 "$here/libraries.sh"
rm -rf "$sources"
