# `cmake --install` builds what it installs and is not there yet, so that it works where nothing was built, or one target
# (scripts/demo), as where all was. To be included before the first msc_install: install rules run in the order in which
# they are given.
install(SCRIPT ${CMAKE_CURRENT_BINARY_DIR}/build_installed.cmake ALL_COMPONENTS)

# msc_install(TARGET ...): install(TARGETS), with its arguments, of a target that makes a file.
function(msc_install target)
  install(TARGETS ${target} ${ARGN})
  set_property(GLOBAL APPEND PROPERTY MSC_INSTALLED ${target})
endfunction()

# After the last msc_install: the target `installed`, all that is installed.
function(msc_build_installed)
  get_property(targets GLOBAL PROPERTY MSC_INSTALLED)
  add_custom_target(installed)
  add_dependencies(installed ${targets})
  set(files "")
  foreach(target IN LISTS targets)
    string(APPEND files "  \"$<TARGET_FILE:${target}>\"\n")
  endforeach()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/build_installed.cmake.in build_installed.cmake.in @ONLY)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/build_installed.cmake
    INPUT ${CMAKE_CURRENT_BINARY_DIR}/build_installed.cmake.in)
endfunction()
