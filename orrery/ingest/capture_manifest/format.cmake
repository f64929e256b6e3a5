set(SOURCES capture_manifest.cc)
set(TESTS capture_manifest_test.cc)
set(FUZZERS capture_manifest_fuzz.cc)
