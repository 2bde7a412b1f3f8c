#include "check/lower.h"

#include <algorithm>

#include "base/float_bits.h"
#include "check/module_variables.h"
#include "toolchain/ptx_cache.h"

namespace coequal::check {
namespace {

// The value of the dtype nearest to a number as written.
uint64_t bits_of(const instance::Number& number, DType dtype) {
  if (is_float(dtype)) return float_from_double(float_spec(dtype), number.real);
  return static_cast<uint64_t>(number.integer);
}

term::Rational exact_value(const instance::Number& number, DType dtype) {
  if (!is_float(dtype))
    return dtype == DType::U64 ? term::Rational::from_u64(static_cast<uint64_t>(number.integer))
                               : term::Rational(number.integer);
  const FloatSpec spec = float_spec(dtype);
  return term::Rational::from_double(float_to_double(spec, bits_of(number, dtype)));
}

std::vector<uint8_t> bytes_of(uint64_t bits, int size) {
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i)
    bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(bits >> (8 * i));
  return bytes;
}

term::Bounds lower_bounds(const instance::Bounds& bounds) {
  const auto exact = [](const std::optional<instance::Number>& n) -> std::optional<term::Rational> {
    return n ? term::Rational::from_text(n->text) : std::nullopt;
  };
  return {exact(bounds.min), exact(bounds.max), exact(bounds.above), exact(bounds.below)};
}

// Cluster dimensions as the launch or the kernel gives them; what is wrong with them.
std::optional<std::string> set_cluster(exec::Launch& launch, const instance::Launch& from,
                                       const ptx::Function& function) {
  constexpr uint32_t kMostCtas = 16;
  std::array<uint32_t, 3> required{1, 1, 1};
  const std::vector<uint32_t>& given = function.reqnctapercluster;
  for (size_t d = 0; d < given.size() && d < 3; ++d) required[d] = given[d];
  for (size_t d = 0; d < 3; ++d)
    launch.cluster[d] = from.has_cluster ? static_cast<uint32_t>(from.cluster[d]) : required[d];
  launch.explicit_cluster = from.has_cluster || !given.empty();
  if (!given.empty() && launch.cluster != required)
    return fmt::format("kernel '{}' requires clusters of {} by {} by {} blocks", from.kernel,
                       required[0], required[1], required[2]);
  uint32_t blocks = 1;
  for (size_t d = 0; d < 3; ++d) {
    if (launch.cluster[d] == 0 || launch.cluster[d] > kMostCtas ||
        launch.grid[d] % launch.cluster[d] != 0)
      return fmt::format("clusters of {} blocks do not divide the grid's {}", launch.cluster[d],
                         launch.grid[d]);
    blocks *= launch.cluster[d];
  }
  for (const std::string& text : function.performance_directives)
    if (text.starts_with(".blocksareclusters"))
      return fmt::format("'{}' counts its grid in clusters, which is not modelled", from.kernel);
  if (blocks > kMostCtas) return fmt::format("a cluster of {} blocks, at most 16 are", blocks);
  return std::nullopt;
}

}  // namespace

Result<const exec::Kernel*> SharedModule::kernel(const std::string& name) {
  Result<const ptx::Function*> function = module_.find_kernel(name);
  if (!function) return function.error();
  std::lock_guard lock(mutex_);
  auto& slot = kernels_[(*function)->name];
  if (!slot) slot = std::make_unique<exec::Kernel>(module_, **function);
  return slot.get();
}

