# The compiler settings of all targets of the project. Most are in the interface target `encode_options`.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# -g1 keeps line numbers for backtraces, and its objects are smaller and link faster than with -g.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths in the compiler cache are relative to the root of the clone, so that several clones share objects. The sloppiness is
  # what ccache asks for before it stores a source that uses a precompiled header. No source of the project uses __TIME__. With
  # the inode cache, ccache does not hash the 300 MB of this header for each source.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_INODECACHE=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

# Outside of the kernels, code for x86-64 has no fused multiply-adds. GCC would make them on ARM, and results would have other bits.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# -Wno-restrict: this warning of GCC 12 is wrong inside std::string (GCC bug 105329).
add_library(encode_options INTERFACE)
target_compile_options(encode_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                            -Woverloaded-virtual $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -Werror -fstack-protector-strong>)
target_compile_definitions(encode_options INTERFACE _GLIBCXX_ASSERTIONS)
target_link_options(encode_options INTERFACE -Wl,-z,relro,-z,now)
target_include_directories(encode_options INTERFACE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(encode_options INTERFACE Threads::Threads)

if(ENCODE_SANITIZE)
  # GCC finds variables that may be uninitialized where there are none if it also adds the checks of the sanitizers.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=address,undefined)
elseif(CMAKE_BUILD_TYPE MATCHES "Rel")
  target_compile_definitions(encode_options INTERFACE _FORTIFY_SOURCE=2)
endif()
