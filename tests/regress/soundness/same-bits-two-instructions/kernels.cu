// One writer.

extern "C" __global__ void four(int* y) { y[0] = 4; }
