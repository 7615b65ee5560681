# The licences of what is compiled into the wheel, beside its own: in the dist-info folder, under licenses/.
include(WheelFile)
foreach(package nlohmann-json nanobind)
  wheel_file(licence "*.dist-info/licenses/LICENSE" ${package})
  if(licence)
    install(FILES ${licence} DESTINATION ${SKBUILD_METADATA_DIR}/licenses/${package}
      COMPONENT python EXCLUDE_FROM_ALL)
  else()
    message(STATUS "No licence of ${package}: a wheel that is passed on needs it (pip install ${package})")
  endif()
endforeach()
