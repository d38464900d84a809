# One library per folder. Every rule about include roots, warnings, header sets and export lives here once.
include(GNUInstallDirs)

add_library(msc_options INTERFACE)
target_compile_features(msc_options INTERFACE cxx_std_20)
target_compile_options(msc_options INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wnull-dereference>)
# GCC 12 reports -Wrestrict inside std::string where there is nothing to report (GCC bug 105651).
target_compile_options(msc_options INTERFACE
  $<BUILD_INTERFACE:$<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>>)
# GCC 12 makes functions of no bytes: the .cold half of one of which nothing is cold. Their unwind entries begin where the
# next function's does, LLD 14 keeps one of the two, and an exception through that function ends the program. Without
# .cold halves no linker can, nor one that links the installed libraries; scripts/check_unwind.py looks at what was linked.
target_compile_options(msc_options INTERFACE
  $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-fno-reorder-blocks-and-partition>>)
install(TARGETS msc_options EXPORT mscTargets)

# The Python module is a shared object made of the libraries. They are still linked into programs, so a
# function may be inlined as if nobody could replace it.
function(msc_position_independent target)
  if(MSC_WITH_PYTHON)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  endif()
endfunction()

# The standard headers take half of the time most of our files take. Those that many files include are
# precompiled (a few more megabytes to map cost every file more than they save some) where
# MSC_PRECOMPILE_LIBRARIES asks for it; the preset release and scripts/lint do without, and see whether
# each file includes what it uses.
if(MSC_PRECOMPILE_LIBRARIES)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "")
  add_library(msc_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cc)
  target_link_libraries(msc_precompiled PRIVATE msc_options)
  msc_position_independent(msc_precompiled)
  target_precompile_headers(msc_precompiled PRIVATE
    <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstdio> <cstring> <functional> <limits> <map>
    <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <utility> <variant> <vector>)
endif()

# msc_library(NAME compiler_ir SOURCES a.cc HEADERS a.h DEPS compiler_base [PRIVATE_DEPS ...]
#             [EXTERNAL Eigen3::Eigen])
# DEPS and PRIVATE_DEPS are libraries of ours, without "msc::". EXTERNAL are imported targets that only
# the .cc files see.
function(msc_library)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;HEADERS;DEPS;PRIVATE_DEPS;EXTERNAL" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "msc_library: unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_library(${arg_NAME} STATIC)
  add_library(msc::${arg_NAME} ALIAS ${arg_NAME})
  # a.cc includes a.h first (scripts/check_layers.py), which proves that a.h stands alone: only the
  # headers without such a partner are compiled by themselves to see that.
  set(paired ${arg_HEADERS})
  set(partners ${arg_SOURCES})
  list(TRANSFORM partners REPLACE "\\.cc$" ".h")
  set(unpaired ${arg_HEADERS})
  list(REMOVE_ITEM unpaired ${partners} "")
  list(REMOVE_ITEM paired ${unpaired} "")
  target_sources(${arg_NAME} PRIVATE ${arg_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${unpaired}
    PUBLIC FILE_SET paired TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${paired})
  msc_position_independent(${arg_NAME})
  list(TRANSFORM arg_DEPS PREPEND msc::)
  list(TRANSFORM arg_PRIVATE_DEPS PREPEND msc::)
  target_link_libraries(${arg_NAME}
    PUBLIC msc_options ${arg_DEPS}
    PRIVATE ${arg_PRIVATE_DEPS} ${arg_EXTERNAL})
  set_target_properties(${arg_NAME} PROPERTIES CXX_EXTENSIONS OFF VERIFY_INTERFACE_HEADER_SETS ON
    INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
  # OpenMP is a language option: what was precompiled without it is of no use.
  if(MSC_PRECOMPILE_LIBRARIES AND NOT "OpenMP::OpenMP_CXX" IN_LIST arg_EXTERNAL)
    target_precompile_headers(${arg_NAME} REUSE_FROM msc_precompiled)
  endif()
  msc_install(${arg_NAME} EXPORT mscTargets
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/msc
    FILE_SET paired DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/msc)
endfunction()
