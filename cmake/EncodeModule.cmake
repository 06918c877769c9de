# encode_compile_at_once(TARGET): with ENCODE_UNITY, up to ENCODE_UNITY_SOURCES of the sources of TARGET become one. They parse
# the same headers and expand the same templates, so this takes a third of the time. A helper of one source must not have the
# name of a helper of another source in the same module.
function(encode_compile_at_once target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ENCODE_UNITY} UNITY_BUILD_BATCH_SIZE ${ENCODE_UNITY_SOURCES})
  if(ENCODE_UNITY)
    # GCC takes every source for a header if it is a part of another one.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# encode_module(NAME SOURCES a.cc b.cc DEPS base config LIBS PkgConfig::x)
#
# Makes one static library `encode_NAME` for src/NAME. Its headers are included as "NAME/header.h" through a folder that
# contains only a link to this module. A module therefore sees only the headers of its DEPS and of their DEPS; no other include
# compiles. If a module names HEADERS, its dependents see only these headers. Its own tests name the module under INTERNALS and
# see all headers.
function(encode_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPS;LIBS;PRIVATE_LIBS" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/module_include/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${name} SYMBOLIC)
  add_library(encode_${name} STATIC ${ARG_SOURCES})
  encode_compile_at_once(encode_${name})
  if(ARG_HEADERS)
    set(shown ${CMAKE_BINARY_DIR}/module_include/${name}_shown)
    file(REMOVE_RECURSE ${shown})
    file(MAKE_DIRECTORY ${shown}/${name})
    foreach(header ${ARG_HEADERS})
      file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${header} ${shown}/${name}/${header} SYMBOLIC)
    endforeach()
    target_include_directories(encode_${name} PRIVATE ${root} INTERFACE ${shown})
  else()
    target_include_directories(encode_${name} PUBLIC ${root})
  endif()
  target_link_libraries(encode_${name} PUBLIC encode_options ${ARG_LIBS} PRIVATE ${ARG_PRIVATE_LIBS})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(encode_${name} PUBLIC encode_${dep})
  endforeach()
  if("encode_torch" IN_LIST ARG_LIBS)
    set_property(GLOBAL APPEND PROPERTY ENCODE_TORCH_MODULES ${name})
    encode_precompile_torch(encode_${name})
  endif()
endfunction()

# Lets the program of a test read LibTorch's headers in their compiled form if one of its modules includes them.
function(encode_precompile_test name)
  get_property(torch_modules GLOBAL PROPERTY ENCODE_TORCH_MODULES)
  foreach(module ${ARGN})
    if(module IN_LIST torch_modules)
      encode_precompile_torch(${name})
      return()
    endif()
  endforeach()
endfunction()

# encode_test(NAME SOURCES a_test.cc DEPS store LABELS slow TIMEOUT 60 CAPABILITIES avx512)
# Makes a GoogleTest program. Every TEST becomes a CTest test with the name NAME.Suite.Case.
function(encode_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;INTERNALS;LIBS;LABELS;CAPABILITIES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE encode_options encode_testing GTest::gmock GTest::gtest_main ${ARG_LIBS})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${name} PRIVATE encode_${dep})
  endforeach()
  encode_precompile_test(${name} ${ARG_DEPS})
  foreach(module ${ARG_INTERNALS})
    target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/module_include/${module})
  endforeach()
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABELS)
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
  # The same tests run again with the instruction set limited to each of CAPABILITIES.
  foreach(capability ${ARG_CAPABILITIES})
    gtest_discover_tests(${name} TEST_PREFIX "${name}.${capability}." DISCOVERY_TIMEOUT 60
      TEST_LIST ${name}_${capability}
      PROPERTIES ${properties} ENVIRONMENT ENCODE_CPU_CAPABILITY=${capability})
  endforeach()
endfunction()
