# The simulator of managed memory: sources of orrery_memory. What it assumes of the driver is part of
# the program.
set(uvm_file ${PROJECT_SOURCE_DIR}/data/memory/uvm.yaml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${uvm_file})
file(READ ${uvm_file} uvm)
configure_file(${CMAKE_CURRENT_LIST_DIR}/embedded_uvm.h.in
  ${CMAKE_CURRENT_BINARY_DIR}/orrery/memory/uvm/embedded_uvm.h @ONLY)
target_include_directories(orrery_memory PRIVATE ${CMAKE_CURRENT_BINARY_DIR})

set(SOURCES
  collect.cc
  oracle.cc
  parameters.cc
  residency.cc
  simulation.cc
  workload.cc
)
set(TESTS
  acceptance_test.cc
  collect_test.cc
  faults_test.cc
  oracle_test.cc
  page_mask_test.cc
  parameters_test.cc
  prefetch_tree_test.cc
  residency_test.cc
  simulation_test.cc
)
list(TRANSFORM SOURCES PREPEND uvm/)
list(TRANSFORM TESTS PREPEND uvm/)
target_sources(orrery_memory PRIVATE ${SOURCES})
if(TARGET memory_test)
  target_sources(memory_test PRIVATE ${TESTS})
endif()
