# The simulator of managed memory.
set(uvm_file ${PROJECT_SOURCE_DIR}/data/memory/uvm.yaml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${uvm_file})
file(READ ${uvm_file} uvm)
configure_file(${CMAKE_CURRENT_LIST_DIR}/embedded_uvm.h.in
  ${CMAKE_CURRENT_BINARY_DIR}/orrery/memory/uvm/embedded_uvm.h @ONLY)

set(SOURCES
  faults.cc
  oracle.cc
  parameters.cc
  policy.cc
  prefetch_tree.cc
  residency.cc
  simulation.cc
  workload_builder.cc
)
set(TESTS
  faults_test.cc
  page_mask_test.cc
  prefetch_tree_test.cc
  residency_test.cc
  simulation_test.cc
)
