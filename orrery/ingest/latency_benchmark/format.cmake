set(SOURCES latency_benchmark.cc)
set(TESTS latency_benchmark_test.cc)
