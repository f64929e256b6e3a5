set(SOURCES device_rows.cc host_rows.cc lives.cc names.cc orrs.cc pages.cc recording.cc replay.cc touches.cc)
set(TESTS orrs_test.cc damage_test.cc defects_test.cc)
set(FUZZERS orrs_fuzz.cc)
