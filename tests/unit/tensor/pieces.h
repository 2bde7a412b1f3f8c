// Small launches made by hand or at random, for tests of what comes after execution.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "tensor/writer_map.h"

namespace coequal::tensor::testing {

inline TensorInfo make_tensor(std::string name, DType dtype, std::vector<int64_t> shape,
                              TensorInfo::Init init = TensorInfo::Init::Empty) {
  TensorInfo t;
  t.name = std::move(name);
  t.dtype = dtype;
  t.shape = std::move(shape);
  t.strides.assign(t.shape.size(), 1);
  for (size_t d = t.shape.size(); d-- > 1;) t.strides[d - 1] = t.strides[d] * t.shape[d];
  t.storage_cells = t.elements();
  t.init = init;
  return t;
}

inline term::GroupId make_group(term::TermStore& store, std::string name,
                                term::Group::Kind kind = term::Group::Kind::Input,
                                DType dtype = DType::F32) {
  term::Group g;
  g.kind = kind;
  g.name = std::move(name);
  g.dtype = dtype;
  g.type = leaf_type(dtype);
  return store.add_group(std::move(g));
}

inline std::vector<Cta> box(uint32_t nx, uint32_t ny = 1, uint32_t nz = 1) {
  std::vector<Cta> out;
  for (uint32_t z = 0; z < nz; ++z)
    for (uint32_t y = 0; y < ny; ++y)
      for (uint32_t x = 0; x < nx; ++x) out.push_back({x, y, z});
  return out;
}

inline std::shared_ptr<LaunchPieces> make_launch(std::array<uint32_t, 3> grid, int index = 0) {
  auto launch = std::make_shared<LaunchPieces>();
  launch->launch = index;
  launch->kernel = "k";
  launch->grid = grid;
  launch->block = {32, 1, 1};
  launch->spans.resize(64);
  for (uint32_t i = 0; i < 64; ++i) launch->spans[i] = {"k.cu", i + 1, 0};
  return launch;
}

inline ClassPieces& add_class(LaunchPieces& launch, std::vector<Cta> ctas) {
  launch.classes.emplace_back();
  launch.classes.back().motions = std::make_shared<MotionTable>(std::move(ctas));
  return launch.classes.back();
}

inline TensorPiece& add_piece(ClassPieces& cls, TensorId tensor) {
  cls.tensors.emplace_back();
  cls.tensors.back().tensor = tensor;
  return cls.tensors.back();
}

// A random function of two inputs, moving over the class.
inline term::Term random_value(std::mt19937& random, term::TermStore& store, MotionTable& motions,
                               term::GroupId x, term::GroupId y) {
  auto motion = [&] { return motions.affine(random() % 3, random() % 3, 0); };
  MotionId mx = motion(), my = motion();
  term::Term t = store.leaf(x, {int64_t(random() % 4), mx});
  switch (random() % 4) {
    case 0:
      return t;
    case 1:
      return store.make(term::Kind::Add, {t, store.leaf(x, {int64_t(4 + random() % 3), mx})});
    case 2:
      return store.make(term::Kind::Mul, {t, store.leaf(y, {int64_t(random() % 3), my})});
    default:
      return store.real(int64_t(random() % 2));
  }
}

// CTAs of a small grid dealt to classes; every class stores to random cells of tensor 0 at random
// motions.
inline std::shared_ptr<LaunchPieces> random_launch(std::mt19937& random, term::TermStore& store,
                                                   int64_t cells, term::GroupId x, term::GroupId y,
                                                   int index = 0) {
  uint32_t nx = 1 + random() % 4, ny = 1 + random() % 3;
  auto launch = make_launch({nx, ny, 1}, index);
  std::vector<std::vector<Cta>> dealt(1 + random() % 3);
  for (const Cta& c : box(nx, ny)) dealt[random() % dealt.size()].push_back(c);
  for (auto& ctas : dealt) {
    if (ctas.empty()) continue;
    ClassPieces& cls = add_class(*launch, ctas);
    MotionTable& motions = *cls.motions;
    if (random() % 4 == 0) motions.narrow([&](size_t) { return random() % 4 != 0; });
    TensorPiece& piece = add_piece(cls, 0);
    std::vector<std::set<int64_t>> taken(motions.size());
    for (int s = random() % 6; s > 0; --s) {
      MotionId motion = motions.affine(random() % 5, random() % 8, 0);
      MotionTable::Range range = motions.range(motion);
      if (range.max - range.min >= cells) continue;
      int64_t first = -range.min + int64_t(random() % uint64_t(cells - (range.max - range.min)));
      for (int64_t cell = first; cell < first + 1 + int64_t(random() % 4); ++cell) {
        if (cell + range.max >= cells) break;
        bool free = true;
        for (size_t i = 0; i < motions.size(); ++i)
          free &= !taken[i].contains(cell + motions.value(motion, i));
        if (!free) continue;
        for (size_t i = 0; i < motions.size(); ++i)
          taken[i].insert(cell + motions.value(motion, i));
        CellStore stored;
        stored.cell = cell;
        stored.motion = motion;
        stored.value = random_value(random, store, motions, x, y);
        stored.origin = {uint32_t(random() % 32), uint32_t(random() % 64)};
        piece.stores.push_back(stored);
      }
    }
  }
  return launch;
}

}  // namespace coequal::tensor::testing
