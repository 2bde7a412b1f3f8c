"""PTX and Triton kernels that several tests use."""

# y[i] = x[i] * FACTOR for i < n; a block of 32 threads.
SCALE_PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r2, 32, %r3;
  setp.ge.u32 %p1, %r4, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  mul.f32 %f2, %f1, FACTOR;
  st.global.f32 [%rd5], %f2;
DONE:
  ret;
}
"""
DOUBLE = SCALE_PTX.replace("FACTOR", "0f40000000")
TRIPLE = SCALE_PTX.replace("FACTOR", "0f40400000")

# y[i] = x[i] + s, with a scalar parameter.
SHIFT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry shift(.param .u64 x, .param .u64 y, .param .f32 s)
{
  .reg .b32 %r<2>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.f32 %f1, [s];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  add.f32 %f3, %f2, %f1;
  st.global.f32 [%rd5], %f3;
  ret;
}
"""
