# cmake -DSOURCE=DIR -DOUTPUT=FILE -P write_commit.cmake
#
# Writes a header with the commit of the sources. The file changes only if the commit changes, so a build without a new commit
# compiles nothing.
set(commit unknown)
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${GIT} -C ${SOURCE} show -s --format=%cs HEAD OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(NOT date)
  file(TIMESTAMP ${SOURCE}/CMakeLists.txt date "%Y-%m-%d" UTC)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[// Made by write_commit.cmake.
#pragma once

namespace encode::build {

inline constexpr const char* kCommit = "@commit@";
inline constexpr const char* kCommitDate = "@date@";

}  // namespace encode::build
]])
