// Loads whose lanes' addresses lie in one object and move alike over the CTAs of the class, as most
// do: what is checked is checked for all lanes at once.
#include <algorithm>
#include <bit>

#include "exec/cta.h"

namespace coequal::exec {

bool CtaExecutor::load_alike(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc) {
  const ptx::Operand& address = d.text->operands[1];
  if (!address.base_is_register || fork_ || predicated_ & mask || last_) return false;
  if (d.semantics != isa::Semantics::Weak || d.is_volatile) return false;
  const Bank& base = warp.registers[address.reg];
  if ((base.addresses() & mask) != mask) return false;
  const int first = std::countr_zero(mask);
  const Provenance object = base.object(first);
  const MotionId motion = base.motion(first);
  if (object.is_mixed()) return false;
  const Place place = object.place();
  const bool generic = d.space == ptx::StateSpace::Generic || d.space == ptx::StateSpace::Global;
  const bool reaches_shared =
      d.space == ptx::StateSpace::Generic || d.space == ptx::StateSpace::Shared;
  if (place == Place::Shared ? motion || !reaches_shared : place != Place::Tensor || !generic)
    return false;

  const ptx::Operand& dst = d.text->operands[0];
  const bool vector = dst.kind == ptx::Operand::Kind::Vector;
  const int count = vector ? static_cast<int>(dst.elements.size()) : 1;
  const int width = ptx::bits_of(d.type) / 8, bytes = width * count;
  std::array<int64_t, kWarpSize> offsets;
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (base.object(lane) != object || base.motion(lane) != motion) return false;
    const uint64_t at = base.bits(lane) + static_cast<uint64_t>(address.offset);
    const int64_t offset = locate_object(object, at, generic).offset;
    if (offset % bytes != 0) return false;
    offsets[static_cast<size_t>(lane)] = offset;
    low = std::min(low, offset), high = std::max(high, offset);
  }
  const auto range = motions_->range(motion);
  Location start{place, object.object(), 0};
  if (place == Place::Shared) {
    if (start.object >= shared_count()) return false;  // another CTA's
    start.object += rank_of(warp.index * kWarpSize) * shared_count();
  }
  const int64_t last = size_of(start) - bytes;
  if (low < 0 || high > last || range.min < -low || range.max > last - high) return false;

  const bool is_signed = d.type == ptx::ScalarType::S8 || d.type == ptx::ScalarType::S16 ||
                         d.type == ptx::ScalarType::S32;
  const uint32_t thread = warp.index * kWarpSize;
  // Fills the destinations with what `load` says of a lane at an offset.
  const auto fill = [&](auto&& load) {
    for (uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      for (int i = 0; i < count; ++i) {
        const ptx::Operand& target = vector ? dst.elements[static_cast<size_t>(i)] : dst;
        const Word w = load(thread + static_cast<uint32_t>(lane),
                            offsets[static_cast<size_t>(lane)] + i * width);
        if (target.kind != ptx::Operand::Kind::Register) continue;
        const int reg = ptx::bits_of(kernel_.function->registers[target.reg].type);
        Bank& bank = warp.registers[target.reg];
        if (reg > 8 * width)
          bank.set(lane, widened(w, 8 * width, reg, is_signed));
        else
          bank.set(lane, w);
      }
    }
  };
  if (place == Place::Shared) {
    SharedVariable& v = shared_[start.object];
    if (!v.pending_copies.empty() || !raced_before_.places.empty() || !raced_before_.loads.empty())
      return false;
    fill([&](uint32_t reader, int64_t offset) {
      if (!track_own(v.shadow, offset, width, reader, pc, Role::Read, nullptr))
        track(v.shadow, place, start.object, offset, width, read_event(reader, pc, offset, width));
      return load_variable({place, start.object, offset}, v.memory, width,
                           tensor::Origin{reader, pc});
    });
    return true;
  }
  const tensor::TensorInfo& info = (*state_.tensors)[start.object];
  if (tensors_[start.object].tracked || info.strided || info.element_size() != width ||
      !motions_->divisible(motion, bytes))
    return false;
  const MotionId cells = cell_motion(motion, width);
  contents_ = &state_;
  fill([&](uint32_t reader, int64_t offset) {
    return load_cell(start.object, offset / width, cells, tensor::Origin{reader, pc});
  });
  return true;
}

}  // namespace coequal::exec
