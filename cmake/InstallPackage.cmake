# What the Python package holds: component `python`, which pip alone installs.
function(install_package_part)
  install(${ARGV} COMPONENT python EXCLUDE_FROM_ALL)
endfunction()

# The emulated driver lies beside the module: that is where locate_driver() looks.
install_package_part(TARGETS _native isthmus_emulator LIBRARY DESTINATION isthmus)

# What `isthmus watch` preloads, and what `isthmus exec` opens then.
if(TARGET isthmus_watch)
  install_package_part(TARGETS isthmus_watch isthmus_exec LIBRARY DESTINATION isthmus)
endif()

# A wheel holds no symbolic links, so what is linked to elsewhere is copied. Programs already linked look for the name with a
# number; linkers, ctypes and NCCL for the one without.
foreach(library isthmus gdrapi)
  get_target_property(number ${library} SOVERSION)
  foreach(name lib${library}.so lib${library}.so.${number})
    install_package_part(PROGRAMS $<TARGET_FILE:${library}> DESTINATION isthmus RENAME ${name})
  endforeach()
endforeach()
# The headers for C. Those for C++ are with the library: see InstallLibrary.cmake.
file(GLOB c_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cpp/include/isthmus/*.h)
install_package_part(FILES ${c_headers} DESTINATION isthmus/include/isthmus)
install_package_part(FILES ${PROJECT_SOURCE_DIR}/cpp/include/gdrapi/gdrapi.h DESTINATION isthmus/include)
# Read whenever a Python starts: with ISTHMUS_WATCH set, it starts again under watch.
install_package_part(FILES ${PROJECT_SOURCE_DIR}/python/isthmus_watch.pth DESTINATION .)
if(SKBUILD)
  include(Licences)
endif()
