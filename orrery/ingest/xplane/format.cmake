set(SOURCES kernel_details.cc
            message.cc plane.cc plane_rows.cc stat.cc xplane.cc)
set(TESTS async_pairs_test.cc interval_test.cc kernel_details_test.cc message_test.cc
          xplane_damage_test.cc xplane_samples_test.cc xplane_test.cc)
