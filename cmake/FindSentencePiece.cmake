# SentencePiece, which has neither a CMake package nor, everywhere, one for pkg-config: the target
# SentencePiece::SentencePiece, its processor and its trainer. Installed along with vkformer, whose users link it.
find_path(SentencePiece_INCLUDE_DIR sentencepiece_trainer.h)
find_library(SentencePiece_LIBRARY sentencepiece)
find_library(SentencePiece_TRAIN_LIBRARY sentencepiece_train)
mark_as_advanced(SentencePiece_INCLUDE_DIR SentencePiece_LIBRARY SentencePiece_TRAIN_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  SentencePiece
  REQUIRED_VARS SentencePiece_TRAIN_LIBRARY SentencePiece_LIBRARY SentencePiece_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install SentencePiece with its headers (package libsentencepiece-dev, sentencepiece-devel or sentencepiece)")

if(SentencePiece_FOUND AND NOT TARGET SentencePiece::SentencePiece)
  add_library(SentencePiece::SentencePiece INTERFACE IMPORTED)
  # The trainer uses the processor, so it comes first where both are archives.
  target_link_libraries(SentencePiece::SentencePiece INTERFACE "${SentencePiece_TRAIN_LIBRARY}" "${SentencePiece_LIBRARY}")
  target_include_directories(SentencePiece::SentencePiece INTERFACE "${SentencePiece_INCLUDE_DIR}")
  # What functions of 0.2.2 return is Abseil's, whose code is in a library of its own.
  file(STRINGS "${SentencePiece_INCLUDE_DIR}/sentencepiece_processor.h" absl REGEX "^#include <absl/status/status.h>")
  if(absl)
    find_package(absl CONFIG REQUIRED)
    target_link_libraries(SentencePiece::SentencePiece INTERFACE absl::status)
  endif()
endif()
