set(SOURCES serving_benchmark.cc)
set(TESTS serving_benchmark_test.cc)
