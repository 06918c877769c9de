# What `cmake --install` and the packages contain. The folders are those of GNUInstallDirs, except the private folder
# lib/encode: encode looks for encode-worker and its plugins in ../lib/encode (kPrivateFolder in src/base/environment.h).
#
# Components:
#   programs   the programs, the plugins, the manual page, completions, documents
#   plain      files that a Debian package has elsewhere: the licence, the completions of zsh
#   local      links to the LibTorch and the Arrow C++ of this build; packages do not have them
#   arrow      a copy of Arrow C++ below lib/encode (only in packages)
#   libtorch   a copy of LibTorch for the CPU below lib/encode (only in packages)
#   debian     files that only a Debian package has
include(GNUInstallDirs)
set(private_dir lib/encode)
set(share ${CMAKE_BINARY_DIR}/share)
set(maintainer "encode maintainers <maintainers@encode.example.org>")

# encode itself prints the manual page and the completions. A manual page is compressed, as Debian requires.
file(MAKE_DIRECTORY ${share})
find_program(GZIP gzip REQUIRED)
add_custom_command(OUTPUT ${share}/encode.1.gz ${share}/encode ${share}/_encode ${share}/encode.fish
  COMMAND encode man > ${share}/encode.1
  COMMAND ${GZIP} -9nf ${share}/encode.1
  COMMAND encode completions bash > ${share}/encode
  COMMAND encode completions zsh > ${share}/_encode
  COMMAND encode completions fish > ${share}/encode.fish
  DEPENDS encode
  COMMENT "Writing the manual page and the completions")
add_custom_target(encode_share ALL DEPENDS ${share}/encode.1.gz)

# An installed program finds the libraries that a package brings in the private folder. LD_LIBRARY_PATH comes before this path.
set_target_properties(encode PROPERTIES INSTALL_RPATH "$ORIGIN/../${private_dir}")
install(TARGETS encode RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
if(ENCODE_HAVE_TORCH)
  set_target_properties(encode-worker PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/torch/lib")
  install(TARGETS encode-worker RUNTIME DESTINATION ${private_dir} COMPONENT programs)
endif()
if(TARGET encode_cuda)
  install(TARGETS encode_cuda LIBRARY DESTINATION ${private_dir} COMPONENT programs)
endif()
if(ENCODE_HAVE_ARROW)
  set_target_properties(encode_arrow_plugin PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/arrow")
  install(TARGETS encode_arrow_plugin LIBRARY DESTINATION ${private_dir} COMPONENT programs)
endif()
install(FILES ${share}/encode.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
install(FILES ${share}/encode DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT programs)
install(FILES ${share}/encode.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT programs)
install(FILES ${share}/_encode DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT plain)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT programs FILES_MATCHING PATTERN "*.md")
install(FILES configs/experiment.yaml configs/schema.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/configs COMPONENT programs)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT plain)

# link_to(NAME FOLDER): at the time of installation, makes lib/encode/NAME a link to FOLDER.
function(link_to name folder)
  install(CODE "
    set(link \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${private_dir}/${name}\")
    file(REMOVE \"\${link}\")
    file(CREATE_LINK \"${folder}\" \"\${link}\" SYMBOLIC)" COMPONENT local)
endfunction()

# strip_at(FOLDER COMPONENT): at the time of installation, removes the symbols of the libraries in lib/encode/FOLDER.
# NVIDIA's libraries stay as they are, as their licence requires.
function(strip_at folder component)
  install(CODE "
    file(GLOB libraries \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${private_dir}/${folder}/*.so*\")
    execute_process(COMMAND ${CMAKE_STRIP} --strip-unneeded \${libraries} COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

if(ENCODE_HAVE_TORCH)
  link_to(torch ${TORCH_ROOT})
  file(GLOB torch_libraries ${TORCH_ROOT}/lib/libtorch_cpu.so ${TORCH_ROOT}/lib/libc10.so ${TORCH_ROOT}/lib/libgomp*)
  file(GLOB nvidia_libraries ${TORCH_ROOT}/../nvidia/cu13/lib/libcudart.so.* ${TORCH_ROOT}/../nvidia/cu13/lib/libcupti.so.*)
  install(FILES ${torch_libraries} DESTINATION ${private_dir}/torch/lib COMPONENT libtorch EXCLUDE_FROM_ALL)
  install(FILES ${nvidia_libraries} DESTINATION ${private_dir}/nvidia/cu13/lib COMPONENT libtorch EXCLUDE_FROM_ALL)
  strip_at(torch/lib libtorch)
endif()
if(ENCODE_HAVE_ARROW)
  link_to(arrow ${ARROW_ROOT})
  install(FILES ${arrow_libraries} DESTINATION ${private_dir}/arrow COMPONENT arrow EXCLUDE_FROM_ALL)
  strip_at(arrow arrow)
endif()

include(EncodeDebian)
