# What makes builds quick and changes nothing else: ccache, a fast linker, thin archives, and two
# precompiled headers that all modules share.

# ccache must be told that precompiled headers and their time stamps are fine to compare by content, and that another
# checkout of the same sources is the same: paths below the sources are relative to it.
find_program(ORRERY_CCACHE ccache)
if(ORRERY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${ORRERY_CCACHE})
endif()

find_program(ORRERY_MOLD mold)
find_program(ORRERY_LLD ld.lld)
if(ORRERY_MOLD)
  add_link_options(-fuse-ld=mold)
elseif(ORRERY_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# An archive names its objects instead of copying them and their debug information.
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> qcT <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "<CMAKE_AR> qT <TARGET> <LINK_FLAGS> <OBJECTS>")

# Headers from outside that most sources include. Ours are not among them: a source must name what
# it uses, and a change of ours must not rebuild everything.
set(ORRERY_LIBRARY_PCH
  <algorithm> <array> <bit> <charconv> <cmath> <cstddef> <cstdint> <filesystem> <functional>
  <limits> <map> <memory> <numeric> <optional> <set> <span> <string> <string_view> <tuple>
  <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)

# Optimising the expectations of tests takes half of their compile time and gains nothing: the code
# under test is optimised.
set(ORRERY_TEST_OPTIONS -O0)

# Compiles the headers once, in a library of that name; others use the result (orrery_precompile).
function(orrery_add_pch name)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cc CONTENT "" @ONLY)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE orrery_settings fmt::fmt tl::expected)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

function(orrery_precompile target pch)
  if(NOT TARGET orrery_library_pch)
    orrery_add_pch(orrery_library_pch ${ORRERY_LIBRARY_PCH})
    target_compile_options(orrery_library_pch PRIVATE ${ORRERY_LIBRARY_OPTIONS})
  endif()
  if(ORRERY_BUILD_TESTS AND NOT TARGET orrery_test_pch)
    orrery_add_pch(orrery_test_pch ${ORRERY_LIBRARY_PCH} <gtest/gtest.h> <gmock/gmock.h>)
    target_link_libraries(orrery_test_pch PRIVATE GTest::gmock)
    target_compile_options(orrery_test_pch PRIVATE ${ORRERY_TEST_OPTIONS})
  endif()
  if(pch STREQUAL orrery_library_pch)
    target_compile_options(${target} PRIVATE ${ORRERY_LIBRARY_OPTIONS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${pch})
endfunction()
