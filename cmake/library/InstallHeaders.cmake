# Installs the headers that mark something with ORRERY_API, and every header that these include: none is missing, none too many.
# Needs ORRERY_SOURCE, the repository, and ORRERY_INCLUDE, the folder for `orrery/`.
cmake_policy(VERSION 3.25)

# Libraries whose headers a program may need; orreryConfig.cmake finds these and no others.
set(public_includes "^(fmt|tl|tsl)/")

set(waiting "")
file(GLOB_RECURSE headers RELATIVE ${ORRERY_SOURCE} ${ORRERY_SOURCE}/orrery/*.h)
foreach(header ${headers})
  file(STRINGS ${ORRERY_SOURCE}/${header} marks REGEX "ORRERY_API")
  if(marks)
    list(APPEND waiting ${header})
  endif()
endforeach()

set(installed "")
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST installed)
    continue()
  endif()
  list(APPEND installed ${header})
  file(STRINGS ${ORRERY_SOURCE}/${header} lines REGEX "^#include ")
  foreach(line ${lines})
    if(line MATCHES "\"(orrery/[^\"]+)\"")
      list(APPEND waiting ${CMAKE_MATCH_1})
    elseif(line MATCHES "<([^>]+[./][^>]*)>" AND NOT CMAKE_MATCH_1 MATCHES ${public_includes})
      message(FATAL_ERROR "${header} includes <${CMAKE_MATCH_1}>, which an installed header may not: "
        "include it in a source, or name its library in cmake/library")
    endif()
  endforeach()
  get_filename_component(folder ${header} DIRECTORY)
  file(INSTALL ${ORRERY_SOURCE}/${header} DESTINATION ${ORRERY_INCLUDE}/${folder})
endwhile()
