set(SOURCES diff.cc paired_collectives.cc)
set(TESTS diff_test.cc metric_change_test.cc paired_collectives_test.cc)
