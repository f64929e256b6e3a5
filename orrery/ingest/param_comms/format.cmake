set(SOURCES param_comms.cc result_columns.cc )
set(TESTS param_comms_test.cc result_columns_test.cc)
