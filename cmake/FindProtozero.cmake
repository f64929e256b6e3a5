# protozero is header-only and ships no CMake package: Protozero::protozero.
find_path(PROTOZERO_INCLUDE_DIR NAMES protozero/pbf_reader.hpp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Protozero REQUIRED_VARS PROTOZERO_INCLUDE_DIR)
if(Protozero_FOUND AND NOT TARGET Protozero::protozero)
  add_library(Protozero::protozero INTERFACE IMPORTED)
  set_target_properties(Protozero::protozero PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${PROTOZERO_INCLUDE_DIR})
endif()
