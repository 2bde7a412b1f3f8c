"""The pairs: every kind of defect with the forms of synchronisation in which it comes."""

from collections.abc import Iterator

from pair import Pair, Tensor, identifier


def xy(ctype: str, n: int, m: int | None = None) -> list[Tensor]:
    return [Tensor("x", ctype, [n]), Tensor("y", ctype, [n if m is None else m], "write")]


def neighbour_exchange() -> Iterator[Pair]:
    """A thread reads what another one wrote; whatever orders them is missing."""
    sync = {"cta": "__syncthreads();", "bar": 'asm volatile("bar.sync 3;" ::: "memory");',
            "counted": 'asm volatile("bar.sync 1, $N;" ::: "memory");',
            "unaligned": 'asm volatile("barrier.sync 0;" ::: "memory");',
            "red": "if (__syncthreads_or(t < 0)) return;", "count": "if (__syncthreads_count(1) == 0) return;"}
    for ctype, n, step, form in [
            ("float", 64, 1, "cta"), ("float", 256, 37, "cta"), ("double", 96, 95, "cta"), ("int", 128, 64, "cta"),
            ("short", 64, 33, "cta"), ("unsigned char", 64, 5, "cta"), ("long long", 64, 32, "bar"),
            ("float", 128, 127, "counted"), ("float", 48, 40, "unaligned"), ("int", 64, 31, "red"),
            ("float", 96, 50, "count"), ("float", 1024, 512, "cta")]:
        yield Pair(
            identifier("exchange", ctype, n, step, form), "shared-race", """
  __shared__ $T s[$N];
  s[t] = x[i];  //!
+ $SYNC
  y[i] = s[(t + $K) % $N];  //!""", n, 2, tensors=xy(ctype, 2 * n), reference="  y[i] = x[b * $N + (t + $K) % $N];",
            values={"T": ctype, "K": step, "SYNC": sync[form].replace("$N", str(n))})
    for ctype, width, step in [("float", 32, 1), ("int", 16, 8), ("double", 8, 7), ("float", 64, 16)]:
        yield Pair(
            identifier("warp_exchange", ctype, width, step), "shared-race", """
  __shared__ $T s[$N];
  s[t] = x[i];  //!
+ __syncwarp();
  y[i] = s[t / $W * $W + (t + $K) % $W];  //!""", max(width, 32), 1, tensors=xy(ctype, max(width, 32)),
            reference="  y[i] = x[t / $W * $W + (t + $K) % $W];",
            values={"T": ctype, "K": step, "W": min(width, 32)})
    # Reads, votes, matches and shuffles order nothing.
    for form, between in [("shuffle", "__shfl_sync(~0u, t, 0)"), ("ballot", "__ballot_sync(~0u, t >= 0)"),
                          ("any", "__any_sync(~0u, 1)"), ("redux", "__reduce_add_sync(~0u, 1)"),
                          ("match", "__match_any_sync(~0u, 7)"), ("fence", "(__threadfence_block(), 1)"),
                          ("wide_fence", "(__threadfence(), 1)")]:
        yield Pair(
            identifier("orders_nothing", form), "shared-race", """
  __shared__ float s[32];
  s[t] = x[i];  //!
  const int one = $WHAT;
+ __syncwarp();
  y[i] = one < -1 ? 0.0f : s[31 - t];  //!""", 32, 1, tensors=xy("float", 32), reference="  y[i] = x[31 - t];",
            values={"WHAT": between}, shows="fence" in form)
    yield Pair("warp_barrier_between_warps", "shared-race", """
  __shared__ float s[64];
  s[t] = x[i];  //!
- __syncwarp();
+ __syncthreads();
  y[i] = s[63 - t];  //!""", 64, 1, tensors=xy("float", 64), reference="  y[i] = x[63 - t];")
    for bad, good in [("0x0000ffff", "0xffffffff"), ("t < 16 ? 0xffffu : 0xffff0000u", "0xffffffffu"),
                      ("1u << t", "~0u")]:
        yield Pair(identifier("warp_barrier_mask", bad), "shared-race", """
  __shared__ int s[32];
  s[t] = x[i];  //!
- if (($BAD) >> t & 1) __syncwarp($BAD);
+ __syncwarp($GOOD);
  y[i] = s[t ^ 16];  //!""", 32, 1, tensors=xy("int", 32), reference="  y[i] = x[t ^ 16];",
                   values={"BAD": bad, "GOOD": good})
    for name, block, tile in [("square", [16, 16], 16), ("flat", [32, 8], 8), ("small", [8, 8, 2], 8)]:
        yield Pair(
            identifier("transpose", name), "shared-race", """
  __shared__ float s[$N];
  s[t] = x[i];  //!
+ __syncthreads();
  y[i] = s[t % $W * ($N / $W) + t / $W];  //!""", block, 2, tensors=xy("float", 2 * _count(block)),
            reference="  y[i] = x[b * $N + t % $W * ($N / $W) + t / $W];", values={"W": tile})
    for ctype, scalar, n in [("float4", "float", 32), ("float2", "float", 64), ("int4", "int", 64)]:
        lanes = int(ctype[-1])
        yield Pair(
            identifier("vector_exchange", ctype, n), "shared-race", """
  __shared__ $T s[$N];
  s[t] = ((const $T*)x)[i];  //!
+ __syncthreads();
  y[i] = (($S*)s)[$L * (($N - 1) - t) + 1];  //!""", n, 1, tensors=xy(scalar, lanes * n, n),
            reference="  y[i] = x[$L * ($N - 1 - t) + 1];", values={"T": ctype, "S": scalar, "L": lanes})
    for reader, n in [(0, 64), (63, 64), (31, 96), (32, 96)]:
        yield Pair(
            identifier("one_reader", reader, n), "shared-race", """
  __shared__ float s[$N];
  s[t] = x[i];  //!
+ __syncthreads();
  y[i] = t == $R ? s[($R + 32) % $N] : x[i];  //!""", n, 1, tensors=xy("float", n),
            reference="  y[i] = t == $R ? x[($R + 32) % $N] : x[i];", values={"R": reader})


def _count(block: list[int]) -> int:
    n = 1
    for extent in block:
        n *= extent
    return n


