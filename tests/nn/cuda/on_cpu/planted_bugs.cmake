# planted_bug(NAME SOURCE FILE OLD NEW)
# Copies the plugin's sources to the build folder, replaces OLD by NEW in FILE, and adds SOURCE of the copy to the library
# cuda_planted_bugs. OLD must occur exactly once in FILE. The launchers of the copy are in the namespace encode::NAME.
file(GLOB plugin_files ${plugin_folder}/*.cu ${plugin_folder}/*.cuh ${plugin_folder}/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${plugin_files})
add_library(cuda_planted_bugs STATIC)
target_link_libraries(cuda_planted_bugs PUBLIC cuda_emulator)

function(planted_bug name source changed_file old new)
  set(copy ${CMAKE_CURRENT_BINARY_DIR}/planted/${name})
  configure_file(${plugin_folder}/../fp8/format.h ${copy}/fp8/format.h COPYONLY)
  foreach(file ${plugin_files})
    get_filename_component(file_name ${file} NAME)
    file(READ ${file} text)
    if(file_name STREQUAL changed_file)
      string(FIND "${text}" "${old}" first)
      string(FIND "${text}" "${old}" last REVERSE)
      if(first EQUAL -1 OR NOT first EQUAL last)
        message(FATAL_ERROR "planted bug ${name}: ${file} must contain this text once: ${old}")
      endif()
      string(REPLACE "${old}" "${new}" text "${text}")
    endif()
    # launch.cuh is not copied, so its functions stay in the namespace encode::cuda.
    string(REPLACE "namespace encode::cuda {"
      "namespace encode::cuda {} namespace encode::${name} { using namespace cuda;" text "${text}")
    file(GENERATE OUTPUT ${copy}/cuda/${file_name} CONTENT "${text}")
  endforeach()
  set_source_files_properties(${copy}/cuda/${source} PROPERTIES LANGUAGE CXX)
  target_sources(cuda_planted_bugs PRIVATE ${copy}/cuda/${source})
endfunction()

planted_bug(no_barrier_before_partials norm.cu rows.cuh
  "__syncthreads();  // Another thread may still read the partial values of the previous call." "")
planted_bug(no_barrier_after_partials norm.cu rows.cuh
  "own[threadIdx.x / kWarpThreads] = value;\n  __syncthreads();" "own[threadIdx.x / kWarpThreads] = value;")
planted_bug(no_barrier_in_pool pooling.cu pooling.cu "__syncthreads();" "")
planted_bug(shuffle_stops_early norm.cu rows.cuh "distance > 0" "distance > 1")
planted_bug(shuffle_beyond_the_warp norm.cu rows.cuh "distance = kWarpThreads / 2;" "distance = kWarpThreads;")
planted_bug(shuffle_mask_of_half_a_warp quantize.cu rows.cuh "0xffffffffu" "0x0000ffffu")
planted_bug(one_vector_too_many norm.cu rows.cuh "if (vector < vectors)" "if (vector <= vectors)")
planted_bug(one_token_too_many pooling.cu pooling.cu "token < range.last" "token <= range.last")
planted_bug(one_item_too_many rotary.cu rotary.cu "item < items" "item <= items")
planted_bug(shared_memory_too_small quantize.cu quantize.cuh
  "vectors * static_cast<int64_t>(sizeof(uint4))" "(vectors - 1) * static_cast<int64_t>(sizeof(uint4))")
planted_bug(early_exit norm.cu norm.cu
  "  Row<T, kLanes> row;" "  if (vectors == 0) return;\n  Row<T, kLanes> row;")
