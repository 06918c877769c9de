# The Debian packages, which `cpack -G DEB` makes: encode (programs, plugins, Arrow C++) and encode-libtorch (LibTorch for the
# CPU). scripts/package.sh writes copyright, changelog, notices and SBOM of both into build/debian before it calls cpack.
set(debian ${CMAKE_BINARY_DIR}/debian)

foreach(package encode encode-libtorch)
  set(component debian)
  if(package STREQUAL "encode-libtorch")
    set(component debian_libtorch)
  endif()
  install(FILES ${debian}/${package}/copyright ${debian}/${package}/changelog.gz ${debian}/${package}/sbom.spdx.json
    DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(DIRECTORY ${debian}/${package}/notices DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
install(FILES packaging/debian/encode.overrides DESTINATION share/lintian/overrides RENAME encode
  COMPONENT debian EXCLUDE_FROM_ALL)
# Debian's zsh looks here, and not in site-functions below /usr.
install(FILES ${share}/_encode DESTINATION share/zsh/vendor-completions COMPONENT debian EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME encode)
set(CPACK_PACKAGE_VENDOR "encode")
set(CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_SOURCE_DIR}/out)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_THREADS 0)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL programs arrow debian libtorch debian_libtorch)
foreach(component programs arrow debian)
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENT_${upper}_GROUP encode)
endforeach()
foreach(component LIBTORCH DEBIAN_LIBTORCH)
  set(CPACK_COMPONENT_${component}_GROUP libtorch)
endforeach()

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${TORCH_ROOT}/lib ${TORCH_ROOT}/../nvidia/cu13/lib ${ARROW_ROOT})
set(CPACK_DEBIAN_ENCODE_PACKAGE_NAME encode)
set(CPACK_DEBIAN_ENCODE_PACKAGE_SECTION science)
set(CPACK_DEBIAN_ENCODE_PACKAGE_RECOMMENDS "encode-libtorch, libcurl4")
set(CPACK_DEBIAN_ENCODE_DESCRIPTION "turn text files into embedding matrices\n\
encode turns text files into embedding matrices with a transformer model,\n\
on a CUDA GPU or on the CPU. It commits each chunk of rows to disk, and\n\
after a crash it repeats only the chunks that were not yet committed.\n\
.\n\
Encoding needs LibTorch 2.11: the package encode-libtorch has it for the\n\
CPU, and the variable TORCH_ROOT names another one, for example the one of\n\
a Python environment with CUDA.")
set(CPACK_DEBIAN_LIBTORCH_PACKAGE_NAME encode-libtorch)
set(CPACK_DEBIAN_LIBTORCH_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBTORCH_DESCRIPTION "LibTorch ${ENCODE_TORCH_VERSION} for encode, on the CPU\n\
This package has the libraries of LibTorch that encode needs to run a model\n\
on the CPU, in a folder that no other program uses.")
include(CPack)
