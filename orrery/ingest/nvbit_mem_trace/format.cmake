set(SOURCES line.cc nvbit_mem_trace.cc)
set(TESTS nvbit_mem_trace_test.cc)
