# With VKFORMER_UNITY_BUILD, sources of one folder are compiled together, and headers that most include are parsed once.
# Names in unnamed namespaces then meet: two .cpp files of one folder must not use one for different things. A build
# without it sees includes that are missing and names that hide others.
option(VKFORMER_UNITY_BUILD "build several times faster from nothing; edits take longer, missing includes go unseen" OFF)

# Compiles those of `sources` that lie in one folder together, at most `most` in one unit.
function(vkformer_unity target most sources)
  if(NOT VKFORMER_UNITY_BUILD)
    return()
  endif()
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
    string(REPLACE "/" "_" name "${folder}")
    if(NOT DEFINED of_${name})
      set(of_${name} 0)
    endif()
    math(EXPR unit "${of_${name}} / ${most}")
    math(EXPR of_${name} "${of_${name}} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${name}_${unit}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE -Wno-shadow)
endfunction()
