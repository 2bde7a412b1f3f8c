// The `run` subcommand: reads inputs, runs a program and prints or writes its tensors.
#include "cli/run_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/diagnostic.h"
#include "check/concrete.h"
#include "cli/npy.h"
#include "instance/toml.h"

namespace coequal::cli {
namespace {

constexpr int kFault = 1, kBadUsage = 2, kRefused = 4;

Diagnostic bad_usage(const std::string& message) {
  return make_diagnostic(DiagnosticCode::BadUsage, {}, message);
}

int complain(const Diagnostic& diagnostic) {
  if (diagnostic.span.file.empty())
    fmt::print(stderr, "coequal: {}\n", diagnostic.message);
  else
    fmt::print(stderr, "{}", render(diagnostic));
  return diagnostic.severity() == Severity::Refused ? kRefused : kBadUsage;
}

// "NAME=VALUE" in two.
Result<std::pair<std::string, std::string>> assignment(const std::string& flag,
                                                       const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return bad_usage(fmt::format("{}: expected NAME=FILE, found \"{}\"", flag, text));
  return std::pair{text.substr(0, at), text.substr(at + 1)};
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<check::Bytes> tensor_input(const instance::Tensor& tensor, const std::string& value) {
  if (!value.ends_with(".npy")) {
    const auto element = check::element_from_text(value, tensor.dtype);
    if (!element)
      return bad_usage(fmt::format("--input: \"{}\" is neither an .npy file nor a number", value));
    check::Bytes bytes;
    for (int64_t i = 0; i < tensor.numel(); ++i)
      bytes.insert(bytes.end(), element->begin(), element->end());
    return bytes;
  }
  Result<NpyArray> array = read_npy(value);
  if (!array) return array.error();
  if (array->type != npy_type(tensor.dtype))
    return bad_usage(fmt::format("--input: {} holds {}, tensor '{}' of {} needs {}", value,
                                 array->type, tensor.name, dtype_name(tensor.dtype),
                                 npy_type(tensor.dtype)));
  if (array->shape != tensor.shape)
    return bad_usage(fmt::format("--input: {} has the shape {}, tensor '{}' has {}", value,
                                 shape_text(array->shape), tensor.name, shape_text(tensor.shape)));
  const auto size = static_cast<size_t>(tensor.numel() * dtype_size(tensor.dtype));
  if (array->bytes.size() != size)
    return bad_usage(fmt::format("--input: {} holds {} bytes of elements where {} are needed",
                                 value, array->bytes.size(), size));
  return std::move(array->bytes);
}

Result<void> read_inputs(const instance::Instance& instance, const RunRequest& request,
                         check::ConcreteInputs& inputs) {
  for (const std::string& text : request.inputs) {
    const auto pair = assignment("--input", text);
    if (!pair) return pair.error();
    const auto& [name, value] = *pair;
    if (const instance::Tensor* tensor = instance.find_tensor(name)) {
      Result<check::Bytes> bytes = tensor_input(*tensor, value);
      if (!bytes) return bytes.error();
      inputs.tensors[name] = *std::move(bytes);
    } else if (const instance::Scalar* scalar = instance.find_scalar(name);
               scalar && !scalar->value) {
      const auto element = check::element_from_text(value, scalar->dtype);
      if (!element) return bad_usage(fmt::format("--input: \"{}\" is no number", value));
      inputs.scalars[name] = *element;
    } else {
      return bad_usage(
          fmt::format("--input: the instance has no tensor and no free scalar '{}'", name));
    }
  }
  return {};
}

replay::RunOptions run_options(const RunRequest& request) {
  replay::RunOptions run;
  run.seed = request.options.seed;
  run.fill = static_cast<uint8_t>(request.fill);
  run.late_copies = request.late_copies;
  if (request.order == "backward") run.order = replay::Order::Backward;
  if (request.order == "random") run.order = replay::Order::Random;
  if (request.order == "interleaved") run.order = replay::Order::Interleaved;
  run.lanes_apart = request.order.starts_with("lanes");
  if (request.order == "lanes-backward") run.order = replay::Order::Backward;
  if (request.order == "lanes-random") run.order = replay::Order::Random;
  return run;
}

void print_summary(const instance::Tensor& tensor, const check::Bytes& bytes) {
  constexpr int64_t kShown = 6;
  const auto size = static_cast<size_t>(dtype_size(tensor.dtype));
  const int64_t count = tensor.numel();
  fmt::print("{} {} {}", tensor.name, dtype_name(tensor.dtype), shape_text(tensor.shape));
  int64_t nans = 0, least = -1, greatest = -1;
  const auto value = [&](int64_t i) {
    return check::element_value(bytes.data() + static_cast<size_t>(i) * size, tensor.dtype);
  };
  const auto text = [&](int64_t i) {
    return check::element_text(bytes.data() + static_cast<size_t>(i) * size, tensor.dtype);
  };
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(value(i))) {
      ++nans;
      continue;
    }
    if (least < 0 || value(i) < value(least)) least = i;
    if (greatest < 0 || value(i) > value(greatest)) greatest = i;
  }
  if (least >= 0) fmt::print(": least {}, greatest {}", text(least), text(greatest));
  if (nans > 0) fmt::print("{} {} not numbers", least >= 0 ? "," : ":", nans);
  if (count > 0) fmt::print("; ");
  for (int64_t i = 0; i < std::min(count, kShown); ++i) fmt::print("{}{}", i ? " " : "", text(i));
  fmt::print("{}\n", count > kShown ? " ..." : "");
}

void print_all(const instance::Tensor& tensor, const check::Bytes& bytes) {
  const auto size = static_cast<size_t>(dtype_size(tensor.dtype));
  fmt::print("{} =", tensor.name);
  for (size_t at = 0; at < bytes.size(); at += size)
    fmt::print(" {}", check::element_text(bytes.data() + at, tensor.dtype));
  fmt::print("\n");
}

}  // namespace

