# wheel_file(RESULT PATTERN PACKAGES): the path of a file of the building Python's packages, or nothing. Nothing is
# cached, so that what pip has installed or removed since is seen.
function(wheel_file result pattern packages)
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/wheel_file.py ${pattern} ${packages}
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${path}" PARENT_SCOPE)
endfunction()
