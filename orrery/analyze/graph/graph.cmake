set(SOURCES blocking_calls.cc critical_path.cc dependency_graph.cc device_lanes.cc edge_grouping.cc
  event_edges.cc full_queue.cc graph_builder.cc graph_holder.cc hand_over.cc host_lanes.cc
  instant_order.cc lateness.cc launch_edges.cc launch_order.cc rendezvous.cc node_numbering.cc
  rank_part.cc replay.cc step_window.cc what_if.cc)
set(TESTS critical_path_test.cc dependency_graph_test.cc graph_metrics_test.cc
  graph_property_test.cc instant_order_test.cc what_if_test.cc)
