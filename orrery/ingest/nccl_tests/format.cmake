set(SOURCES column_layout.cc infer_run.cc json_log.cc nccl_tests.cc run.cc
            run_header.cc text_log.cc)
set(TESTS column_layout_test.cc infer_run_test.cc line_prefix_test.cc nccl_tests_test.cc)
