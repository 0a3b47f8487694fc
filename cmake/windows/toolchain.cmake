# Cross-compiles for Windows with MinGW-w64 and its UCRT, the compiler and C library of MSYS2's UCRT64, against libraries
# that tools/windows/libraries.sh built. Programs need no DLL but Windows' own.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(windows_triple x86_64-w64-mingw32ucrt)
set(CMAKE_C_COMPILER ${windows_triple}-gcc)
set(CMAKE_CXX_COMPILER ${windows_triple}-g++)
set(CMAKE_RC_COMPILER ${windows_triple}-windres)
set(CMAKE_FIND_ROOT_PATH /opt/windows /usr/${windows_triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