def barriers_in_code() -> Iterator[Pair]:
    """Barriers missing, extra or misplaced in the usual building blocks of kernels."""
    for ctype, n in [("float", 64), ("int", 128), ("double", 256)]:
        yield Pair(identifier("overwritten_early", ctype, n), "shared-race", """
  __shared__ $T s[$N];
  s[t] = x[i];
  __syncthreads();
  const $T v = s[(t + 1) % $N];  //!
+ __syncthreads();
  s[t] = v + v;  //!
  __syncthreads();
  y[i] = s[$N - 1 - t];""", n, 1, tensors=xy(ctype, n),
                   reference="  y[i] = x[($N - t) % $N] + x[($N - t) % $N];", values={"T": ctype})
        yield Pair(identifier("tree", ctype, n), "shared-race", """
  __shared__ $T s[$N];
  s[t] = x[i];
- __syncthreads();
  for (int half = $N / 2; half > 0; half /= 2) {
+   __syncthreads();
    if (t < half) s[t] += s[t + half];  //!
  }
  if (t == 0) y[b] = s[0];""", n, 2, tensors=xy(ctype, 2 * n, 2),
                   reference=_sum_reference(ctype), values={"T": ctype})
        yield Pair(identifier("tree_last_read", ctype, n), "shared-race", """
  __shared__ $T s[$N];
  s[t] = x[i];
  for (int half = $N / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) s[t] += s[t + half];  //!
  }
+ __syncthreads();
  y[i] = s[0];  //!""", n, 1, tensors=xy(ctype, n), reference=_sum_reference(ctype, "i"), values={"T": ctype})
        yield Pair(identifier("tree_last_warp", ctype, n), "shared-race", """
  __shared__ volatile $T s[$N];
  s[t] = x[i];
  for (int half = $N / 2; half > 16; half /= 2) {
    __syncthreads();
    if (t < half) s[t] = s[t] + s[t + half];
  }
  if (t < 32)
    for (int half = 16; half > 0; half /= 2) {
+     __syncwarp();
      if (t < half) s[t] = s[t] + s[t + half];  //!
    }
  if (t == 0) y[b] = s[0];""", n, 1, tensors=xy(ctype, n, 1), reference=_sum_reference(ctype),
                   values={"T": ctype})
    for ctype, n in [("float", 64), ("int", 64), ("float", 32)]:
        yield Pair(identifier("scan", ctype, n), "shared-race", """
  __shared__ $T s[$N];
  s[t] = x[i];
  for (int d = 1; d < $N; d *= 2) {
    __syncthreads();
    const $T v = t >= d ? s[t - d] : ($T)0;  //!
+   __syncthreads();
    s[t] += v;  //!
  }
  y[i] = s[t];""", n, 1, tensors=xy(ctype, n),
                   reference="  $T sum = 0;\n  for (int k = 0; k <= t; ++k) sum += x[k];\n  y[i] = sum;",
                   values={"T": ctype})
    for n, turns in [(64, 3), (96, 2), (32, 5)]:
        yield Pair(identifier("loop_reuse", n, turns), "shared-race", """
  __shared__ float s[$N];
  float sum = 0;
  for (int k = 0; k < $TURNS; ++k) {
    s[t] = x[k * $N + t];  //!
    __syncthreads();
    sum += s[$N - 1 - t];  //!
+   __syncthreads();
  }
  y[i] = sum;""", n, 1, tensors=xy("float", n * turns, n),
                   reference="  float sum = 0;\n  for (int k = 0; k < $TURNS; ++k) sum += x[k * $N + $N - 1 - t];\n"
                             "  y[i] = sum;", values={"TURNS": turns})
        yield Pair(identifier("double_buffer", n, turns + 1), "shared-race", """
  __shared__ float s[2][$N];
  s[0][t] = x[t];
  float sum = 0;
  for (int k = 0; k < $TURNS; ++k) {
-   if (k + 1 < $TURNS) s[(k + 1) % 2][t] = x[(k + 1) * $N + t];  //!
    __syncthreads();
-   sum += s[k % 2][(t + 1) % $N];  //!
+   if (k + 1 < $TURNS) s[(k + 1) % 2][t] = x[(k + 1) * $N + t];
+   sum += s[k % 2][(t + 1) % $N];
  }
  y[i] = sum;""", n, 1, tensors=xy("float", n * (turns + 1), n),
                   reference="  float sum = 0;\n  for (int k = 0; k < $TURNS; ++k) sum += x[k * $N + (t + 1) % $N];\n"
                             "  y[i] = sum;", values={"TURNS": turns + 1})
    for n, who in [(64, 0), (96, 95), (128, 33)]:
        yield Pair(identifier("broadcast", n, who), "shared-race", """
  __shared__ float s;
  if (t == $WHO) s = x[i];  //!
+ __syncthreads();
  y[i] = s + x[i];  //!""", n, 2, tensors=xy("float", 2 * n), reference="  y[i] = x[b * $N + $WHO] + x[i];",
                   values={"WHO": who})
    for edge in ["t == 0", "t == 63", "t == 31", "t == 32"]:
        yield Pair(identifier("halo", edge), "shared-race", """
  __shared__ float s[66];
  s[t + 1] = x[i + 1];
- __syncthreads();
  if ($EDGE) { s[0] = x[0]; s[65] = x[65]; }  //!
+ __syncthreads();
  y[i] = s[t] + s[t + 2];  //!""", 64, 1, tensors=xy("float", 66, 64), reference="  y[i] = x[i] + x[i + 2];",
                   values={"EDGE": edge})
    for n in (64, 128):
        yield Pair(identifier("producer", n), "shared-race", """
  __shared__ float s[32];
  if (t < 32) {
-   asm volatile("bar.arrive 2, $N;" ::: "memory");
    s[t] = x[t];  //!
+   asm volatile("bar.arrive 2, $N;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, $N;" ::: "memory");
    y[t - 32] = s[(t + 1) % 32];  //!
  }""", n, 1, tensors=xy("float", 32, n - 32), reference="  if (t >= 32) y[t - 32] = x[(t + 1) % 32];")
    for name, bad, good in [("id", "1 + t / 64", "1"), ("id_per_warp", "1 + t / 32", "1"),
                            ("half", "1 + t / 64", "0")]:
        yield Pair(identifier("named_barrier", name), "shared-race", """
  __shared__ float s[128];
  s[t] = x[i];  //!
- asm volatile("barrier.sync %0, %1;" :: "r"($BAD), "r"($BADCOUNT) : "memory");
+ asm volatile("barrier.sync %0, 128;" :: "r"($GOOD) : "memory");
  y[i] = s[127 - t];  //!""", 128, 1, tensors=xy("float", 128), reference="  y[i] = x[127 - t];",
                   values={"BAD": bad, "GOOD": good, "BADCOUNT": 32 if "32" in bad else 64})
    yield Pair("barrier_before_write", "shared-race", """
  __shared__ int s[64];
- __syncthreads();
  s[t] = x[i];  //!
+ __syncthreads();
  y[i] = s[t ^ 63];  //!""", 64, 1, tensors=xy("int", 64), reference="  y[i] = x[t ^ 63];")
    yield Pair("byte_neighbours", "shared-race", """
  __shared__ unsigned char s[68];
  if (t < 4) s[64 + t] = 1;
- *(unsigned*)(s + (t & ~3)) = x[i];  //!
- s[t] = x[i] + 1;  //!
+ s[t] = x[i] + 1;
  __syncthreads();
  y[i] = s[63 - t];""", 64, 1, tensors=xy("unsigned char", 64),
               reference="  y[i] = x[63 - t] + 1;")
    yield Pair("same_word_two_values", "shared-race", """
  __shared__ int s[64];
- s[t / 2] = x[i];  //!
+ if (t % 2 == 0) s[t / 2] = x[i];
  __syncthreads();
  y[i] = s[t / 2];""", 64, 1, tensors=xy("int", 64), reference="  y[i] = x[t / 2 * 2];")


