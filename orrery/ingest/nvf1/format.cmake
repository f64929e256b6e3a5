set(SOURCES nvf1.cc )
set(TESTS nvf1_test.cc)