void declare_run(CLI::App& app, RunRequest& request) {
  app.add_option("path", request.path, "The instance")->required();
  app.add_option("--program", request.program, "Which program to run (default a)")
      ->type_name("a|b")
      ->check(CLI::IsMember({"a", "b"}));
  app.add_option("--input", request.inputs,
                 "A tensor's contents from an .npy file, or one number for all of its cells or for "
                 "a scalar; inputs not given are random (may be repeated)")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_flag("--integers", request.integers, "Random inputs are small integers");
  app.add_option("--output", request.outputs, "Write a tensor to an .npy file (may be repeated)")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_option("--print", request.prints, "Print all of a tensor (may be repeated)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--order", request.order, "Order of the threads (default forward)")
      ->type_name("forward|backward|random|interleaved|lanes|lanes-backward|lanes-random")
      ->check(CLI::IsMember({"forward", "backward", "random", "interleaved", "lanes",
                             "lanes-backward", "lanes-random"}));
  app.add_flag("--late-copies", request.late_copies,
               "Asynchronous copies happen when they are waited for");
  app.add_option("--fill", request.fill, "Byte that uninitialised memory holds (default 255)")
      ->type_name("BYTE")
      ->check(CLI::Range(0, 255));
  app.add_option("--seed", request.options.seed, "Seed of random inputs and orders (default 1)")
      ->type_name("N");
  app.add_option("--budget", request.options.budget_seconds, "Seconds to run for (default 60)")
      ->type_name("S")
      ->check(CLI::PositiveNumber);
  app.add_option("--nvcc", request.options.nvcc, "The CUDA compiler to call")->type_name("PATH");
  app.add_option("--arch", request.options.arch, "Target architecture of CUDA C++ sources")
      ->type_name("ARCH");
}

int run_program(const RunRequest& request) {
  Result<instance::Instance> read = instance::read_toml(request.path);
  if (!read) return complain(read.error());
  const instance::Instance& instance = *read;
  if (request.program == "b" && !instance.program_b)
    return complain(bad_usage("--program: the instance has no program b"));
  const instance::Program& program =
      request.program == "b" ? *instance.program_b : instance.program_a;
  for (const std::string& name : request.prints)
    if (!instance.find_tensor(name))
      return complain(bad_usage(fmt::format("--print: the instance has no tensor '{}'", name)));
  std::vector<std::pair<std::string, std::string>> outputs;
  for (const std::string& text : request.outputs) {
    auto pair = assignment("--output", text);
    if (!pair) return complain(pair.error());
    if (!instance.find_tensor(pair->first))
      return complain(
          bad_usage(fmt::format("--output: the instance has no tensor '{}'", pair->first)));
    outputs.push_back(*std::move(pair));
  }
  check::ConcreteInputs inputs = check::random_inputs(
      instance, request.options.seed,
      request.integers ? check::RandomValues::Integers : check::RandomValues::Reals);
  if (const Result<void> given = read_inputs(instance, request, inputs); !given)
    return complain(given.error());

  check::KernelCache kernels;
  const Options options = instance::options_for(instance, request.options);
  const Result<check::ConcreteRun> run =
      check::run_concrete(instance, program, inputs, kernels, run_options(request), options,
                          Budget(request.options.budget_seconds));
  if (!run) return complain(run.error());
  if (run->fault) {
    const replay::Fault& fault = *run->fault;
    fmt::print(stderr, "{}: {}: {} (launch {}, block {},{},{}, thread {},{},{})\n",
               to_string(fault.span), replay::fault_name(fault.kind), fault.message, run->launch,
               fault.ctaid.x, fault.ctaid.y, fault.ctaid.z, fault.tid.x, fault.tid.y, fault.tid.z);
    return fault.kind == replay::FaultKind::Refused ? kRefused : kFault;
  }
  for (const auto& [name, path] : outputs) {
    const instance::Tensor& tensor = *instance.find_tensor(name);
    const Result<void> written =
        write_npy(path, {npy_type(tensor.dtype), tensor.shape, run->tensors.at(name)});
    if (!written) return complain(written.error());
  }
  for (const std::string& name : request.prints)
    print_all(*instance.find_tensor(name), run->tensors.at(name));
  if (request.prints.empty())
    for (const std::string& output : instance.outputs) {
      const instance::Tensor& tensor = *instance.find_tensor(program.tensor_of(output));
      print_summary(tensor, run->tensors.at(tensor.name));
    }
  return 0;
}

}  // namespace coequal::cli
