# Makes Arrow C++ (libarrow and libparquet, from the pyarrow wheel) the interface target `encode_arrow`. Only the plugin
# libencode_arrow.so and tests link it. Without it the build leaves out the plugin and its tests.
if(NOT ARROW_ROOT)
  set(ARROW_ROOT "${CMAKE_SOURCE_DIR}/.deps/arrow/pyarrow" CACHE PATH "" FORCE)
endif()

file(GLOB arrow_libraries ${ARROW_ROOT}/libarrow.so.* ${ARROW_ROOT}/libparquet.so.*)
list(LENGTH arrow_libraries arrow_library_count)
if(arrow_library_count EQUAL 2 AND EXISTS ${ARROW_ROOT}/include/arrow/api.h)
  set(ENCODE_HAVE_ARROW ON)
  # libarrow.so.2600 belongs to version 26.0.
  string(REGEX REPLACE ".*[.]so[.]([0-9]+)[0-9][0-9].*" "\\1" ENCODE_ARROW_VERSION "${arrow_libraries}")
else()
  set(ENCODE_HAVE_ARROW OFF)
  message(WARNING "No Arrow C++ under ARROW_ROOT='${ARROW_ROOT}': Parquet and Arrow files cannot be read. Run scripts/setup.sh.")
  return()
endif()

add_library(encode_arrow INTERFACE)
target_include_directories(encode_arrow SYSTEM INTERFACE ${ARROW_ROOT}/include)
target_link_libraries(encode_arrow INTERFACE ${arrow_libraries})