def _sum_reference(ctype: str, at: str = "b") -> str:
    return ("  %s sum = 0;\n  for (int k = 0; k < $N; ++k) sum += x[b * $N + k];\n  %sy[%s] = sum;" % (
        ctype, "if (t == 0) " if at == "b" else "", at))


def global_memory() -> Iterator[Pair]:
    """Conflicts on global memory, inside a block and between blocks."""
    for ctype, n, form in [("float", 64, "__syncthreads();"), ("int", 32, "__syncwarp();"),
                           ("double", 128, "__syncthreads();"), ("float", 96, "__syncthreads();")]:
        yield Pair(identifier("scratch", ctype, n), "global-race", """
  tmp[i] = x[i];  //!
+ $SYNC
  y[i] = tmp[b * $N + $N - 1 - t];  //!""", n, 2,
                   tensors=[*xy(ctype, 2 * n), Tensor("tmp", ctype, [2 * n], "readwrite", "empty")],
                   reference="  y[i] = x[b * $N + $N - 1 - t];", values={"SYNC": form})
    for n, g, over in [(32, 4, 1), (64, 3, 8), (128, 2, 127), (32, 8, 31)]:
        yield Pair(identifier("overlapping_blocks", n, g, over), "global-race", """
- y[b * ($N - $OVER) + t] = x[i];  //!
+ y[i] = x[i];""", n, g, tensors=xy("float", n * g), reference="  y[i] = x[i];", values={"OVER": over})
    for grid in ([2, 3], [1, 2, 2], [5, 1]):
        g = _count(grid)
        yield Pair(identifier("dropped_dimension", *grid), "global-race", """
- y[blockIdx.$D * $N + t] = x[i];  //!
+ y[i] = x[i];""", 32, grid, tensors=xy("int", 32 * g), reference="  y[i] = x[i];",
                   values={"D": "xyz"[min(range(len(grid)), key=lambda d: (grid[d], d))]})
    for n, g in [(32, 2), (64, 4)]:
        yield Pair(identifier("neighbour_block", n, g), "global-race", """
  y[i] = x[i];  //!
- if (t == 0) z[b] = y[(b + 1) % $G * $N];  //!
+ if (t == 0) z[b] = y[i];""", n, g,
                   tensors=[Tensor("x", "float", [n * g]), Tensor("y", "float", [n * g], "readwrite", "zeros"),
                            Tensor("z", "float", [g], "write")],
                   reference="  y[i] = x[i];\n  if (t == 0) z[b] = x[i];")
        yield Pair(identifier("shift_in_place", n, g), "global-race", """
- const float v = i + 1 < $N * $G ? y[i + 1] : 0.0f;  //!
+ const float v = t + 1 < $N ? y[i + 1] : 0.0f;
  __syncthreads();
  y[i] = v;  //!""", n, g, tensors=[Tensor("y", "float", [n * g], "readwrite")])
        yield Pair(identifier("counter", n, g), "global-race", """
- y[0] = y[0] + x[i];  //!
+ atomicAdd(y, x[i]);""", n, g, tensors=[Tensor("x", "int", [n * g]), Tensor("y", "int", [1], "readwrite", "zeros")],
                   reference="  int sum = 0;\n  for (int k = 0; k < $N * $G; ++k) sum += x[k];\n"
                             "  if (i == 0) y[0] = sum;")
        yield Pair(identifier("scope_of_block", n, g), "global-race", """
- atomicAdd_block(y, x[i]);  //!
+ atomicAdd(y, x[i]);""", n, g, shows=False,
                   tensors=[Tensor("x", "float", [n * g]), Tensor("y", "float", [1], "readwrite", "zeros")],
                   reference="  float sum = 0;\n  for (int k = 0; k < $N * $G; ++k) sum += x[k];\n"
                             "  if (i == 0) y[0] = sum;")
        yield Pair(identifier("scope_within_block", n, g), "global-race", """
- atomicMax_block(y, x[i]);  //!
+ atomicMax_block(y + b, x[i]);""", n, g, shows=False,
                   tensors=[Tensor("x", "int", [n * g]), Tensor("y", "int", [g], "readwrite", "zeros")],
                   reference="  int most = 0;\n  for (int k = 0; k < $N; ++k) most = max(most, x[b * $N + k]);\n"
                             "  y[b] = most;")
        yield Pair(identifier("read_beside_atomics", n, g), "global-race", """
  atomicAdd(y + b, x[i]);  //!
+ __syncthreads();
  if (t == 0) z[b] = y[b];  //!""", n, g,
                   tensors=[Tensor("x", "int", [n * g]), Tensor("y", "int", [g], "readwrite", "zeros"),
                            Tensor("z", "int", [g], "write")],
                   reference="  int sum = 0;\n  for (int k = 0; k < $N; ++k) sum += x[b * $N + k];\n"
                             "  if (t == 0) { y[b] = sum; z[b] = sum; }")
        yield Pair(identifier("cleared_beside_atomics", n, g), "global-race", """
  if (t == $N - 1) y[b] = 0;  //!
+ __syncthreads();
  atomicAdd(y + b, x[i]);  //!""", n, g,
                   tensors=[Tensor("x", "int", [n * g]), Tensor("y", "int", [g], "readwrite")],
                   reference="  int sum = 0;\n  for (int k = 0; k < $N; ++k) sum += x[b * $N + k];\n  y[b] = sum;")
        yield Pair(identifier("read_only_load_other_block", n, g), "global-race", """
  y[i] = x[i];  //!
- z[i] = __ldg(y + (i + $N) % ($N * $G));  //!
+ z[i] = x[(i + $N) % ($N * $G)];""", n, g,
                   tensors=[Tensor("x", "float", [n * g]), Tensor("y", "float", [n * g], "readwrite", "zeros"),
                            Tensor("z", "float", [n * g], "write")],
                   reference="  y[i] = x[i];\n  z[i] = x[(i + $N) % ($N * $G)];")
    for n, back in [(32, "i"), (64, "i ^ 1"), (64, "i ^ 63")]:
        yield Pair(identifier("read_only_load", n, back), "global-race", """
  y[i] = x[i];  //!
  __syncthreads();
- z[i] = __ldg(y + ($BACK));  //!
+ z[i] = y[$BACK];""", n, 1, shows=False,
                   tensors=[Tensor("x", "float", [n]), Tensor("y", "float", [n], "readwrite", "zeros"),
                            Tensor("z", "float", [n], "write")],
                   reference="  y[i] = x[i];\n  z[i] = x[$BACK];", values={"BACK": back})
    yield Pair("last_thread_of_each_block", "global-race", """
- if (t == $N - 1) y[0] = x[i];  //!
+ if (t == $N - 1 && b == $G - 1) y[0] = x[i];""", 32, 3, tensors=xy("float", 96, 1),
               reference="  if (i == 95) y[0] = x[i];")


