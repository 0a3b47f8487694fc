# Every dependency comes from find_package; a pinned release, fetched and built, is the fallback.
include(FetchContent)
set(FETCHCONTENT_QUIET OFF)
# What is fetched and what users of the library need is installed along with it.
set(FMT_INSTALL ON)
set(JSON_Install ON)
set(VULKAN_HEADERS_ENABLE_INSTALL ON)

find_package(Threads REQUIRED)
# Regular expressions, normal forms and properties of characters for tokenizers. Not fetched: ICU has no CMake build.
find_package(ICU 70 REQUIRED COMPONENTS i18n uc)
# Trains vocabularies. Not fetched: every distribution has it, and its build brings protobuf along.
find_package(SentencePiece REQUIRED)
# Files of audio, and audio at another rate. Not fetched: every distribution has them.
find_package(SndFile REQUIRED)
find_package(SampleRate REQUIRED)
# Pictures. Not fetched: every distribution has them.
find_package(TurboJPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(WebP REQUIRED)
# Fourier transforms in double are one header of kissfft, so users of the installed library do not need it, and nothing is
# built of what is fetched.
find_path(KissFFT_INCLUDE_DIR kissfft/kissfft.hh)
mark_as_advanced(KissFFT_INCLUDE_DIR)
if(NOT KissFFT_INCLUDE_DIR)
  FetchContent_Declare(kissfft GIT_REPOSITORY https://github.com/mborgerding/kissfft.git GIT_TAG 131.1.0 GIT_SHALLOW ON
                       SOURCE_DIR "${CMAKE_BINARY_DIR}/_deps/include/kissfft" SOURCE_SUBDIR nothing)
  FetchContent_MakeAvailable(kissfft)
  set(KissFFT_INCLUDE_DIR "${CMAKE_BINARY_DIR}/_deps/include")
endif()
# For `vkformer serve` alone: without it, all else is built.
find_package(Microhttpd)
# For `vkformer download` alone.
find_package(CURL 7.85)
find_package(OpenSSL 3 COMPONENTS Crypto)
set(VKFORMER_DOWNLOADS OFF)
if(CURL_FOUND AND OPENSSL_FOUND)
  set(VKFORMER_DOWNLOADS ON)
else()
  message(STATUS "`vkformer download` is not built, for want of libcurl >= 7.85 or OpenSSL >= 3 with headers (packages libcurl4-openssl-dev and libssl-dev, or libcurl-devel and openssl-devel)")
endif()
# For trainings in several processes alone.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI COMPONENTS CXX)
# For the Python module alone.
option(VKFORMER_PYTHON "Build the Python module, where Python's headers and pybind11 are" ON)
if(VKFORMER_PYTHON)
  find_package(Python 3.9 COMPONENTS Interpreter Development.Module)
  if(Python_Development.Module_FOUND)
    find_package(pybind11 2.10 CONFIG)
  endif()
  if(pybind11_FOUND)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the module is a shared library that holds all of this one
  elseif(SKBUILD)
    message(FATAL_ERROR "the Python module needs Python's headers (python3-dev) and pybind11 >= 2.10 (pybind11-dev)")
  endif()
endif()
FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt.git GIT_TAG 9.1.0 GIT_SHALLOW ON SYSTEM
                     FIND_PACKAGE_ARGS 9)
FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json.git GIT_TAG v3.11.3 GIT_SHALLOW ON
                     SYSTEM FIND_PACKAGE_ARGS 3.11)
FetchContent_Declare(CLI11 GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git GIT_TAG v2.4.1 GIT_SHALLOW ON SYSTEM
                     FIND_PACKAGE_ARGS)
FetchContent_MakeAvailable(fmt nlohmann_json CLI11)

if(BUILD_TESTING)
  FetchContent_Declare(Catch2 GIT_REPOSITORY https://github.com/catchorg/Catch2.git GIT_TAG v3.7.1 GIT_SHALLOW ON SYSTEM
                       FIND_PACKAGE_ARGS 3)
  FetchContent_MakeAvailable(Catch2)
  if(Catch2_SOURCE_DIR)
    list(APPEND CMAKE_MODULE_PATH "${Catch2_SOURCE_DIR}/extras")
  endif()
endif()

find_package(Vulkan QUIET)
if(NOT Vulkan_FOUND)
  # Only compute is used, so the loader needs no window system.
  foreach(window_system XCB XLIB XLIB_XRANDR WAYLAND DIRECTFB)
    set(BUILD_WSI_${window_system}_SUPPORT OFF)
  endforeach()
  FetchContent_Declare(VulkanHeaders GIT_REPOSITORY https://github.com/KhronosGroup/Vulkan-Headers.git
                       GIT_TAG vulkan-sdk-1.4.309.0 GIT_SHALLOW ON SYSTEM OVERRIDE_FIND_PACKAGE)
  FetchContent_Declare(VulkanLoader GIT_REPOSITORY https://github.com/KhronosGroup/Vulkan-Loader.git
                       GIT_TAG vulkan-sdk-1.4.309.0 GIT_SHALLOW ON SYSTEM)
  FetchContent_MakeAvailable(VulkanHeaders VulkanLoader)
  # Imported, so that an installed vkformer asks for Vulkan::Vulkan and not for this build's targets.
  add_library(Vulkan::Vulkan INTERFACE IMPORTED GLOBAL)
  target_link_libraries(Vulkan::Vulkan INTERFACE vulkan Vulkan::Headers)
endif()
