include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

msc_build_installed()

install(EXPORT mscTargets NAMESPACE msc:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/msc)
configure_package_config_file(cmake/mscConfig.cmake.in mscConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/msc)
write_basic_package_version_file(mscConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mscConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/mscConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/msc)
