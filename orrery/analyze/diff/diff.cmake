set(SOURCES cost_change.cc diff.cc metric_change.cc run_costs.cc )
set(TESTS diff_test.cc metric_change_test.cc)
