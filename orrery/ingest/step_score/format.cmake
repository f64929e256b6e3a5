set(SOURCES step_score.cc)
set(TESTS step_score_test.cc)
