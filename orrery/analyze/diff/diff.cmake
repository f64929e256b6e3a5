set(SOURCES diff.cc run_costs.cc )
set(TESTS diff_test.cc metric_change_test.cc)
