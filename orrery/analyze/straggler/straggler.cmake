set(SOURCES device_graph.cc operation_table.cc recorded_operations.cc slowdown.cc straggler_analysis.cc
  timeline_dependencies.cc timeline_operations.cc)
set(TESTS recorded_operations_test.cc timeline_operations_test.cc)
set(FUZZERS timeline_operations_fuzz.cc)
