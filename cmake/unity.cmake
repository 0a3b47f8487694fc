# With VKFORMER_UNITY_BUILD, sources of one folder are compiled together, and headers that most include are parsed once.
# Names in unnamed namespaces then meet: two .cpp files of one folder must not use one for different things. A build
# without it sees includes that are missing, and locals that hide names of the file: together, files hide each other's.
option(VKFORMER_UNITY_BUILD "build several times faster from nothing; edits take longer, missing includes go unseen" OFF)
if(VKFORMER_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Large units fit into memory without GCC's looking for garbage.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-expand=1000>"
                      "$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=4000000>")
endif()

# Compiles those of `sources` that lie in one folder together, at most `most` in one unit; with a name after them,
# whatever their folders.
function(vkformer_unity target most sources)
  if(NOT VKFORMER_UNITY_BUILD)
    return()
  endif()
  foreach(source IN LISTS sources)
    if(ARGC GREATER 3)
      set(name "${ARGV3}")
    else()
      cmake_path(GET source PARENT_PATH folder)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
      string(REPLACE "/" "_" name "${folder}")
    endif()
    if(NOT DEFINED of_${name})
      set(of_${name} 0)
    endif()
    math(EXPR unit "${of_${name}} / ${most}")
    math(EXPR of_${name} "${of_${name}} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${name}_${unit}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
endfunction()
