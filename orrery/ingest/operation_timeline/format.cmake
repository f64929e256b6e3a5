set(SOURCES operation_timeline.cc)
set(TESTS operation_timeline_test.cc)
