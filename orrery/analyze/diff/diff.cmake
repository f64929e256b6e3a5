set(SOURCES cost_change.cc diff.cc memory_peaks.cc metric_change.cc operator_costs.cc run_costs.cc step_parts.cc)
set(TESTS diff_test.cc metric_change_test.cc)