def shared_atomics() -> Iterator[Pair]:
    for n in (64, 128):
        tensors = xy("int", 2 * n, 16)
        yield Pair(identifier("histogram_clear", n), "shared-race", """
  __shared__ int s[8];
  if (t < 8) s[t] = 0;  //!
+ __syncthreads();
  atomicAdd(s + (t & 7), x[i]);  //!
  __syncthreads();
  if (t < 8) y[b * 8 + t] = s[t];""", n, 2, tensors=tensors,
                   reference="  int n = 0;\n  for (int k = t; k < $N; k += 8) n += x[b * $N + k];\n"
                             "  if (t < 8) y[b * 8 + t] = n;")
        yield Pair(identifier("histogram_read", n), "shared-race", """
  __shared__ int s[8];
  if (t < 8) s[t] = 0;
  __syncthreads();
  atomicAdd(s + (t & 7), x[i]);  //!
+ __syncthreads();
  if (t < 8) y[b * 8 + t] = s[t];  //!""", n, 2, tensors=tensors,
                   reference="  int n = 0;\n  for (int k = t; k < $N; k += 8) n += x[b * $N + k];\n"
                             "  if (t < 8) y[b * 8 + t] = n;")
        yield Pair(identifier("plain_beside_atomic", n), "shared-race", """
  __shared__ int s[8];
  if (t < 8) s[t] = 0;
  __syncthreads();
- if (t == 9) s[1] += x[i]; else atomicAdd(s + (t & 7), x[i]);  //!
+ atomicAdd(s + (t & 7), x[i]);
  __syncthreads();
  if (t < 8) y[b * 8 + t] = s[t];""", n, 2, tensors=tensors, shows=False,
                   reference="  int n = 0;\n  for (int k = t; k < $N; k += 8) n += x[b * $N + k];\n"
                             "  if (t < 8) y[b * 8 + t] = n;")
    for what, ctype in [("Min", "int"), ("Max", "unsigned"), ("Or", "unsigned"), ("Xor", "unsigned"), ("And", "int"),
                        ("Add", "float")]:
        yield Pair(identifier("shared_atomic_read", what, ctype), "shared-race", """
  __shared__ $T s;
  if (t == 0) s = x[i];
  __syncthreads();
  if (t > 0) atomic$OP(&s, $WHAT);  //!
+ __syncthreads();
  if (t == 0) y[b] = s;  //!""", 64, 1, tensors=xy(ctype, 64, 1), values={
                       "T": ctype, "OP": what,
                       "WHAT": {"Min": "x[i] - 5 * t", "And": "x[i] & ~(1 << t / 2)"}.get(what, "x[i] + 5 * t")})


def bounds() -> Iterator[Pair]:
    """Accesses beside tensors and shared arrays, and at addresses that do not suit their width."""
    for n, size in [(32, 50), (64, 100), (128, 129)]:
        g = (size + n - 1) // n
        yield Pair(identifier("tail_guard_read", n, size), "out-of-bounds-read", """
- if (i <= $SIZE) {
+ if (i < $SIZE) {
    const float v = x[i];  //!
    if (i < $SIZE) y[i] = v + v;
-   else y[0] = v;
  }""", n, g, tensors=xy("float", size), values={"SIZE": size}, reference="  if (i < $SIZE) y[i] = x[i] + x[i];")
        yield Pair(identifier("tail_guard_write", n, size), "out-of-bounds-write", """
- if (i <= $SIZE) y[i] = 1.0f;  //!
+ if (i < $SIZE) y[i] = 1.0f;""", n, g, tensors=xy("float", size), values={"SIZE": size},
                   reference="  if (i < $SIZE) y[i] = 1.0f;")
        yield Pair(identifier("stencil_left", n, size), "out-of-bounds-read", """
  if (i < $SIZE) {
-   y[i] = x[i] + x[i - 1];  //!
+   y[i] = i > 0 ? x[i] + x[i - 1] : x[i];
  }""", n, g, tensors=xy("double", size), values={"SIZE": size},
                   reference="  if (i < $SIZE) y[i] = i > 0 ? x[i] + x[i - 1] : x[i];")
    for ctype, lanes, size in [("float4", 4, 126), ("float2", 2, 63), ("int4", 4, 130)]:
        scalar = "int" if ctype.startswith("int") else "float"
        yield Pair(identifier("vector_tail", ctype, size), "out-of-bounds-read", """
  $S sum = 0;
- if ($L * i < $SIZE) {
+ if ($L * i + $L <= $SIZE) {
    const $T v = ((const $T*)x)[i];  //!
    sum = v.x + v.y;
  }
  y[i] = sum;""", 64, 1, tensors=xy(scalar, size, 64), values={"T": ctype, "L": lanes, "SIZE": size, "S": scalar},
                 reference="  y[i] = $L * i + $L <= $SIZE ? x[$L * i] + x[$L * i + 1] : ($S)0;")
    for n, bad in [(32, "t + 1"), (64, "t * 2"), (64, "t - 1"), (96, "t + (t == 95)")]:
        yield Pair(identifier("shared_index", n, bad), "shared-out-of-bounds", """
  __shared__ float s[$N];
- s[$BAD] = x[i];  //!
+ s[t] = x[i];
  __syncthreads();
  y[i] = s[$N - 1 - t];""", n, 1, tensors=xy("float", n), values={"BAD": bad}, reference="  y[i] = x[$N - 1 - t];")
    for n, size in [(64, 252), (32, 64), (128, 508)]:
        yield Pair(identifier("dynamic_shared", n, size), "shared-out-of-bounds", """
  extern __shared__ float s[];
- s[t] = x[i];  //!
+ if (t < $SIZE / 4) s[t] = x[i];
  __syncthreads();
  y[i] = s[0];""", n, 1, size, tensors=xy("float", n), values={"SIZE": size}, reference="  y[i] = x[0];")
    for ctype, scalar, off in [("float4", "float", 2), ("float2", "float", 1), ("double", "double", 0),
                               ("int4", "int", 1)]:
        yield Pair(identifier("misaligned", ctype, off), "misaligned-access", """
- const $T v = *(const $T*)((const char*)x + 4 * $OFF + $MORE);  //!
+ const $T v = *(const $T*)x;
  y[i] = $SUM;""", 32, 1, tensors=xy(scalar, 64, 32),
                   reference="  const $T v = *(const $T*)x;\n  y[i] = $SUM;",
                   values={"T": ctype, "OFF": off, "MORE": 4 if off == 0 else 0, "SUM": _all_parts(ctype)})
    for ctype, scalar, step in [("float4", "float", 3), ("float2", "float", 3), ("int4", "int", 2)]:
        yield Pair(identifier("misaligned_shared", ctype, step), "misaligned-access", """
  __shared__ alignas(16) $S s[256];
  for (int k = t; k < 256; k += 32) s[k] = x[k];
  __syncthreads();
- const $T v = *($T*)(s + $STEP * t);  //!
+ const $T v = *($T*)(s + 4 * t);
  y[i] = $SUM;""", 32, 1, tensors=xy(scalar, 256, 32),
                   reference="  const $T v = *(const $T*)(x + 4 * t);\n  y[i] = $SUM;",
                   values={"T": ctype, "S": scalar, "STEP": step, "SUM": _all_parts(ctype)})
    yield Pair("misaligned_store_block", "misaligned-access", """
- *(float2*)(y + 33 * b + 2 * t) = make_float2(x[i], 0.0f);  //!
+ *(float2*)(y + 34 * b + 2 * t) = make_float2(x[i], 0.0f);""", 16, 3,
               tensors=[Tensor("x", "float", [48]), Tensor("y", "float", [112], "readwrite")])
    yield Pair("misaligned_offset", "misaligned-access", """
- const float2 v = ((const float2*)(x + 1))[i];  //!
+ const float2 v = ((const float2*)(x + 2))[i];
  y[i] = v.x + v.y;""", 32, 1,
               tensors=[Tensor("x", "float", [68]), Tensor("y", "float", [32], "write")],
               reference="  y[i] = x[2 + 2 * i] + x[3 + 2 * i];")
    yield Pair("other_tensor", "out-of-bounds-read", """
- y[i] = x[i + 64];  //!
+ y[i] = x[i + 32];""", 32, 1, tensors=xy("float", 64, 32), reference="  y[i] = x[i + 32];")
    for g, size in [(3, 95), (4, 100)]:
        yield Pair(identifier("grid_too_large", g, size), "out-of-bounds-write", """
- y[i] = 1;  //!
+ if (i < $SIZE) y[i] = 1;""", 32, g, tensors=[Tensor("y", "int", [size], "write")], values={"SIZE": size},
                   reference="  if (i < $SIZE) y[i] = 1;")


