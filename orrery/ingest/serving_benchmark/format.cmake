set(SOURCES serving_benchmark.cc)
set(TESTS serving_benchmark_test.cc)
set(FUZZERS serving_benchmark_fuzz.cc)
