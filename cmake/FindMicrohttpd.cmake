# libmicrohttpd, which has no CMake package: the target Microhttpd::Microhttpd.
find_path(Microhttpd_INCLUDE_DIR microhttpd.h)
find_library(Microhttpd_LIBRARY microhttpd)
mark_as_advanced(Microhttpd_INCLUDE_DIR Microhttpd_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Microhttpd
  REQUIRED_VARS Microhttpd_LIBRARY Microhttpd_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "`vkformer serve` is not built, for want of libmicrohttpd with its headers (package libmicrohttpd-dev, libmicrohttpd-devel or libmicrohttpd)")

if(Microhttpd_FOUND AND NOT TARGET Microhttpd::Microhttpd)
  add_library(Microhttpd::Microhttpd INTERFACE IMPORTED)
  target_link_libraries(Microhttpd::Microhttpd INTERFACE "${Microhttpd_LIBRARY}" $<$<PLATFORM_ID:Windows>:ws2_32>)
  target_include_directories(Microhttpd::Microhttpd INTERFACE "${Microhttpd_INCLUDE_DIR}")
endif()
