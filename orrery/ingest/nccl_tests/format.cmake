set(SOURCES column_layout.cc nccl_tests.cc run.cc
            run_header.cc )
set(TESTS column_layout_test.cc infer_run_test.cc line_prefix_test.cc nccl_tests_test.cc)
