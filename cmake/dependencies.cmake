# Every dependency comes from find_package; a pinned FetchContent release is the fallback.
include(FetchContent)

find_package(Vulkan REQUIRED)
find_package(Threads REQUIRED)

FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt.git GIT_TAG 9.1.0
                     FIND_PACKAGE_ARGS 9)
FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json.git GIT_TAG v3.11.2
                     FIND_PACKAGE_ARGS 3.11)
FetchContent_Declare(CLI11 GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git GIT_TAG v2.3.2
                     FIND_PACKAGE_ARGS)
FetchContent_MakeAvailable(fmt nlohmann_json CLI11)
if(BUILD_TESTING)
  FetchContent_Declare(Catch2 GIT_REPOSITORY https://github.com/catchorg/Catch2.git GIT_TAG v3.7.1
                       FIND_PACKAGE_ARGS 3)
  FetchContent_MakeAvailable(Catch2)
  if(Catch2_SOURCE_DIR)
    list(APPEND CMAKE_MODULE_PATH "${Catch2_SOURCE_DIR}/extras")
  endif()
endif()
