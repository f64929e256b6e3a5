# One call describes a module: its sources, tests, benchmarks and fuzzers, the modules it may use
# (DEPS) and the outside libraries it links (LIBS). The edges are noted for tools/check_layers.py.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

include(OrreryFastBuild)

add_library(orrery_settings INTERFACE)
target_include_directories(orrery_settings INTERFACE ${PROJECT_SOURCE_DIR})
# -ffp-contract=off: aarch64 fuses a*b+c by default and x86-64 does not; the same input must give
# the same bytes on both.
target_compile_options(orrery_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 implements std::stable_sort with a function that it deprecates itself.
  # Embedded data files are long strings.
  target_compile_options(orrery_settings INTERFACE -Wno-deprecated-declarations -Wno-overlength-strings)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  # GCC 12 and 13 see overflows inside the standard library that do not exist (105329, 105651).
  target_compile_options(orrery_settings INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
                         -Wno-stringop-overread)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(orrery_settings INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(ORRERY_SANITIZE)
  add_compile_options(-fsanitize=${ORRERY_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${ORRERY_SANITIZE})
  add_compile_definitions(ORRERY_SANITIZES)
  if(ORRERY_SANITIZE MATCHES thread)
    add_compile_definitions(ORRERY_SANITIZES_THREADS)
  endif()
endif()

set(ORRERY_TEST_INCLUDE ${PROJECT_BINARY_DIR}/test_include)
configure_file(${CMAKE_CURRENT_LIST_DIR}/test_paths.h.in ${ORRERY_TEST_INCLUDE}/test_paths.h @ONLY)

# Benchmarks are built when somebody asks for them: `make bench*`.
add_custom_target(benches)
add_custom_target(fuzzers)

function(orrery_module)
  cmake_parse_arguments(M "" "NAME" "SOURCES;TESTS;BENCHES;FUZZERS;DEPS;LIBS;TEST_LIBS" ${ARGN})
  set(deps ${M_DEPS})
  list(TRANSFORM deps PREPEND orrery_)
  add_library(orrery_${M_NAME} STATIC ${M_SOURCES})
  target_link_libraries(orrery_${M_NAME} PUBLIC orrery_settings ${deps} ${M_LIBS})
  orrery_precompile(orrery_${M_NAME} orrery_library_pch)

  list(JOIN M_DEPS " " edges)
  set_property(GLOBAL APPEND PROPERTY ORRERY_LAYERS "${M_NAME}: ${edges}")

  if(ORRERY_BUILD_TESTS AND M_TESTS)
    add_executable(${M_NAME}_test ${M_TESTS})
    target_link_libraries(${M_NAME}_test PRIVATE orrery_${M_NAME} ${M_TEST_LIBS}
                          GTest::gmock GTest::gtest_main)
    orrery_precompile(${M_NAME}_test orrery_test_pch)
    target_compile_options(${M_NAME}_test PRIVATE ${ORRERY_TEST_OPTIONS})
    target_include_directories(${M_NAME}_test PRIVATE ${ORRERY_TEST_INCLUDE})
    # Values of parameters would put addresses into the names of tests.
    gtest_discover_tests(${M_NAME}_test DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      NO_PRETTY_VALUES)
  endif()
  if(ORRERY_BUILD_BENCHES AND M_BENCHES)
    add_executable(${M_NAME}_bench EXCLUDE_FROM_ALL ${M_BENCHES})
    target_link_libraries(${M_NAME}_bench PRIVATE orrery_${M_NAME} benchmark::benchmark_main)
    orrery_precompile(${M_NAME}_bench orrery_library_pch)
    add_dependencies(benches ${M_NAME}_bench)
  endif()
  if(ORRERY_BUILD_FUZZERS)
    foreach(source ${M_FUZZERS})
      get_filename_component(fuzzer ${source} NAME_WE)
      add_executable(${fuzzer} ${source})
      target_link_libraries(${fuzzer} PRIVATE orrery_${M_NAME} -fsanitize=fuzzer)
      set_target_properties(${fuzzer} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzzers)
      add_dependencies(fuzzers ${fuzzer})
    endforeach()
  endif()
endfunction()

# Writes the declared edges for the layer check; call it after the last module.
function(orrery_write_layers)
  get_property(layers GLOBAL PROPERTY ORRERY_LAYERS)
  list(JOIN layers "\n" text)
  file(WRITE ${PROJECT_BINARY_DIR}/layers.txt "${text}\n")
endfunction()
