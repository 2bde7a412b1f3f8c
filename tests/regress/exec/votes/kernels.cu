// Votes, ballots, matches and reductions of a warp, by thread index and known data.

extern "C" __global__ void votes(const int* v, unsigned* out) {
  const int t = threadIdx.x;
  out[t] = __ballot_sync(0xffffffffu, v[t] > 3);
  out[32 + t] = __any_sync(0xffffffffu, v[t] == 9) + 2 * __all_sync(0xffffffffu, v[t] >= 0);
  out[64 + t] = __match_any_sync(0xffffffffu, v[t]);
  out[96 + t] = __reduce_add_sync(0xffffffffu, v[t]);
  out[128 + t] = __reduce_max_sync(0xffffffffu, v[t]);
  out[160 + t] =
      t < 16 ? __ballot_sync(0x0000ffffu, v[t] & 1) : __ballot_sync(0xffff0000u, v[t] & 1);
}

extern "C" __global__ void counted(const int* v, unsigned* out) {
  const int t = threadIdx.x;
  unsigned above = 0, same = 0, odd = 0, nine = 0, sum = 0, top = 0;
  for (int j = 0; j < 32; ++j) {
    above |= (unsigned)(v[j] > 3) << j;
    same |= (unsigned)(v[j] == v[t]) << j;
    if (j / 16 == t / 16) odd |= (unsigned)(v[j] & 1) << j;
    nine |= v[j] == 9;
    sum += v[j];
    top = v[j] > (int)top ? v[j] : top;
  }
  out[t] = above;
  out[32 + t] = nine + 2;
  out[64 + t] = same;
  out[96 + t] = sum;
  out[128 + t] = top;
  out[160 + t] = odd;
}
