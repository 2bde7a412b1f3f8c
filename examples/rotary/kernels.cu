// Rotary position embedding of a query: each pair of channels of a head is turned by an angle that
// grows with the position. cosine and sine hold one entry for each position and pair.

// Pairs are neighbours: channels 2 i and 2 i + 1 (the layout of the original paper).
extern "C" __global__ void rotary_interleaved(const float* q, const float* cosine,
                                              const float* sine, float* out, int heads, int size) {
  const int position = blockIdx.x, half = size / 2;
  for (int p = threadIdx.x; p < heads * half; p += blockDim.x) {
    const int head = p / half, i = p % half;
    const float c = cosine[position * half + i], s = sine[position * half + i];
    const int at = (position * heads + head) * size + 2 * i;
    const float2 v = *reinterpret_cast<const float2*>(q + at);
    *reinterpret_cast<float2*>(out + at) = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
  }
}

// Pairs are half a head apart: channels i and i + size / 2 (the layout of GPT-NeoX and Llama
// checkpoints).
extern "C" __global__ void rotary_halves(const float* q, const float* cosine, const float* sine,
                                         float* out, int heads, int size) {
  const int position = blockIdx.x, head = blockIdx.y, channel = threadIdx.x, half = size / 2;
  const float* row = q + (position * heads + head) * size;
  const int i = channel % half;
  const float c = cosine[position * half + i], s = sine[position * half + i];
  const float other = channel < half ? -row[channel + half] : row[channel - half];
  out[(position * heads + head) * size + channel] = row[channel] * c + other * s;
}

// The same layout, a pair for each thread.
extern "C" __global__ void rotary_halves_by_pair(const float* q, const float* cosine,
                                                 const float* sine, float* out, int heads,
                                                 int size) {
  const int position = blockIdx.x, half = size / 2;
  for (int p = threadIdx.x; p < heads * half; p += blockDim.x) {
    const int head = p / half, i = p % half, at = (position * heads + head) * size + i;
    const float c = cosine[position * half + i], s = sine[position * half + i];
    const float a = q[at], b = q[at + half];
    out[at] = a * c - b * s;
    out[at + half] = a * s + b * c;
  }
}
