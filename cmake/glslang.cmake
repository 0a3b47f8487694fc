# The GLSL compiler: GLSLANG, and what it can compile, VKFORMER_GLSLANG_HAS. Where the installed one lacks a feature that
# shaders need, a pinned release is fetched and built once; without a network the build goes on without those shaders and
# says so. VKFORMER_GLSLANG=installed or fetched forces either.

set(VKFORMER_GLSLANG "" CACHE STRING "installed, fetched; empty: fetched where the installed one lacks a feature")
set(VKFORMER_GLSLANG_FROM "https://github.com/KhronosGroup/glslang.git" CACHE STRING "where glslang is fetched from")
mark_as_advanced(VKFORMER_GLSLANG_FROM)
set(glslang_release 15.4.0)

# Features and the extensions that they are.
set(glslang_features cooperative_matrix:GL_KHR_cooperative_matrix cooperative_matrix2:GL_NV_cooperative_matrix2
    bfloat16:GL_EXT_bfloat16)

# Sets `features` to those that a compiler has.
function(vkformer_probe_glslang compiler features)
  set(has "")
  foreach(pair IN LISTS glslang_features)
    string(REPLACE ":" ";" pair "${pair}")
    list(GET pair 0 feature)
    list(GET pair 1 extension)
    set(probe "${CMAKE_BINARY_DIR}/probe_${feature}.comp")
    file(WRITE "${probe}" "#version 460\n#extension ${extension} : require\nvoid main() {}\n")
    execute_process(COMMAND "${compiler}" -V --target-env vulkan1.3 "${probe}" -o "${probe}.spv"
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed EQUAL 0)
      list(APPEND has "${feature}")
    endif()
  endforeach()
  set(${features} "${has}" PARENT_SCOPE)
endfunction()

# Sets `compiler` to the pinned release's, or to nothing when it can't be had. Tried once for a build folder: a failure is
# kept, so that configuring again does not wait for a network.
function(vkformer_fetch_glslang compiler)
  set(source "${CMAKE_BINARY_DIR}/glslang-${glslang_release}")
  set(built "${source}-build/StandAlone/glslang${CMAKE_EXECUTABLE_SUFFIX}")
  set(${compiler} "" PARENT_SCOPE)
  if(NOT EXISTS "${built}")
    if(VKFORMER_GLSLANG_FAILED STREQUAL "${VKFORMER_GLSLANG_FROM} ${glslang_release}")
      return()
    endif()
    message(STATUS "fetching and building glslang ${glslang_release} in ${source}-build")
    file(REMOVE_RECURSE "${source}" "${source}-build")
    find_program(GIT git)
    foreach(step "${GIT};-c;advice.detachedHead=false;clone;--quiet;--depth;1;--branch;${glslang_release};${VKFORMER_GLSLANG_FROM};${source}"
            "${CMAKE_COMMAND};-S;${source};-B;${source}-build;-G;${CMAKE_GENERATOR};-DCMAKE_BUILD_TYPE=Release;-DENABLE_OPT=OFF;-DENABLE_HLSL=OFF;-DGLSLANG_TESTS=OFF"
            "${CMAKE_COMMAND};--build;${source}-build;--target;glslang-standalone;--parallel")
      execute_process(COMMAND ${step} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
      if(NOT failed EQUAL 0)
        string(REGEX MATCH "[^\n]+" said "${said}")
        message(STATUS "no glslang ${glslang_release}: ${said}")
        set(VKFORMER_GLSLANG_FAILED "${VKFORMER_GLSLANG_FROM} ${glslang_release}" CACHE INTERNAL "")
        return()
      endif()
    endforeach()
  endif()
  set(${compiler} "${built}" PARENT_SCOPE)
endfunction()

find_program(VKFORMER_INSTALLED_GLSLANG glslangValidator)
set(GLSLANG "${VKFORMER_INSTALLED_GLSLANG}")
set(VKFORMER_GLSLANG_HAS "")
if(GLSLANG)
  vkformer_probe_glslang("${GLSLANG}" VKFORMER_GLSLANG_HAS)
endif()
list(LENGTH glslang_features wanted)
list(LENGTH VKFORMER_GLSLANG_HAS had)
if(VKFORMER_GLSLANG STREQUAL "fetched" OR (NOT VKFORMER_GLSLANG STREQUAL "installed" AND (NOT GLSLANG OR had LESS wanted)))
  vkformer_fetch_glslang(fetched)
  if(fetched)
    set(GLSLANG "${fetched}")
    vkformer_probe_glslang("${GLSLANG}" VKFORMER_GLSLANG_HAS)
  elseif(VKFORMER_GLSLANG STREQUAL "fetched")
    message(FATAL_ERROR "glslang ${glslang_release} can't be had from ${VKFORMER_GLSLANG_FROM}")
  endif()
endif()
if(NOT GLSLANG)
  message(FATAL_ERROR "there is no glslangValidator (package glslang-tools or glslang), and none can be fetched")
endif()
