# XGBoost: XGBoost::xgboost. The CMake package that Debian ships names a program of another package.
find_path(XGBOOST_INCLUDE_DIR NAMES xgboost/c_api.h)
find_library(XGBOOST_LIBRARY NAMES xgboost)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XGBoost REQUIRED_VARS XGBOOST_LIBRARY XGBOOST_INCLUDE_DIR)
if(XGBoost_FOUND AND NOT TARGET XGBoost::xgboost)
  add_library(XGBoost::xgboost UNKNOWN IMPORTED)
  set_target_properties(XGBoost::xgboost PROPERTIES
    IMPORTED_LOCATION ${XGBOOST_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${XGBOOST_INCLUDE_DIR})
endif()
