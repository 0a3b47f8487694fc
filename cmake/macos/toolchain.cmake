# Cross-compiles for macOS on Apple's processors with Clang as Zig brings it along, with macOS' headers and libc++, against
# the headers of libraries alone: tools/macos/prefix.sh makes both in .cache/macos. What it links has no libraries, so it
# runs nowhere; it tells whether all compiles, and what macOS would have to find.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
get_filename_component(macos_cache "${CMAKE_CURRENT_LIST_DIR}/../../.cache/macos" ABSOLUTE)
set(CMAKE_C_COMPILER "${macos_cache}/bin/cc")
set(CMAKE_CXX_COMPILER "${macos_cache}/bin/c++")
set(CMAKE_AR "${macos_cache}/bin/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${macos_cache}/bin/ranlib" CACHE FILEPATH "")
set(CMAKE_INSTALL_NAME_TOOL true CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH "${macos_cache}/prefix")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-undefined dynamic_lookup")
