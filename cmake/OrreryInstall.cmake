# What `make install` puts where.
include(GNUInstallDirs)

install(TARGETS orrery RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/orrery.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# Pages of verbs and completions are what the program says of itself, so that they cannot differ.
set(generated ${PROJECT_BINARY_DIR}/installed)
install(CODE "
  set(program \"$<TARGET_FILE:orrery>\")
  file(REMOVE_RECURSE ${generated})
  execute_process(COMMAND \${program} help --man-pages ${generated}/man COMMAND_ERROR_IS_FATAL ANY)
  file(MAKE_DIRECTORY ${generated}/completion)
  foreach(shell bash zsh fish)
    execute_process(COMMAND \${program} completion \${shell} OUTPUT_FILE ${generated}/completion/\${shell}
                    COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")
install(DIRECTORY ${generated}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${generated}/completion/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME orrery)
install(FILES ${generated}/completion/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _orrery)
install(FILES ${generated}/completion/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME orrery.fish)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/capture DESTINATION ${CMAKE_INSTALL_DATADIR}/orrery
  USE_SOURCE_PERMISSIONS PATTERN build EXCLUDE PATTERN __pycache__ EXCLUDE PATTERN "*_test.*" EXCLUDE)
# capture builds its libraries with these headers.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/orrery/stream DESTINATION ${CMAKE_INSTALL_DATADIR}/orrery/orrery
  FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE ${PROJECT_SOURCE_DIR}/README.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Packages that are only headers became part of the program; no other package brings their licences along.
file(STRINGS ${PROJECT_SOURCE_DIR}/tools/dependencies.csv header_only REGEX "^debian,.*,header-only,")
foreach(row ${header_only})
  string(REGEX REPLACE "^debian,([^,]+),.*" "\\1" package ${row})
  install(FILES /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME ${package} OPTIONAL)
endforeach()
