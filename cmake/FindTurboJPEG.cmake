# libjpeg-turbo, whose CMake package not every distribution has: the target
# TurboJPEG::TurboJPEG. Installed along with vkformer, whose users link it.
find_path(TurboJPEG_INCLUDE_DIR turbojpeg.h)
find_library(TurboJPEG_LIBRARY turbojpeg)
mark_as_advanced(TurboJPEG_INCLUDE_DIR TurboJPEG_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  TurboJPEG
  REQUIRED_VARS TurboJPEG_LIBRARY TurboJPEG_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libjpeg-turbo with its headers (package libturbojpeg0-dev, turbojpeg-devel or libjpeg-turbo)")

if(TurboJPEG_FOUND AND NOT TARGET TurboJPEG::TurboJPEG)
  add_library(TurboJPEG::TurboJPEG INTERFACE IMPORTED)
  target_link_libraries(TurboJPEG::TurboJPEG INTERFACE "${TurboJPEG_LIBRARY}")
  target_include_directories(TurboJPEG::TurboJPEG INTERFACE "${TurboJPEG_INCLUDE_DIR}")
endif()