Result<std::shared_ptr<SharedModule>> ModuleCache::load(const std::string& path,
                                                        std::string_view text) {
  std::string key = path;
  key += '\0';
  key += text;
  {
    std::lock_guard lock(mutex_);
    if (const auto it = entries_.find(key); it != entries_.end()) {
      it->second.used = ++clock_;
      return it->second.module;
    }
  }
  Result<ptx::Module> parsed = ptx::parse(text, path);
  if (!parsed) return parsed.error();
  auto module = std::make_shared<SharedModule>(*std::move(parsed));
  std::lock_guard lock(mutex_);
  if (entries_.size() >= kKept)
    entries_.erase(std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  Entry& entry = entries_.try_emplace(std::move(key), Entry{std::move(module), 0}).first->second;
  entry.used = ++clock_;
  return entry.module;
}

Result<SharedModule*> KernelCache::module(const instance::Instance& instance,
                                          const instance::Launch& launch, const Options& options,
                                          const Budget& budget) {
  std::string key = launch.source;
  for (const std::string& flag : launch.flags) key += '\0' + flag;
  if (const auto it = loaded_.find(key); it != loaded_.end()) return it->second.get();
  const auto text = instance.texts.find(launch.source);
  Result<std::shared_ptr<SharedModule>> loaded = [&]() -> Result<std::shared_ptr<SharedModule>> {
    if (text != instance.texts.end()) return modules_->load(launch.source, *text->second);
    if (launch.source.ends_with(".ptx")) {
      Result<std::string> read = ptx::read_file(launch.source);
      if (!read) return read.error();
      return modules_->load(launch.source, *read);
    }
    Result<std::string> compiler = toolchain::find_compiler(options.nvcc);
    if (!compiler) return compiler.error();
    Result<toolchain::CompiledSource> compiled =
        toolchain::compile_to_ptx({launch.source, launch.flags, options.arch, *compiler},
                                  toolchain::default_cache_dir(), budget);
    if (!compiled) return compiled.error();
    compiler_version_ = compiled->compiler_version;
    idiom::Toolchain used{*compiler, options.arch, idiom::code_flags(launch.flags)};
    if (!idiom::is_shipped(used, compiler_version_)) other_toolchains_.insert(std::move(used));
    compile_seconds_ += compiled->seconds;
    return modules_->load(launch.source + ".ptx", compiled->ptx);
  }();
  if (!loaded) return loaded.error();
  return loaded_.emplace(std::move(key), *std::move(loaded)).first->second.get();
}

SharedInputs lower_inputs(const instance::Instance& instance, term::TermStore& store) {
  SharedInputs shared;
  for (const instance::Tensor& t : instance.tensors) {
    tensor::TensorInfo info;
    info.name = t.name;
    info.dtype = t.dtype;
    info.shape = t.shape;
    info.strides = t.strides;
    info.storage_cells = t.storage_elements();
    info.strided = !t.is_contiguous();
    const auto id = static_cast<tensor::TensorId>(shared.tensors.size());
    term::Group group;
    group.name = t.name;
    group.dtype = t.dtype;
    group.type = tensor::leaf_type(t.dtype);
    group.bounds = lower_bounds(t.bounds);
    if (t.dtype == DType::Bool) {
      group.bounds.min = term::Rational(0);
      group.bounds.max = term::Rational(1);
    }
    group.sorted = t.sorted;
    group.tensor = static_cast<int>(id);
    switch (t.init) {
      case instance::Init::Input:
        info.init = tensor::TensorInfo::Init::Input;
        info.input_group = store.add_group(std::move(group));
        break;
      case instance::Init::Empty:
        info.init = tensor::TensorInfo::Init::Empty;
        break;
      case instance::Init::Zeros:
        info.init = tensor::TensorInfo::Init::Zeros;
        break;
      case instance::Init::Full:
        info.init = tensor::TensorInfo::Init::Full;
        info.full_value = exact_value(t.values.at(0), t.dtype);
        break;
      case instance::Init::Values: {
        info.init = tensor::TensorInfo::Init::Values;
        auto values = std::make_shared<std::vector<term::Rational>>();
        values->reserve(t.values.size());
        for (const instance::Number& n : t.values) values->push_back(exact_value(n, t.dtype));
        info.values = values;
        group.kind = term::Group::Kind::Known;
        group.values = values;
        info.known_group = store.add_group(std::move(group));
        break;
      }
    }
    shared.tensor_ids[t.name] = id;
    shared.tensors.push_back(std::move(info));
  }
  // Two words that start at zero, in which CTAs of a cooperative launch meet.
  const auto cooperates = [](const instance::Program& p) {
    return std::any_of(p.launches.begin(), p.launches.end(),
                       [](const instance::Launch& l) { return l.cooperative; });
  };
  if (cooperates(instance.program_a) || (instance.program_b && cooperates(*instance.program_b))) {
    shared.workspace = static_cast<tensor::TensorId>(shared.tensors.size());
    tensor::TensorInfo info;
    info.name = "grid workspace";
    info.dtype = DType::U32;
    info.shape = {2};
    info.strides = {1};
    info.storage_cells = 2;
    info.init = tensor::TensorInfo::Init::Zeros;
    shared.tensors.push_back(std::move(info));
  }
  for (const instance::Scalar& s : instance.scalars) {
    if (s.value) continue;
    shared.free_scalars[s.name] =
        store.add_scalar({s.name, s.dtype, tensor::leaf_type(s.dtype), lower_bounds(s.bounds)});
  }
  return shared;
}

exec::ProgramState initial_state(char program, const SharedInputs& inputs, exec::Session& session) {
  exec::ProgramState state;
  state.name = program;
  state.tensors = &inputs.tensors;
  for (const tensor::TensorInfo& info : inputs.tensors) {
    term::Group group;
    group.kind = term::Group::Kind::Poison;
    group.name = info.name;
    group.dtype = info.dtype;
    group.type = tensor::leaf_type(info.dtype);
    group.tensor = static_cast<int>(&info - inputs.tensors.data());
    const term::GroupId id = session.store.add_group(std::move(group));
    session.poison[id] = {
        exec::PoisonSource::Kind::Uninitialized, "tensor '" + info.name + "'", {}, {}};
    state.versions.push_back(std::make_shared<tensor::TensorVersion>(info, id));
  }
  return state;
}

namespace {

exec::TensorMap lower_map(const instance::TensorMap& from, const SharedInputs& inputs) {
  exec::TensorMap map;
  map.tensor = inputs.tensor_ids.at(from.tensor);
  const tensor::TensorInfo& info = inputs.tensors[map.tensor];
  const auto reversed = [](const std::vector<int64_t>& list) {
    return std::vector<int64_t>(list.rbegin(), list.rend());
  };
  map.extents = reversed(from.shape.empty() ? info.shape : from.shape);
  map.strides = reversed(from.shape.empty() ? info.strides : from.strides);
  map.offset = from.offset;
  map.box = reversed(from.box);
  map.steps = reversed(from.element_strides);
  map.steps[0] = 1;  // along the innermost dimension it is ignored (cuTensorMapEncodeTiled)
  map.im2col = from.mode == instance::TensorMapMode::Im2col;
  map.lower = reversed(from.lower);
  map.upper = reversed(from.upper);
  map.channels = from.channels;
  map.pixels = from.pixels;
  constexpr int kSwizzle[] = {0, 32, 64, 128};
  map.swizzle = kSwizzle[static_cast<size_t>(from.swizzle)];
  map.fills_nan = from.fill == instance::OutOfBoundsFill::Nan;
  return map;
}

}  // namespace

Result<std::vector<exec::Launch>> lower_program(const instance::Instance& instance,
                                                const instance::Program& program,
                                                SharedInputs& inputs, term::TermStore& store,
                                                KernelCache& kernels, const Options& options,
                                                const Budget& budget) {
  std::vector<exec::Launch> launches;
  for (const instance::Launch& from : program.launches) {
    Result<SharedModule*> module = kernels.module(instance, from, options, budget);
    if (!module) return module.error();
    Result<const exec::Kernel*> kernel = (*module)->kernel(from.kernel);
    if (!kernel) {
      Diagnostic error = kernel.error();
      error.span = instance::span_of(from, "kernel");
      return error;
    }
    const ptx::Function& function = *(*kernel)->function;
    const auto invalid = [&](const SourceSpan& span, std::string message) {
      return make_diagnostic(DiagnosticCode::InstanceInvalid, span, message);
    };
    exec::Launch launch;
    launch.index = static_cast<int>(launches.size());
    launch.kernel = *kernel;
    for (int d = 0; d < 3; ++d) {
      launch.grid[d] = static_cast<uint32_t>(from.grid[d]);
      launch.block[d] = static_cast<uint32_t>(from.block[d]);
    }
    launch.dynamic_shared = static_cast<uint32_t>(from.shared);
    if (const std::optional<std::string> wrong = set_cluster(launch, from, function))
      return invalid(instance::span_of(from, from.has_cluster ? "cluster" : "grid"), *wrong);
    launch.cooperative = from.cooperative;
    if (from.cooperative) launch.workspace = inputs.workspace;
    if (!function.reqntid.empty()) {
      uint64_t required = 1;
      for (const uint32_t n : function.reqntid) required *= n;
      if (required != uint64_t{launch.block[0]} * launch.block[1] * launch.block[2])
        return invalid(
            instance::span_of(from, "block"),
            fmt::format("kernel '{}' requires a block of {} threads", from.kernel, required));
    }
    if (from.args.size() > function.params.size())
      return invalid(instance::span_of(from, "args"),
                     fmt::format("kernel '{}' takes {} arguments, {} are given", from.kernel,
                                 function.params.size(), from.args.size()));
    for (size_t i = 0; i < function.params.size(); ++i) {
      const ptx::Variable& param = function.params[i];
      exec::Argument argument;
      if (i >= from.args.size())
        return invalid(instance::span_of(from, "args"),
                       fmt::format("kernel '{}' takes {} arguments, {} are given", from.kernel,
                                   function.params.size(), from.args.size()));
      const instance::Argument& given = from.args[i];
      uint64_t size = 0;
      switch (given.kind) {
        case instance::Argument::Kind::Tensor:
          argument.kind = exec::Argument::Kind::Tensor;
          argument.tensor = inputs.tensor_ids.at(given.name);
          argument.byte_offset = given.offset * inputs.tensors[argument.tensor].element_size();
          argument.access = static_cast<exec::Access>(given.access);
          size = 8;
          break;
        case instance::Argument::Kind::Scalar: {
          const instance::Scalar& scalar = *instance.find_scalar(given.name);
          size = static_cast<uint64_t>(dtype_size(scalar.dtype));
          if (scalar.value) {
            argument.bytes = bytes_of(bits_of(*scalar.value, scalar.dtype), static_cast<int>(size));
          } else {
            argument.kind = exec::Argument::Kind::Scalar;
            argument.scalar = inputs.free_scalars.at(given.name);
            argument.dtype = scalar.dtype;
          }
          break;
        }
        case instance::Argument::Kind::Literal:
          size = static_cast<uint64_t>(dtype_size(given.dtype));
          argument.bytes = bytes_of(bits_of(given.literal, given.dtype), static_cast<int>(size));
          break;
        case instance::Argument::Kind::Bytes:
          argument.bytes = given.bytes;
          size = given.bytes.size();
          break;
        case instance::Argument::Kind::TensorMap:
          if (given.map.interleave != instance::Interleave::None)
            return make_diagnostic(DiagnosticCode::Refused, given.span,
                                   "interleaved tensor maps are not modelled");
          argument.kind = exec::Argument::Kind::TensorMap;
          argument.map = lower_map(given.map, inputs);
          size = 128;
          break;
      }
      if (size != param.size)
        return invalid(
            given.span,
            fmt::format("argument {} of kernel '{}' has {} bytes, the kernel's parameter has {}",
                        i + 1, from.kernel, size, param.size));
      launch.args.push_back(std::move(argument));
    }
    if (auto wrong = add_module_variables(program, inputs, store, launch)) return *wrong;
    launches.push_back(std::move(launch));
  }
  if (auto wrong = unknown_symbol(program, launches)) return *wrong;
  return launches;
}

}  // namespace coequal::check
