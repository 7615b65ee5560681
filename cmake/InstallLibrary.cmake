# The library for C and C++: `cmake --install BUILD --prefix PREFIX` puts it there. Components: library, headers, cmake,
# pkgconfig. What was installed may be moved: all paths in it are relative.
include(CMakePackageConfigHelpers)

# The emulated driver lies beside the library, which looks for it there; programs link with it where there is no GPU.
set_target_properties(isthmus_emulator PROPERTIES EXPORT_NAME emulator)
install(TARGETS isthmus isthmus_emulator EXPORT isthmusTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT headers
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers)

set(cmake_package ${CMAKE_INSTALL_LIBDIR}/cmake/isthmus)
install(EXPORT isthmusTargets NAMESPACE isthmus:: DESTINATION ${cmake_package} COMPONENT cmake)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/isthmusConfig.cmake.in ${PROJECT_BINARY_DIR}/isthmusConfig.cmake
  INSTALL_DESTINATION ${cmake_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/isthmusConfigVersion.cmake COMPATIBILITY ${compatible_versions})
install(FILES ${PROJECT_BINARY_DIR}/isthmusConfig.cmake ${PROJECT_BINARY_DIR}/isthmusConfigVersion.cmake
  DESTINATION ${cmake_package} COMPONENT cmake)

set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pkgconfig /prefix/${pkgconfig_folder} /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/isthmus.pc.in ${PROJECT_BINARY_DIR}/isthmus.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/isthmus.pc DESTINATION ${pkgconfig_folder} COMPONENT pkgconfig)
