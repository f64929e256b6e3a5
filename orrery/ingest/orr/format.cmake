set(SOURCES orr.cc)
set(TESTS orr_test.cc)
set(FUZZERS orr_fuzz.cc)
