# encode_module(NAME SOURCES a.cc b.cc DEPS base config LIBS PkgConfig::x)
#
# One static library `encode_NAME` for src/NAME. Its headers are reached as "NAME/header.h" through a folder that holds
# nothing but a link to this one module, so that a module sees the headers of its DEPS and no others: an include against
# the direction of the architecture does not compile.
function(encode_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS;PRIVATE_LIBS" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/module_include/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${name} SYMBOLIC)
  add_library(encode_${name} STATIC ${ARG_SOURCES})
  target_include_directories(encode_${name} PUBLIC ${root})
  target_link_libraries(encode_${name} PUBLIC encode_options ${ARG_LIBS} PRIVATE ${ARG_PRIVATE_LIBS})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(encode_${name} PUBLIC encode_${dep})
  endforeach()
endfunction()

# encode_test(NAME SOURCES a_test.cc DEPS store LABELS slow TIMEOUT 60 CAPABILITIES avx512)
# A GoogleTest program; every TEST becomes one CTest test named NAME.Suite.Case.
function(encode_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LIBS;LABELS;CAPABILITIES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE encode_options encode_testing GTest::gmock GTest::gtest_main ${ARG_LIBS})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${name} PRIVATE encode_${dep})
  endforeach()
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABELS)
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
  # The same tests once more as on a processor that has no more than the named instruction set.
  foreach(capability ${ARG_CAPABILITIES})
    gtest_discover_tests(${name} TEST_PREFIX "${name}.${capability}." DISCOVERY_TIMEOUT 60
      TEST_LIST ${name}_${capability}
      PROPERTIES ${properties} ENVIRONMENT ENCODE_CPU_CAPABILITY=${capability})
  endforeach()
endfunction()
