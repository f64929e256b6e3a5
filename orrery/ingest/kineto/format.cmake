set(SOURCES adjust.cc assembler.cc collectives.cc event_stream.cc event_tokens.cc kineto.cc metadata.cc own_export.cc pipeline.cc row_builder.cc row_builder_device.cc split_ranks.cc
  window_parser.cc)
set(TESTS event_stream_test.cc kineto_test.cc)

# simdjson's on-demand parser is compiled for the build target; plain x86-64 has only its scalar
# form, eight times slower. Every x86-64 machine since 2015 runs this.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/kineto/window_parser.cc
    PROPERTIES COMPILE_OPTIONS "-march=x86-64-v3" SKIP_PRECOMPILE_HEADERS ON)
endif()
