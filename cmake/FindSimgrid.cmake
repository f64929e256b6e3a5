# SimGrid in Debian ships no CMake package: Simgrid::simgrid. Only tests and benchmarks use it.
find_path(SIMGRID_INCLUDE_DIR NAMES simgrid/s4u.hpp)
find_library(SIMGRID_LIBRARY NAMES simgrid)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Simgrid REQUIRED_VARS SIMGRID_LIBRARY SIMGRID_INCLUDE_DIR)
if(Simgrid_FOUND AND NOT TARGET Simgrid::simgrid)
  add_library(Simgrid::simgrid UNKNOWN IMPORTED)
  set_target_properties(Simgrid::simgrid PROPERTIES
    IMPORTED_LOCATION ${SIMGRID_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${SIMGRID_INCLUDE_DIR})
endif()
