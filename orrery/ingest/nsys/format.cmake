set(SOURCES
  collectives.cc device_rows.cc export_context.cc 
  gpu_map.cc nccl_operations.cc
  nsys_format.cc nvtx_payload.cc nvtx_rows.cc rank_set.cc
  host_rows.cc sync_rows.cc)
set(TESTS
  emit_nvtx_test.cc nccl_operations_test.cc nsys_format_test.cc nsys_nccl_test.cc
  nsys_samples_test.cc)
