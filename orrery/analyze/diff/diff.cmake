set(SOURCES diff.cc )
set(TESTS diff_test.cc metric_change_test.cc)
