# libsamplerate, whose CMake package not every distribution has: the target
# SampleRate::SampleRate. Installed along with vkformer, whose users link it.
find_path(SampleRate_INCLUDE_DIR samplerate.h)
find_library(SampleRate_LIBRARY samplerate)
mark_as_advanced(SampleRate_INCLUDE_DIR SampleRate_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  SampleRate
  REQUIRED_VARS SampleRate_LIBRARY SampleRate_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libsamplerate with its headers (package libsamplerate0-dev, libsamplerate-devel or libsamplerate)")

if(SampleRate_FOUND AND NOT TARGET SampleRate::SampleRate)
  add_library(SampleRate::SampleRate INTERFACE IMPORTED)
  target_link_libraries(SampleRate::SampleRate INTERFACE "${SampleRate_LIBRARY}")
  target_include_directories(SampleRate::SampleRate INTERFACE "${SampleRate_INCLUDE_DIR}")
endif()
