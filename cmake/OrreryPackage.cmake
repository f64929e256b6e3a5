# `make package`: orrery_VERSION_ARCHITECTURE.deb and orrery-VERSION-linux-PROCESSOR.tar.gz in build/package, with all that
# `make install` installs.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME orrery)
set(CPACK_PACKAGE_VENDOR Orrery)
set(CPACK_PACKAGE_CONTACT "The authors of Orrery <orrery@orrery.invalid>")
string(TOLOWER orrery-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR} CPACK_PACKAGE_FILE_NAME)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Of the program and of liborrery.so, by dpkg-shlibdeps.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# Headers of the library include the first three; capture, trace and measure are Python.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libexpected-dev, libfmt-dev, robin-map-dev, python3")
# Much quicker than xz, the default; dpkg of Debian 12 and of Ubuntu 24.04 reads it.
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
include(CPack)
