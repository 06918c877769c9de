# LibTorch as two hand-written imported targets. find_package(Torch) of the CUDA wheel demands a CUDA toolkit and fails
# with C++20 on CMake 3.25; all that is needed are libtorch_cpu, libc10 and the headers. The CUDA libraries are opened
# at run time by the plugin (src/nn/cuda), so one build serves machines with and without a GPU.
if(NOT TORCH_ROOT)
  file(GLOB bundled ${CMAKE_SOURCE_DIR}/.deps/torch/torch)
  set(TORCH_ROOT "${bundled}" CACHE PATH "" FORCE)
endif()

if(EXISTS ${TORCH_ROOT}/lib/libtorch_cpu.so)
  set(ENCODE_HAVE_TORCH ON)
else()
  set(ENCODE_HAVE_TORCH OFF)
  message(WARNING "No LibTorch under TORCH_ROOT='${TORCH_ROOT}': encode-worker is left out. Run scripts/setup.sh.")
  return()
endif()

add_library(encode_torch INTERFACE)
# -idirafter: LibTorch ships its own fmt headers, which must not shadow the ones that spdlog was built with.
target_compile_options(encode_torch INTERFACE
  "SHELL:-idirafter ${TORCH_ROOT}/include" -Wno-pedantic $<$<CXX_COMPILER_ID:GNU>:-Wno-interference-size>)
target_link_libraries(encode_torch INTERFACE ${TORCH_ROOT}/lib/libtorch_cpu.so ${TORCH_ROOT}/lib/libc10.so)
# The NVIDIA libraries that libtorch_cpu names are found at run time through its own RPATH.
target_link_options(encode_torch INTERFACE -Wl,--allow-shlib-undefined)
