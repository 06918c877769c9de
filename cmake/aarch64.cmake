# The toolchain file of a build for 64-bit ARM on another kind of machine:
#
#   cmake --toolchain cmake/aarch64.cmake -DENCODE_SYSROOT=FOLDER -DTORCH_ROOT=... -DARROW_ROOT=... -DENCODE_CUDA=OFF ...
#
# FOLDER has the headers and the libraries of a Debian for arm64. scripts/soak/aarch64.sh makes one. The compiler is Debian's
# g++-aarch64-linux-gnu, and CTest runs the programs under qemu-aarch64 of Debian's qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT ${ENCODE_SYSROOT})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ENCODE_SYSROOT)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${ENCODE_SYSROOT})

# Programs of the build are those of this machine, and all else is in the sysroot.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${ENCODE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${ENCODE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${ENCODE_SYSROOT}/usr/share/pkgconfig)
