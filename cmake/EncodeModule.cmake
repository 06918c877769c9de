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
      get_filename_component(folder ${shown}/${name}/${header} DIRECTORY)
      file(MAKE_DIRECTORY ${folder})
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

# encode_register_tests(NAME TIMEOUT 60 SHARDS 4 LABELS slow ENVIRONMENT a=b CAPABILITIES avx512)
#
# Registers a GoogleTest program with CTest in two ways. scripts/test.sh uses the first if it gets no arguments, else the second:
#   label "program"   The program runs SHARDS times, each time with a part of its tests, so it loads LibTorch only SHARDS times.
#   label "case"      Every TEST is a test of its own, with the name NAME.Suite.Case and at most TIMEOUT seconds.
# The tests run again with the instruction set limited to each of CAPABILITIES that this build has. The program then needs the
# main() of tests/support/limited_main.cc, which skips a limit that changes nothing on this processor.
function(encode_register_tests name)
  cmake_parse_arguments(ARG "" "TIMEOUT;SHARDS" "LABELS;ENVIRONMENT;CAPABILITIES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  get_property(built GLOBAL PROPERTY ENCODE_INSTRUCTION_SETS)
  foreach(capability best ${ARG_CAPABILITIES})
    if(NOT capability STREQUAL "best" AND NOT capability IN_LIST built)
      continue()
    endif()
    set(tests ${name})
    set(environment ${ARG_ENVIRONMENT})
    if(NOT capability STREQUAL "best")
      set(tests ${name}.${capability})
      list(APPEND environment ENCODE_CPU_CAPABILITY=${capability})
    endif()
    set(labels case ${ARG_LABELS})
    # gtest_discover_tests() splits a list once more than set_tests_properties() does.
    string(REPLACE ";" "\\;" case_labels "${labels}")
    string(REPLACE ";" "\\;" case_environment "${environment}")
    gtest_discover_tests(${name} TEST_PREFIX "${tests}." DISCOVERY_TIMEOUT 60 TEST_LIST ${tests}_list
      PROPERTIES TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${case_labels}" ENVIRONMENT "${case_environment}")
    foreach(shard RANGE 1 ${ARG_SHARDS})
      set(part ${tests})
      if(ARG_SHARDS GREATER 1)
        set(part ${tests}.${shard}_of_${ARG_SHARDS})
      endif()
      math(EXPR index "${shard} - 1")
      add_test(NAME ${part} COMMAND ${name})
      set_tests_properties(${part} PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77 LABELS "program;${ARG_LABELS}"
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index};${environment}")
    endforeach()
  endforeach()
endfunction()

# encode_soak(NAME COMMAND word ... ENVIRONMENT a=b): registers a check that takes too long for continuous integration, as the test
# soak.NAME of the CTest configuration "soak". Only `ctest -C soak` runs tests of this configuration; scripts/soak.sh does that.
function(encode_soak name)
  cmake_parse_arguments(ARG "" "" "COMMAND;ENVIRONMENT" ${ARGN})
  add_test(NAME soak.${name} CONFIGURATIONS soak COMMAND ${ARG_COMMAND})
  set_tests_properties(soak.${name} PROPERTIES LABELS soak RUN_SERIAL ON TIMEOUT 86400 ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()

# encode_built_files(TEST NAME target ...): defines NAME as the path of the file that the target makes, for built_file() of
# tests/support/paths.h, and makes TEST depend on the target.
function(encode_built_files test)
  while(ARGN)
    list(POP_FRONT ARGN name target)
    target_compile_definitions(${test} PRIVATE ${name}="$<PATH:RELATIVE_PATH,$<TARGET_FILE:${target}>,${CMAKE_BINARY_DIR}>")
    add_dependencies(${test} ${target})
  endwhile()
endfunction()

# encode_test(NAME SOURCES a_test.cc DEPS store ...) makes a GoogleTest program and registers its tests. It also takes the options
# of encode_register_tests().
function(encode_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;INTERNALS;LIBS;TIMEOUT;SHARDS;LABELS;CAPABILITIES" ${ARGN})
  set(main GTest::gtest_main)
  if(ARG_CAPABILITIES)
    set(main encode_limited_main)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE encode_options encode_testing GTest::gmock ${main} ${ARG_LIBS})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${name} PRIVATE encode_${dep})
  endforeach()
  encode_precompile_test(${name} ${ARG_DEPS})
  foreach(module ${ARG_INTERNALS})
    target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/module_include/${module})
  endforeach()
  encode_register_tests(${name} TIMEOUT ${ARG_TIMEOUT} SHARDS ${ARG_SHARDS} LABELS ${ARG_LABELS}
    CAPABILITIES ${ARG_CAPABILITIES})
endfunction()
