# Adds to a version's own build, whatever its age, what takes part in the turns: CMake reads this file within that
# version's project (CMAKE_PROJECT_isthmus_INCLUDE), and nothing in its tree is changed. Targets: turns_version, turns.
function(add_turns)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  add_library(turns_version MODULE ${folder}/version.cpp)
  target_link_libraries(turns_version PRIVATE isthmus_core isthmus_build_flags)
  # Several versions lie in one process: no symbol of one may stand in for another's.
  target_link_options(turns_version PRIVATE -Wl,-Bsymbolic -Wl,--version-script=${folder}/version.map)
  set_target_properties(turns_version PROPERTIES
    PREFIX "" LINK_DEPENDS ${folder}/version.map LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/turns)

  add_executable(turns ${folder}/turns.cpp ${folder}/points.cpp ${folder}/device.cpp)
  target_include_directories(turns PRIVATE ${folder}/..)
  target_link_libraries(turns PRIVATE isthmus_build_flags ${CMAKE_DL_LIBS})
  set_target_properties(turns PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/turns)
endfunction()

# Afterwards: the library's targets aren't there yet.
cmake_language(DEFER CALL add_turns)
