# Makes LibTorch the interface target `encode_torch`. find_package(Torch) of the CUDA wheel requires a CUDA toolkit and fails
# with C++20 on CMake 3.25. The project needs only libtorch_cpu, libc10 and the headers. The worker opens the CUDA libraries
# at run time (src/nn/cuda/cuda_device.cc), so one build works on machines with and without a GPU.
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

# A wheel has its version in version.py, and LibTorch's zip in build-version.
foreach(file version.py build-version)
  if(NOT ENCODE_TORCH_VERSION AND EXISTS ${TORCH_ROOT}/${file})
    file(STRINGS ${TORCH_ROOT}/${file} lines REGEX "[0-9]+[.][0-9]+[.][0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+[.][0-9]+[.][0-9]+" ENCODE_TORCH_VERSION "${lines}")
  endif()
endforeach()

add_library(encode_torch INTERFACE)
# -idirafter: LibTorch has its own fmt headers, which must not hide the fmt headers with which spdlog was built.
target_compile_options(encode_torch INTERFACE
  "SHELL:-idirafter ${TORCH_ROOT}/include" -Wno-pedantic $<$<CXX_COMPILER_ID:GNU>:-Wno-interference-size>)
target_link_libraries(encode_torch INTERFACE ${TORCH_ROOT}/lib/libtorch_cpu.so ${TORCH_ROOT}/lib/libc10.so)
# The linker need not find the NVIDIA libraries that libtorch_cpu uses: the loader finds them at run time through the RPATH of
# libtorch_cpu.
target_link_options(encode_torch INTERFACE -Wl,--allow-shlib-undefined)

# encode_precompile_torch(TARGET): TARGET reads the headers of LibTorch that most sources include in a compiled form, which
# halves the time for compiling a source. The first target makes this form and all others share it. The sources still include
# what they use: clang-tidy reads them without the compiled form.
function(encode_precompile_torch target)
  get_property(owner GLOBAL PROPERTY ENCODE_TORCH_HEADERS_OWNER)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    # The compiled form is for code with -fPIC, as in a library. CMake compiles a program with -fPIE.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    return()
  endif()
  set_property(GLOBAL PROPERTY ENCODE_TORCH_HEADERS_OWNER ${target})
  target_precompile_headers(${target} PRIVATE <ATen/core/Tensor.h> <ATen/ops/abs.h> <ATen/ops/arange.h> <ATen/ops/cat.h>
    <ATen/ops/embedding.h> <ATen/ops/empty.h> <ATen/ops/equal.h> <ATen/ops/from_blob.h> <ATen/ops/linear.h> <ATen/ops/max.h>
    <ATen/ops/zeros.h> <c10/core/InferenceMode.h>)
endfunction()
