set(SOURCES step_score.cc)
set(TESTS step_score_test.cc)
set(FUZZERS step_score_fuzz.cc)
