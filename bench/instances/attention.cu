// Attention of one head: 128 queries, 128 keys, 32 channels.

// One block a query: all scores first, then the softmax, then the weighted sum.
extern "C" __global__ void attention_plain(const float* q, const float* k, const float* v, float* y,
                                           float scale) {
  __shared__ float score[128];
  const int query = blockIdx.x, t = threadIdx.x;
  float dot = 0.0f;
  for (int c = 0; c < 32; ++c) dot += q[query * 32 + c] * k[t * 32 + c];
  score[t] = dot * scale;
  __syncthreads();
  if (t >= 32) return;
  float top = -INFINITY;
  for (int j = 0; j < 128; ++j) top = fmaxf(top, score[j]);
  float sum = 0.0f, value = 0.0f;
  for (int j = 0; j < 128; ++j) {
    const float e = __expf(score[j] - top);
    sum += e;
    value += e * v[j * 32 + t];
  }
  y[query * 32 + t] = value / sum;
}

// One thread a query; keys and values stream by in tiles of 16, with a running maximum.
extern "C" __global__ void attention_streamed(const float* q, const float* k, const float* v,
                                              float* y, float scale) {
  __shared__ float tile_k[16][32], tile_v[16][32];
  const int t = threadIdx.x, query = blockIdx.x * 32 + t;
  float mine[32], value[32], top = -INFINITY, sum = 0.0f;
#pragma unroll
  for (int c = 0; c < 32; ++c) {
    mine[c] = q[query * 32 + c] * scale;
    value[c] = 0.0f;
  }
  for (int first = 0; first < 128; first += 16) {
    for (int j = 0; j < 16; ++j) {
      tile_k[j][t] = k[(first + j) * 32 + t];
      tile_v[j][t] = v[(first + j) * 32 + t];
    }
    __syncthreads();
    for (int j = 0; j < 16; ++j) {
      float dot = 0.0f;
#pragma unroll
      for (int c = 0; c < 32; ++c) dot += mine[c] * tile_k[j][c];
      const float next = fmaxf(top, dot), old = __expf(top - next), e = __expf(dot - next);
      sum = sum * old + e;
#pragma unroll
      for (int c = 0; c < 32; ++c) value[c] = value[c] * old + e * tile_v[j][c];
      top = next;
    }
    __syncthreads();
  }
#pragma unroll
  for (int c = 0; c < 32; ++c) y[query * 32 + c] = value[c] / sum;
}
