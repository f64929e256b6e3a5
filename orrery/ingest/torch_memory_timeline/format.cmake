set(SOURCES torch_memory_timeline.cc)
set(TESTS torch_memory_timeline_test.cc)
