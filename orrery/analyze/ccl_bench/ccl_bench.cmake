set(SOURCES chrome_metrics.cc chrome_slices.cc collective_metrics.cc communication_metrics.cc
  compat.cc json_fields.cc kernel_metrics.cc kernel_rows.cc launch_geometry.cc link_intervals.cc
  measured_tables.cc memory_metrics.cc model_family.cc name_words.cc nccl_metrics.cc
  nvlink_metrics.cc peer_to_peer.cc step_markers.cc step_metrics.cc)
set(TESTS compat_test.cc json_fields_test.cc name_words_test.cc)
