// A plugin with the kernels of host_kernels.h. It serves the tests of the models and the programs,
// for which the plugin's own kernels on the CPU would be a hundred times slower.
#include "counted_plugin.h"
#include "host_kernels.h"

namespace encode::testing {

EncodeCudaKernels counted_kernels() { return host_kernels(); }

}  // namespace encode::testing
