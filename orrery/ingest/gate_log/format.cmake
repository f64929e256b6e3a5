set(SOURCES gate_log.cc)
set(TESTS gate_log_test.cc)
