set(SOURCES pickle_reader.cc pickle_value.cc replay.cc 
  snapshot.cc torch_snapshot.cc)
set(TESTS pickle_reader_test.cc ranges_test.cc torch_snapshot_test.cc)
