set(SOURCES assemble.cc device_rows.cc orrs.cc piece_reader.cc recording.cc replay.cc touches.cc)
set(TESTS orrs_test.cc damage_test.cc defects_test.cc piece_plan_test.cc piece_reader_test.cc)
