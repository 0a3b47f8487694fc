# libsndfile, whose CMake package not every distribution has: the target
# SndFile::SndFile. Installed along with vkformer, whose users link it.
find_path(SndFile_INCLUDE_DIR sndfile.h)
find_library(SndFile_LIBRARY sndfile)
mark_as_advanced(SndFile_INCLUDE_DIR SndFile_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  SndFile
  REQUIRED_VARS SndFile_LIBRARY SndFile_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libsndfile with its headers (package libsndfile1-dev, libsndfile-devel or libsndfile)")

if(SndFile_FOUND AND NOT TARGET SndFile::SndFile)
  add_library(SndFile::SndFile INTERFACE IMPORTED)
  target_link_libraries(SndFile::SndFile INTERFACE "${SndFile_LIBRARY}")
  target_include_directories(SndFile::SndFile INTERFACE "${SndFile_INCLUDE_DIR}")
endif()