def _all_parts(ctype: str) -> str:
    return " + ".join("v." + part for part in "xyzw"[:int(ctype[-1])]) if ctype[-1].isdigit() else "v"


def uninitialised() -> Iterator[Pair]:
    for n, first in [(32, 31), (64, 1), (64, 63)]:
        yield Pair(identifier("shared_unwritten", n, first), "uninitialized-read", """
  __shared__ float s[$N];
- if (t != $AT) s[t] = x[i];
+ s[t] = x[i];
  __syncthreads();
  y[i] = s[$N - 1 - t];  //!""", n, 1, tensors=xy("float", n), values={"AT": first},
                   reference="  y[i] = x[$N - 1 - t];")
    for size, written in [(4, 3), (8, 5)]:
        yield Pair(identifier("local_unwritten", size), "uninitialized-read", """
  float v[$SIZE];
- for (int k = 0; k < $WRITTEN; ++k) v[(k + t) % $SIZE] = x[i] + k;
+ for (int k = 0; k < $SIZE; ++k) v[(k + t) % $SIZE] = x[i] + k;
  y[i] = v[(t + b + $SIZE - 1) % $SIZE];""", 32, 1, tensors=xy("float", 32),
                   values={"SIZE": size, "WRITTEN": written}, reference="  y[i] = x[i] + ($SIZE - 1);")
    for n, g, left in [(32, 2, "i != 40"), (64, 1, "t < 63"), (32, 4, "b != 3"), (32, 3, "i > 0")]:
        yield Pair(identifier("output_unwritten", n, g, left), "uninitialized-read", """
- if ($LEFT) y[i] = x[i];
+ y[i] = x[i];""", n, g, tensors=xy("float", n * g), values={"LEFT": left}, reference="  y[i] = x[i];")
    for ctype, move in [("float", 'f32 v; mov.f32'), ("int", "b32 v; mov.b32"), ("double", "f64 v; mov.f64")]:
        yield Pair(identifier("register_unwritten", ctype), "uninitialized-read", """
  $T v;
- asm volatile("{ .reg .$MOVE %0, v; }" : "=$L"(v));
+ v = x[i];
  y[i] = v;""", 32, 1, tensors=xy(ctype, 32), reference="  y[i] = x[i];",
                   values={"T": ctype, "MOVE": move, "L": {"float": "f", "int": "r", "double": "d"}[ctype]})
    yield Pair("scratch_unwritten", "uninitialized-read", """
- if (t < 16) tmp[i] = x[i];
+ tmp[i] = x[i];
  y[i] = tmp[i];  //!""", 32, 2,
               tensors=[*xy("float", 64), Tensor("tmp", "float", [64], "readwrite", "empty")],
               reference="  y[i] = x[i];")
    yield Pair("branch_on_unwritten", "uninitialized-read", """
  extern __shared__ int flag[];
+ if (t == 0) flag[0] = 1;
  __syncthreads();
  if (flag[0]) y[i] = x[i]; else y[i] = -x[i];""", 32, 1, 4, tensors=xy("float", 32), reference="  y[i] = x[i];")
    yield Pair("index_from_unwritten", "uninitialized-read", """
  __shared__ int at[32];
- if (t < 31) at[t] = 31 - t;
+ at[t] = 31 - t;
  __syncthreads();
  y[i] = x[at[t]];""", 32, 1, tensors=xy("float", 32), reference="  y[i] = x[31 - t];")
    yield Pair("half_of_word", "uninitialized-read", """
  __shared__ unsigned char s[128];
  s[4 * t] = s[4 * t + 1] = s[4 * t + 2] = 1;
+ s[4 * t + 3] = 0;
  y[i] = *(int*)(s + 4 * t);  //!""", 32, 1, tensors=xy("int", 32), reference="  y[i] = 0x10101;")


