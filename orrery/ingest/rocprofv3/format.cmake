set(SOURCES csv_tables.cc json_tool.cc process.cc rocprofv3.cc)
set(TESTS rocprofv3_test.cc)
set(FUZZERS rocprofv3_fuzz.cc)
