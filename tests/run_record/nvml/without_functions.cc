// A library that is not NVML.
extern "C" int nvmlNothing() { return 0; }
