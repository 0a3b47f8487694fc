# The Python module: build/.../python/vkformer, a package that PYTHONPATH may point at, and what is installed of it.
file(GLOB python_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/python/bindings/*.cpp")
set(python_package "${CMAKE_BINARY_DIR}/python/vkformer")
set(python_files __init__.py __init__.pyi py.typed)
pybind11_add_module(vkformer_python MODULE NO_EXTRAS ${python_sources})
set_target_properties(vkformer_python PROPERTIES OUTPUT_NAME _vkformer LIBRARY_OUTPUT_DIRECTORY "${python_package}")
target_compile_options(vkformer_python PRIVATE ${warnings} $<$<CONFIG:Release>:-O1>)
target_compile_definitions(vkformer_python PRIVATE VKFORMER_VERSION="${PROJECT_VERSION}")
target_link_libraries(vkformer_python PRIVATE vkformer)
vkformer_unity(vkformer_python 5 "${python_sources}")
foreach(file IN LISTS python_files)
  configure_file("${CMAKE_SOURCE_DIR}/python/vkformer/${file}" "${python_package}/${file}" COPYONLY)
endforeach()

set(VKFORMER_PYTHON_DIR "${CMAKE_INSTALL_LIBDIR}/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}/site-packages"
    CACHE STRING "where the Python module is installed, below the prefix")
install(TARGETS vkformer_python LIBRARY DESTINATION "${VKFORMER_PYTHON_DIR}/vkformer" COMPONENT python)
list(TRANSFORM python_files PREPEND python/vkformer/)
install(FILES ${python_files} DESTINATION "${VKFORMER_PYTHON_DIR}/vkformer" COMPONENT python)
