set(SOURCES nvf1.cc sample.cc)
set(TESTS nvf1_test.cc)
set(FUZZERS nvf1_fuzz.cc)
