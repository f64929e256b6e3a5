set(SOURCES nvf1.cc )
set(TESTS nvf1_test.cc)
set(FUZZERS nvf1_fuzz.cc)
