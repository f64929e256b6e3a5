set(SOURCES json_tool.cc process.cc rocpd.cc rocprofv3.cc)
set(TESTS rocpd_test.cc rocprofv3_test.cc)
