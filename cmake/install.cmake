# `cmake --install` and find_package(vkformer). Headers keep the paths they are included by: "runtime/graph.h" lies under
# include/vkformer, which the target vkformer::vkformer adds.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS vkformer EXPORT vkformerTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS vkformer_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Not the headers that need vulkan.h: models and programs know only Backend.
install(DIRECTORY runtime models shaders DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vkformer
        FILES_MATCHING PATTERN "*.h" PATTERN runtime/vulkan EXCLUDE PATTERN models/configs EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/vkformer")
configure_package_config_file(cmake/vkformerConfig.cmake.in "${PROJECT_BINARY_DIR}/vkformerConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/vkformerConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/vkformerConfig.cmake" "${PROJECT_BINARY_DIR}/vkformerConfigVersion.cmake"
              cmake/FindSentencePiece.cmake cmake/FindSndFile.cmake cmake/FindSampleRate.cmake
              cmake/FindTurboJPEG.cmake cmake/FindWebP.cmake DESTINATION "${package_dir}")
install(EXPORT vkformerTargets NAMESPACE vkformer:: DESTINATION "${package_dir}")
