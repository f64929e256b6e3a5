set(SOURCES blocking_calls.cc critical_path.cc dependency_graph.cc
  lanes.cc launch_edges.cc rank_part.cc
  what_if.cc)
set(TESTS critical_path_test.cc dependency_graph_test.cc graph_metrics_test.cc
  graph_property_test.cc instant_order_test.cc what_if_test.cc)
