set(SOURCES arrivals.cc device_graph.cc operation_table.cc recorded_operations.cc segment_use.cc slowdown.cc
  straggler_analysis.cc straggler_cause.cc timeline_dependencies.cc timeline_operations.cc)
set(TESTS recorded_operations_test.cc straggler_cause_test.cc timeline_operations_test.cc)
set(FUZZERS timeline_operations_fuzz.cc)