def divergence() -> Iterator[Pair]:
    """Barriers that some never reach, or that lanes of one warp reach at two places."""
    for n, who in [(64, "t < 16"), (64, "t < 33"), (96, "t % 2"), (128, "t >= 127"), (64, "t != 0")]:
        yield Pair(identifier("barrier_in_branch", n, who), "barrier-divergence", """
  __shared__ float s[$N];
  if ($WHO) {
    s[t] = x[i];
-   __syncthreads();  //!
  }
- else s[t] = 0.0f;
+ else s[t] = 0.0f;
+ __syncthreads();
- __syncthreads();
  y[i] = s[$N - 1 - t];""", n, 1, tensors=xy("float", n), values={"WHO": who},
                   reference="  const int o = $N - 1 - t;\n  y[i] = ({ int t = o; ($WHO); }) ? x[o] : 0.0f;")
    for turns, n in [("1 + t / 16", 32), ("1 + (t > 40)", 64), ("2 + t % 2", 32)]:
        yield Pair(identifier("barrier_in_loop", turns, n), "barrier-divergence", """
  float v = x[i];
  for (int k = 0; k < 3; ++k) {
    if (k < $TURNS) {
      v += 1.0f;
-     __syncthreads();  //!
    }
+   __syncthreads();
  }
  asm volatile("bar.sync 1;" ::: "memory");
  y[i] = v;""", n, 1, tensors=xy("float", n), values={"TURNS": turns},
                 reference="  float v = x[i];\n  for (int k = 0; k < $TURNS; ++k) v += 1.0f;\n  y[i] = v;")
    for n, count in [(64, 96), (64, 128), (96, 128)]:
        yield Pair(identifier("count_too_large", n, count), "barrier-divergence", """
- asm volatile("bar.sync 1, $COUNT;" ::: "memory");  //!
+ asm volatile("bar.sync 1, $N;" ::: "memory");
  y[i] = x[i];""", n, 1, tensors=xy("float", n), values={"COUNT": count}, reference="  y[i] = x[i];")
    yield Pair("crossed_barriers", "barrier-divergence", """
- if (t < 32) {
-   asm volatile("bar.sync 1, 64;" ::: "memory");  //!
-   asm volatile("bar.sync 2, 64;" ::: "memory");
- } else {
-   asm volatile("bar.sync 2, 64;" ::: "memory");  //!
-   asm volatile("bar.sync 1, 64;" ::: "memory");
- }
+ asm volatile("bar.sync 1, 64;" ::: "memory");
+ asm volatile("bar.sync 2, 64;" ::: "memory");
  y[i] = x[i];""", 64, 1, tensors=xy("float", 64), reference="  y[i] = x[i];")
    yield Pair("two_ids", "barrier-divergence", """
- if (t < 32) asm volatile("bar.sync 1, 64;" ::: "memory");  //!
- else asm volatile("bar.sync 2, 64;" ::: "memory");  //!
+ asm volatile("bar.sync 1, 64;" ::: "memory");
  y[i] = x[i];""", 64, 1, tensors=xy("float", 64), reference="  y[i] = x[i];")
    yield Pair("warp_never_arrives", "barrier-divergence", """
- if (t < 32) asm volatile("bar.sync 1, 64;" ::: "memory");  //!
+ asm volatile("bar.sync 1, 64;" ::: "memory");
  y[i] = x[i];""", 64, 1, tensors=xy("float", 64), reference="  y[i] = x[i];")
    yield Pair("exit_before_counted_barrier", "barrier-divergence", """
  y[i] = x[i];
- if (t >= 32) return;
  asm volatile("bar.sync 1, 64;" ::: "memory");  //!
  if (t == 0) y[0] = x[0] + 1.0f;""", 64, 1, tensors=xy("float", 64),
               reference="  y[i] = t == 0 ? x[0] + 1.0f : x[i];")
    # A thread that has ended takes no part in a barrier; a replay has it end before, as it must.
    for ctype, n in [("float", 64), ("int", 128)]:
        yield Pair(identifier("ended_writer", ctype, n), "shared-race", """
  __shared__ $T s[$N];
  s[t] = x[i];  //!
- if (t >= $N / 2) return;
  __syncthreads();
+ if (t >= $N / 2) return;
  y[i] = s[$N - 1 - t];  //!""", n, 1, tensors=xy(ctype, n, n // 2), values={"T": ctype}, shows=False,
                   reference="  if (t < $N / 2) y[i] = x[$N - 1 - t];")
    yield Pair("ended_lanes_and_count", "shared-race", """
  __shared__ float s[48];
  if (t >= 48) return;
  s[t] = x[i];  //!
+ asm volatile("bar.sync 1, 64;" ::: "memory");
  y[i] = s[47 - t];  //!""", 64, 1, tensors=xy("float", 48), reference="  if (t < 48) y[i] = x[47 - t];")
    yield Pair("producer_without_consumer", "barrier-divergence", """
  if (t < 32) {
    y[i] = x[i];
-   asm volatile("bar.sync 1, 64;" ::: "memory");  //!
+   asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
-   asm volatile("bar.sync 2, 64;" ::: "memory");  //!
+   asm volatile("bar.sync 1, 64;" ::: "memory");
    y[i] = x[i];
  }""", 64, 1, tensors=xy("float", 64), reference="  y[i] = x[i];")


def collectives() -> Iterator[Pair]:
    """Warp collectives that name lanes which do not take part, or take values from such."""
    for form, call in [("idx", "__shfl_sync(~0u, v, 20)"), ("down", "__shfl_down_sync(~0u, v, 1)"),
                       ("up", "__shfl_up_sync(~0u, v, 1)"), ("xor", "__shfl_xor_sync(~0u, v, 16)")]:
        yield Pair(identifier("shuffle_in_branch", form), "inactive-lane", """
  float v = x[i];
- if (t < 20) v = $CALL;  //!
+ const float w = $CALL;
+ if (t < 20) v = w;
  y[i] = v;""", 32, 1, tensors=xy("float", 32), values={"CALL": call}, shows=form != "up")
    for form, call in [("ballot", "__ballot_sync(~0u, v > 3)"), ("any", "__any_sync(~0u, v > 3)"),
                       ("all", "__all_sync(~0u, v > 3)"), ("add", "__reduce_add_sync(~0u, v)"),
                       ("min", "__reduce_min_sync(~0u, v)"), ("or", "__reduce_or_sync(~0u, v)"),
                       ("match", "__match_any_sync(~0u, v)")]:
        yield Pair(identifier("collective_in_branch", form), "inactive-lane", """
  int v = x[i];
- if (t % 3) v = $CALL;  //!
+ const int w = $CALL;
+ if (t % 3) v = w;
  y[i] = v;""", 32, 1, tensors=xy("int", 32), values={"CALL": call}, shows=False)
    for n, delta in [(48, 16), (40, 8), (20, 1)]:
        yield Pair(identifier("lanes_that_do_not_exist", n, delta), "inactive-lane", """
  const int warp = t / 32 * 32, lanes = $N - warp < 32 ? $N - warp : 32;
  (void)lanes;
  const float v = x[i];
  const float w = __shfl_down_sync(lanes == 32 ? ~0u : (1u << lanes) - 1, v, $D);  //!
- y[i] = v + w;
+ y[i] = t - warp + $D < lanes ? v + w : v;""", n, 1, tensors=xy("float", n), values={"D": delta})
    for mask, who in [("0xffu", "t < 16"), ("0xfffffffeu", "t >= 0"), ("0x0000ffffu", "t != 40")]:
        yield Pair(identifier("caller_not_named", mask), "inactive-lane", """
  int v = x[i];
- if ($WHO) v = __shfl_xor_sync($MASK, v, 1);  //!
+ v = __shfl_xor_sync(~0u, v, 1);
  y[i] = v;""", 32, 1, tensors=xy("int", 32), values={"MASK": mask, "WHO": who}, reference="  y[i] = x[i ^ 1];")
    yield Pair("value_of_exited_lane", "inactive-lane", """
  const int v = x[i];
  y[i] = v;
- if (t >= 24) return;
  y[i] = __shfl_xor_sync(~0u, v, 8);  //!""", 32, 1, tensors=xy("int", 32))
    yield Pair("two_masks", "inactive-lane", """
  int v = x[i];
- v = __shfl_xor_sync(t < 16 ? 0xffffffffu : 0xffff0000u, v, 16);  //!
+ v = __shfl_xor_sync(0xffffffffu, v, 16);
  y[i] = v;""", 32, 1, tensors=xy("int", 32), reference="  y[i] = x[i ^ 16];")
    yield Pair("half_warp_segment", "inactive-lane", """
  int v = x[i];
  if (t < 16) {
-   v = __shfl_down_sync(0xffffu, v, 8, 32);  //!
+   v = __shfl_down_sync(0xffffu, v, 8, 16);
  }
  y[i] = v;""", 32, 1, tensors=xy("int", 32), reference="  y[i] = t < 8 ? x[i + 8] : x[i];")
    yield Pair("warp_barrier_in_branch", "inactive-lane", """
  __shared__ int s[32];
  s[t] = x[i];
- if (t < 16) __syncwarp(~0u);  //!
- __syncthreads();
+ __syncwarp(~0u);
  y[i] = s[31 - t];""", 32, 1, tensors=xy("int", 32), reference="  y[i] = x[31 - t];")


def copies() -> Iterator[Pair]:
    """Asynchronous copies touched before they are known to be complete."""
    issue = ('asm volatile("cp.async.%s.shared.global [%%0], [%%1], %d;" :: "r"((unsigned)__cvta_generic_to_shared('
             '%s)), "l"(%s) : "memory");')
    commit = 'asm volatile("cp.async.commit_group;" ::: "memory");'
    wait = 'asm volatile("cp.async.wait_group %d;" ::: "memory");'
    for ctype, size, n in [("float", 4, 32), ("double", 8, 64), ("int", 4, 96)]:
        start = issue % ("ca", size, "s + t", "x + i")
        good = commit + wait % 0
        for name, bad in [("never_waited", commit), ("not_committed", wait % 0), ("one_group_left", commit + wait % 1)]:
            yield Pair(identifier("copy", name, ctype, n), "unwaited-copy", """
  __shared__ $T s[$N];
  $START  //!
- $BAD
+ $GOOD
  y[i] = s[t];  //!""", n, 2, tensors=xy(ctype, 2 * n), reference="  y[i] = x[i];",
                       values={"T": ctype, "START": start, "BAD": bad, "GOOD": good})
    for n in (32, 64):
        start = issue % ("cg", 16, "s + 4 * t", "x + 4 * i")
        yield Pair(identifier("copy_destination_written", n), "unwaited-copy", """
  __shared__ alignas(16) float s[4 * $N];
  $START  //!
  $COMMIT
+ $WAIT
  s[4 * t] = 1.0f;  //!
- $WAIT
  y[i] = s[4 * t] + s[4 * t + 1];""", n, 1, tensors=xy("float", 4 * n, n), reference="  y[i] = 1.0f + x[4 * i + 1];",
                   values={"START": start, "COMMIT": commit, "WAIT": wait % 0})
        yield Pair(identifier("copy_source_written", n), "unwaited-copy", """
  __shared__ alignas(16) float s[4 * $N];
  $START  //!
  $COMMIT
+ $WAIT
  x[4 * i + 2] = 0.0f;  //!
- $WAIT
  y[i] = s[4 * t + 2];""", n, 1,
                   tensors=[Tensor("x", "float", [4 * n], "readwrite"), Tensor("y", "float", [n], "write")],
                   values={"START": start, "COMMIT": commit, "WAIT": wait % 0},
                   reference="  y[i] = x[4 * i + 2];\n  x[4 * i + 2] = 0.0f;")
        yield Pair(identifier("copy_without_barrier", n), "shared-race", """
  __shared__ alignas(16) float s[4 * $N];
  $START  //!
  $COMMIT
  $WAIT
+ __syncthreads();
  y[i] = s[4 * ($N - 1 - t)];  //!""", n, 1, tensors=xy("float", 4 * n, n), reference="  y[i] = x[4 * ($N - 1 - t)];",
                   values={"START": start, "COMMIT": commit, "WAIT": wait % 0})
    for stages, turns in [(2, 4), (3, 5), (4, 4)]:
        load = issue % ("ca", 4, "s + (k %% %d) * $N + t" % stages, "x + k * $N + t")
        yield Pair(identifier("pipeline", stages, turns), "unwaited-copy", """
  __shared__ float s[$STAGES * $N];
  for (int k = 0; k < $STAGES - 1; ++k) { $LOAD $COMMIT }
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < $TURNS; ++j) {
    const int k = j + $STAGES - 1;
-   $BADWAIT
+   $WAIT
    sum += s[j % $STAGES * $N + t];  //!
    if (k < $TURNS) { $LOAD }
    $COMMIT
  }
  y[i] = sum;""".replace("$LOAD", load).replace("$COMMIT", commit).replace("$BADWAIT", wait % (stages - 1)).replace(
            "$WAIT", wait % (stages - 2)), 32, 1, tensors=xy("float", 32 * turns, 32),
                   values={"STAGES": stages, "TURNS": turns},
                   reference="  float sum = 0.0f;\n  for (int k = 0; k < $TURNS; ++k) sum += x[k * $N + t];\n"
                             "  y[i] = sum;")


def accesses() -> Iterator[Pair]:
    for ctype, n in [("float", 32), ("int", 64)]:
        yield Pair(identifier("read_tensor_written", ctype, n), "access-violation", """
- if (t == $N - 1) (($T*)x)[i] = 0;  //!
  y[i] = x[0];""", n, 1, tensors=xy(ctype, n), values={"T": ctype}, reference="  y[i] = x[0];", shows=False)
        yield Pair(identifier("read_tensor_updated", ctype, n), "access-violation", """
- atomicAdd(($T*)x + i, ($T)1);  //!
  y[i] = 1;""", n, 1, tensors=xy(ctype, n), values={"T": ctype}, reference="  y[i] = 1;", shows=False)
        yield Pair(identifier("write_tensor_read", ctype, n), "access-violation", """
- y[i] = x[i] + y[i];  //!
+ y[i] = x[i];""", n, 2, tensors=[Tensor("x", ctype, [2 * n]), Tensor("y", ctype, [2 * n], "write", "zeros")],
                   reference="  y[i] = x[i];", shows=False)


CLUSTER = """
  const unsigned r = __clusterRelativeBlockRank();
  (void)r;"""
MEET = "__cluster_barrier_arrive(); __cluster_barrier_wait();"
MAP = "((%s*)__cluster_map_shared_rank(%s, %s))"
ADDRESS = "(unsigned)__cvta_generic_to_shared(%s)"
WAIT = """{ unsigned ok = 0; while (!ok) asm volatile(
    "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%%1], %%2; selp.u32 %%0, 1, 0, p; }"
    : "=r"(ok) : "r"(%s), "r"(%s) : "memory"); }"""
INIT = """if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%%0], %%1;" :: "r"(%s), "r"(%s) : "memory");"""
OTHER = "(b ^ 1) * $N + t"  # the same thread of the other block of a pair


def clusters() -> Iterator[Pair]:
    def body(text: str) -> str:
        return CLUSTER + text.replace("$MEET", MEET).replace("$BAR", ADDRESS % "&bar")
    swap = "  y[i] = x[%s];" % OTHER
    for n in (32, 96):
        for wrong in ("", "__syncthreads();", "__cluster_barrier_arrive_relaxed(); __cluster_barrier_wait();"):
            yield Pair(identifier("cluster_read", n, wrong), "shared-race", body("""
  __shared__ float s[$N];
  $MEET
  s[t] = x[i];
- %s
+ $MEET
  y[i] = %s[t];  //!
  $MEET""" % (wrong, MAP % ("float", "s", "r ^ 1"))), n, 4, tensors=xy("float", 4 * n), cluster=2, reference=swap,
                       shows="relaxed" not in wrong)
        yield Pair(identifier("cluster_write", n), "shared-race", body("""
  __shared__ float s[$N];
  $MEET
  %s[t] = x[i];
- __syncthreads();
+ $MEET
  y[i] = s[t];  //!""" % (MAP % ("float", "s", "r ^ 1"))), n, 4, tensors=xy("float", 4 * n), cluster=2,
                   reference=swap)
        yield Pair(identifier("cluster_before_wait", n), "shared-race", body("""
  __shared__ float s[$N];
  s[t] = x[i];
  $MEET
  const float v = %s[t];
  __cluster_barrier_arrive();
- s[t] = 0.0f;
  __cluster_barrier_wait();
+ s[t] = 0.0f;
  y[i] = v + s[t];""" % (MAP % ("float", "s", "r ^ 1"))), n, 4, tensors=xy("float", 4 * n), cluster=2,
                   reference=swap)
        yield Pair(identifier("cluster_exit", n), "shared-out-of-bounds", body("""
  __shared__ float s[$N];
  s[t] = x[i];
  $MEET
  y[i] = %s[t];  //!
- __syncthreads();
+ $MEET""" % (MAP % ("float", "s", "r ^ 1"))), n, 4, tensors=xy("float", 4 * n), cluster=2, reference=swap)
        yield Pair(identifier("cluster_start", n), "shared-out-of-bounds", body("""
  __shared__ float s[$N];
- ;
+ $MEET
  %s[t] = x[i];  //!
  $MEET
  y[i] = s[t];""" % (MAP % ("float", "s", "r ^ 1"))), n, 4, tensors=xy("float", 4 * n), cluster=2,
                   reference=swap, shows=False)
        yield Pair(identifier("cluster_rank", n), "shared-out-of-bounds", body("""
  __shared__ float s[$N];
  s[t] = x[i];
  $MEET
- y[i] = %s[t];  //!
+ y[i] = %s[t];
  $MEET""" % (MAP % ("float", "s", "r + 1"), MAP % ("float", "s", "(r + 1) % 4"))), n, 8,
                   tensors=xy("float", 8 * n), cluster=4,
                   reference="  y[i] = x[(b / 4 * 4 + (b + 1) % 4) * $N + t];")
        arrive = ('asm volatile("{ .reg .b32 m; mapa.shared::cluster.u32 m, %%0, 0; mbarrier.arrive.release.%s'
                  '.shared::cluster.b64 _, [m]; }" :: "r"($BAR) : "memory");')
        remote = """
  __shared__ float s[2 * $N];
  __shared__ unsigned long long bar;
  %s
  $MEET
  %s[r * $N + t] = x[i];
  $ARRIVE
  if (r == 0) {
    %s
    y[i] = s[t] + s[$N + t];  //!
  } else {
    y[i] = 0.0f;
  }
  $MEET""" % (INIT % ("$BAR", "$COUNT"), MAP % ("float", "s", "0"), WAIT % ("$BAR", "0"))
        sums = "  y[i] = b % 2 ? 0.0f : x[i] + x[i + $N];"
        bad = remote.replace("  $ARRIVE", "- %s\n+ %s" % (arrive % "cta", arrive % "cluster"))
        yield Pair(identifier("cluster_arrive_scope", n), "shared-race", body(bad).replace("$COUNT", "2 * $N"), n, 4,
                   tensors=xy("float", 4 * n), cluster=2, reference=sums, shows=False)
        copy = """
  __shared__ alignas(16) float s[$N];
  __shared__ unsigned long long bar;
  %s
  $MEET
  if (t == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%0], %%1;"
                           :: "r"($BAR), "r"(4 * $N) : "memory");
  $MEET
  if (r == 0 && t == 0)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%%0], [%%1], %%2, [%%3], %%4;"
                 :: "r"(%s), "l"(x + b * $N), "r"(4 * $N), "r"($BAR), "h"((short)3) : "memory");
- if (r == 0) %s
+ %s
  y[i] = s[t];  //!
  $MEET""" % (INIT % ("$BAR", "1"), ADDRESS % "s", WAIT % ("$BAR", "0"), WAIT % ("$BAR", "0"))
        copy = copy.replace("\n    \"{", " \"{").replace("\n    : ", " : ")
        yield Pair(identifier("cluster_multicast", n), "unwaited-copy", body(copy), n, 4,
                   tensors=xy("float", 4 * n), cluster=2, reference="  y[i] = x[(b & ~1) * $N + t];")
        store = """
  __shared__ float s[$N];
  __shared__ unsigned long long bar;
  %s
  if (t == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%0], %%1;"
                           :: "r"($BAR), "r"(4 * $N) : "memory");
  $MEET
  asm volatile("{ .reg .b32 m, n; mapa.shared::cluster.u32 m, %%0, %%3; mapa.shared::cluster.u32 n, %%2, %%3;"
               " st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [m], %%1, [n]; }"
               :: "r"(%s), "f"(x[i]), "r"($BAR), "r"(r ^ 1) : "memory");
- %s
+ %s
  y[i] = s[t];  //!
  $MEET""" % (INIT % ("$BAR", "1"), ADDRESS % "&s[t]", "__syncthreads();", WAIT % ("$BAR", "0"))
        store = store.replace("\n    \"{", " \"{").replace("\n    : ", " : ")
        yield Pair(identifier("cluster_store_async", n), "unwaited-copy", body(store), n, 4,
                   tensors=xy("float", 4 * n), cluster=2, reference=swap)


FAMILIES = [neighbour_exchange, barriers_in_code, global_memory, shared_atomics, bounds, uninitialised, divergence,
            collectives, copies, accesses, clusters]


def pairs() -> list[Pair]:
    return [pair for family in FAMILIES for pair in family()]
