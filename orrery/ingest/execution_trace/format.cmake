set(SOURCES collectives.cc execution_trace.cc
            node_reader.cc process_groups.cc )
set(TESTS collectives_test.cc damage_test.cc execution_trace_test.cc graph_samples_test.cc
          samples_test.cc)
