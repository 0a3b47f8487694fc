# libwebp with its reader of containers, whose CMake package not every distribution has: the target
# WebP::WebP. Installed along with vkformer, whose users link it.
find_path(WebP_INCLUDE_DIR webp/demux.h)
find_library(WebP_LIBRARY webp)
find_library(WebP_DEMUX_LIBRARY webpdemux)
mark_as_advanced(WebP_INCLUDE_DIR WebP_LIBRARY WebP_DEMUX_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  WebP
  REQUIRED_VARS WebP_LIBRARY WebP_DEMUX_LIBRARY WebP_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libwebp with its headers (package libwebp-dev, libwebp-devel or libwebp)")

if(WebP_FOUND AND NOT TARGET WebP::WebP)
  add_library(WebP::WebP INTERFACE IMPORTED)
  target_link_libraries(WebP::WebP INTERFACE "${WebP_DEMUX_LIBRARY}" "${WebP_LIBRARY}")
  target_include_directories(WebP::WebP INTERFACE "${WebP_INCLUDE_DIR}")
endif()
