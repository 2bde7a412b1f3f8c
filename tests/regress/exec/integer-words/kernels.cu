// Bitwise and modular identities of free 32-bit words.

extern "C" __global__ void left(const unsigned* a, const unsigned* b, unsigned* out) {
  const int t = threadIdx.x;
  const unsigned x = a[t], y = b[t];
  out[t] = x + y;
  out[8 + t] = ~(x & y);
  out[16 + t] = x - y;
  out[24 + t] = (x & 0xff00ff00u) >> 8 | (x & 0x00ff00ffu) << 8;
  out[32 + t] = x << 4 | x >> 28;
  out[40 + t] = x * 9u;
  out[48 + t] = (x & y) | (~x & ~y);
}

extern "C" __global__ void right(const unsigned* a, const unsigned* b, unsigned* out) {
  const int t = threadIdx.x;
  const unsigned x = a[t], y = b[t];
  out[t] = (x ^ y) + 2u * (x & y);
  out[8 + t] = ~x | ~y;
  out[16 + t] = x + ~y + 1u;
  out[24 + t] = __byte_perm(x, 0u, 0x2301u);
  out[32 + t] = __funnelshift_l(x, x, 4);
  out[40 + t] = (x << 3) + x;
  out[48 + t] = ~(x ^ y);
}

extern "C" __global__ void right_wrong(const unsigned* a, const unsigned* b, unsigned* out) {
  const int t = threadIdx.x;
  const unsigned x = a[t], y = b[t];
  out[t] = (x | y) + (x & y);
  out[8 + t] = ~x & ~y;
  out[16 + t] = x - y;
  out[24 + t] = __byte_perm(x, 0u, 0x2301u);
  out[32 + t] = __funnelshift_l(x, x, 4);
  out[40 + t] = 9u * x;
  out[48 + t] = ~(x ^ y);
}
