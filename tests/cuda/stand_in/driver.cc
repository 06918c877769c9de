// The library of the NVIDIA driver, as far as a program that looks for it needs one.
extern "C" int cuInit(unsigned /*flags*/) { return 0; }
