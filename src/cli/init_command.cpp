// The `init` subcommand: what PTX, mangled names and the source's text tell of a kernel's
// parameters, as an instance with comments where only the user knows.
#include "cli/init_command.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "base/diagnostic.h"
#include "toolchain/compile.h"
#include "toolchain/files.h"
#include "toolchain/ptx_cache.h"

namespace coequal::cli {
namespace {

namespace fs = std::filesystem;

// Cells of every tensor until the user says otherwise.
constexpr int kCells = 1024;

Diagnostic bad_usage(const std::string& message) {
  return make_diagnostic(DiagnosticCode::BadUsage, {}, message);
}

std::string demangled(const std::string& name) {
  std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr), &std::free);
  return text ? text.get() : name;
}

// What stands between the last parenthesis that closes the text and its partner, at top-level
// commas.
std::vector<std::string> split_parameters(const std::string& text) {
  const size_t close = text.rfind(')');
  if (close == std::string::npos) return {};
  size_t open = close;
  for (int depth = 0; open != std::string::npos; --open) {
    depth += (text[open] == ')') - (text[open] == '(');
    if (depth == 0) break;
    if (open == 0) return {};
  }
  std::vector<std::string> parts(1);
  int depth = 0;
  for (size_t i = open + 1; i < close; ++i) {
    const char c = text[i];
    depth += (c == '(' || c == '<' || c == '[') - (c == ')' || c == '>' || c == ']');
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (parts.size() == 1 && parts[0].find_first_not_of(" \t\n") == std::string::npos) parts.clear();
  return parts;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Where a word stands in a text, from a place on.
size_t find_word(const std::string& text, const std::string& word, size_t from = 0) {
  for (size_t at = text.find(word, from); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || !is_word(text[at - 1])) &&
        (at + word.size() == text.size() || !is_word(text[at + word.size()])))
      return at;
  return std::string::npos;
}

bool has_word(const std::string& text, const std::string& word) {
  return find_word(text, word) != std::string::npos;
}

std::string without_comments(const std::string& source) {
  std::string code;
  for (size_t at = 0; at < source.size();) {
    const bool line = source.compare(at, 2, "//") == 0, block = source.compare(at, 2, "/*") == 0;
    if (line || block) {
      at = source.find(line ? "\n" : "*/", at + 2);
      at = at == std::string::npos ? source.size() : at + (line ? 0 : 2);
    } else {
      code += source[at++];
    }
  }
  return code;
}

// The parameters of a kernel as a source declares them; empty where they are not found.
std::vector<std::string> declared_parameters(const std::string& source, const std::string& name) {
  const std::string code = without_comments(source);
  for (size_t at = find_word(code, "__global__"); at != std::string::npos;
       at = find_word(code, "__global__", at + 1)) {
    const std::string header = code.substr(at, code.find_first_of("{;", at) - at);
    if (has_word(header, name)) return split_parameters(header);
  }
  return {};
}

struct Parameter {
  std::string name;
  std::string dtype;  // of a number, or of what a pointer points to
  bool pointer = false;
  bool is_const = false;  // of a pointer: what it points to
  uint64_t bytes = 0;     // of a struct
};

// The dtype of a C++ type without const and pointers; empty if it is none that an instance knows.
std::string dtype_of_type(const std::string& type) {
  const bool is_unsigned = has_word(type, "unsigned");
  static const std::vector<std::pair<std::string, std::string>> words = {
      {"double", "f64"},          {"float", "f32"},
      {"__half", "f16"},          {"half", "f16"},
      {"__half2", "f16"},         {"half2", "f16"},
      {"__nv_bfloat16", "bf16"},  {"__nv_bfloat162", "bf16"},
      {"float2", "f32"},          {"float4", "f32"},
      {"double2", "f64"},         {"bool", "bool"},
      {"int8_t", "i8"},           {"uint8_t", "u8"},
      {"int16_t", "i16"},         {"uint16_t", "u16"},
      {"int32_t", "i32"},         {"uint32_t", "u32"},
      {"int64_t", "i64"},         {"uint64_t", "u64"},
      {"size_t", "u64"},          {"__nv_fp8_e4m3", "f8e4m3"},
      {"__nv_fp8_e5m2", "f8e5m2"}};
  for (const auto& [word, dtype] : words)
    if (has_word(type, word)) return dtype;
  const std::string sign = is_unsigned ? "u" : "i";
  for (const auto& [word, bits] : {std::pair{"char", "8"}, {"short", "16"}, {"long", "64"}})
    if (has_word(type, word)) return sign + bits;
  return is_unsigned || has_word(type, "int") ? sign + "32" : "";
}

std::string dtype_of_bits(const ptx::Variable& parameter) {
  switch (parameter.type) {
    case ptx::ScalarType::F32:
      return "f32";
    case ptx::ScalarType::F64:
      return "f64";
    default:
      return fmt::format("i{}", ptx::bits_of(parameter.type));
  }
}

// The last word of a declaration ("const float *__restrict__ x"), or what stands for it.
std::string name_of(const std::string& declaration, const std::string& otherwise) {
  const std::string declared = declaration.substr(0, declaration.find_first_of("=["));
  const auto last = std::find_if(declared.rbegin(), declared.rend(), is_word);
  const auto before = std::find_if_not(last, declared.rend(), is_word);
  return last == declared.rend() ? otherwise : std::string(before.base(), last.base());
}

// "scale" of "void n::scale<float>(float*)".
std::string unqualified(const std::string& signature) {
  size_t end = signature.find_first_of("<(");
  if (end == std::string::npos) end = signature.size();
  size_t start = end;
  while (start > 0 && is_word(signature[start - 1])) --start;
  return signature.substr(start, end - start);
}

std::vector<Parameter> parameters_of(const ptx::Function& kernel, const std::string& source) {
  const std::string signature = demangled(kernel.name);
  const bool mangled = signature != kernel.name;
  std::vector<std::string> declared = declared_parameters(source, unqualified(signature));
  std::vector<std::string> types = mangled ? split_parameters(signature) : declared;
  if (declared.size() != kernel.params.size()) declared.clear();
  if (types.size() != kernel.params.size()) types.clear();

  std::vector<Parameter> parameters;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const ptx::Variable& variable = kernel.params[i];
    Parameter p;
    p.name = name_of(declared.empty() ? "" : declared[i], fmt::format("p{}", i));
    if (variable.element_count != 1) {
      p.bytes = variable.size;
    } else if (types.empty()) {
      // PTX alone does not tell an address from a 64-bit number; most are addresses.
      p.pointer = ptx::bits_of(variable.type) == 64 && variable.type != ptx::ScalarType::F64;
      p.dtype = p.pointer ? "f32" : dtype_of_bits(variable);
    } else {
      p.pointer = types[i].find('*') != std::string::npos;
      p.is_const = p.pointer && has_word(types[i].substr(0, types[i].find('*')), "const");
      p.dtype = dtype_of_type(types[i]);
      if (p.dtype.empty()) p.dtype = p.pointer ? "f32" : dtype_of_bits(variable);
    }
    parameters.push_back(std::move(p));
  }
  return parameters;
}

std::string argument_text(const Parameter& p) {
  if (p.pointer) return fmt::format("{{ {} = \"{}\" }}", p.is_const ? "read" : "write", p.name);
  if (p.bytes) return fmt::format("{{ bytes = \"{}\" }}", std::string(2 * p.bytes, '0'));
  if (p.dtype == "bool") return "{ bool = true }";
  const bool is_float = p.dtype[0] == 'f' || p.dtype[0] == 'b';
  return fmt::format("{{ {} = {} }}", p.dtype, is_float ? "1.0" : std::to_string(kCells));
}

std::string program_text(const std::string& title, const ptx::Function& kernel,
                         const std::string& source, const std::vector<Parameter>& parameters,
                         bool dynamic_shared) {
  std::vector<uint32_t> block = kernel.reqntid;
  if (block.empty()) block = {kernel.maxntid.empty() ? 256 : std::min(kernel.maxntid[0], 256u)};
  uint64_t threads = 1;
  for (const uint32_t n : block) threads *= n;
  std::string text = fmt::format(
      "[{0}]\nsource = \"{1}\"\n[[{0}.launch]]\nkernel = \"{2}\"{3}\n"
      "grid = [{4}]  # blocks: x, y, z\nblock = [{5}]  # threads: x, y, z\n",
      title, source, kernel.name,
      demangled(kernel.name) == kernel.name ? "" : "  # " + demangled(kernel.name),
      (kCells + threads - 1) / threads, fmt::join(block, ", "));
  if (dynamic_shared) text += "shared = 0  # bytes of dynamic shared memory\n";
  text += "args = [\n";
  for (const Parameter& p : parameters)
    text += fmt::format("  {},{}\n", argument_text(p), p.pointer ? "" : "  # " + p.name);
  return text + "]\n";
}

// Two kernels can stand against each other when they take the same.
bool same_parameters(const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.dtype == y.dtype && x.pointer == y.pointer && x.is_const == y.is_const;
  });
}

}  // namespace

Result<std::string> first_instance(const ptx::Module& module, const std::string& source,
                                   const std::string& text,
                                   const std::vector<std::string>& kernels) {
  std::vector<const ptx::Function*> chosen;
  for (const std::string& name : kernels) {
    const Result<const ptx::Function*> kernel = module.find_kernel(name);
    if (!kernel) return kernel.error();
    chosen.push_back(*kernel);
  }
  std::vector<const ptx::Function*> all;
  for (const ptx::Function& function : module.functions)
    if (function.is_entry && !function.is_declaration) all.push_back(&function);
  if (all.empty()) return bad_usage(fmt::format("{} has no kernel", source));
  if (chosen.empty()) chosen.push_back(all[0]);
  const std::vector<Parameter> first = parameters_of(*chosen[0], text);
  // The second program: the next kernel that takes the same.
  for (const ptx::Function* kernel : all)
    if (kernels.size() < 2 && chosen.size() < 2 && kernel != chosen[0] &&
        same_parameters(first, parameters_of(*kernel, text)))
      chosen.push_back(kernel);
  const std::vector<Parameter> second =
      chosen.size() > 1 ? parameters_of(*chosen[1], text) : std::vector<Parameter>();

  std::map<std::string, Parameter> tensors;
  std::vector<std::string> order;
  for (const std::vector<Parameter>* parameters : {&first, &second})
    for (const Parameter& p : *parameters)
      if (p.pointer && tensors.emplace(p.name, p).second) order.push_back(p.name);

  const bool dynamic_shared = std::any_of(
      module.variables.begin(), module.variables.end(),
      [](const ptx::Variable& v) { return v.space == ptx::StateSpace::Shared && v.size == 0; });
  std::string out =
      "# Every number here is a guess: put in the shapes and the launches of your program.\n"
      "title = \"\"\n\n# \"input\" (any values, the default), \"empty\", \"zeros\", or known "
      "values: "
      "values = [...]\n[tensors]\n";
  for (const std::string& name : order)
    out += fmt::format("{} = {{ dtype = \"{}\", shape = [{}]{} }}\n", name, tensors[name].dtype,
                       kCells, tensors[name].is_const ? "" : ", init = \"empty\"");
  out += "\n# A tensor that a kernel reads and writes is an argument { readwrite = \"...\" }.\n";
  out += program_text("program_a", *chosen[0], source, first, dynamic_shared);
  if (chosen.size() > 1) {
    out += "\n" + program_text("program_b", *chosen[1], source, second, dynamic_shared);
    out += "\n[expect]\nverdict = \"equivalent\"\n";
  } else {
    out += "\n# Without [program_b] a program is checked for defects alone.\n";
  }
  std::vector<std::string> others;
  for (const ptx::Function* kernel : all)
    if (std::find(chosen.begin(), chosen.end(), kernel) == chosen.end())
      others.push_back(demangled(kernel->name));
  if (!others.empty()) out += fmt::format("\n# Other kernels: {}\n", fmt::join(others, "; "));
  return out;
}

void declare_init(CLI::App& app, InitRequest& request) {
  app.add_option("source", request.source, "A CUDA C++ (.cu) or PTX (.ptx) file")->required();
  app.add_option("kernel", request.kernels,
                 "The kernel of program A and that of program B; without them the first of the "
                 "source, and the next that takes the same arguments")
      ->expected(0, 2);
  app.add_option("-o,--output", request.output, "The file to write (default: SOURCE as .toml)")
      ->type_name("FILE");
  app.add_option("--nvcc", request.options.nvcc, "The CUDA compiler to call")->type_name("PATH");
  app.add_option("--arch", request.options.arch, "Target architecture")->type_name("ARCH");
}

int write_first_instance(const InitRequest& request) {
  const auto complain = [](const Diagnostic& diagnostic) {
    if (diagnostic.span.file.empty())
      fmt::print(stderr, "coequal: {}\n", diagnostic.message);
    else
      fmt::print(stderr, "{}", render(diagnostic));
    return 2;
  };
  const fs::path path(request.source);
  const std::optional<std::string> text = toolchain::read_file(request.source);
  if (!text)
    return complain(make_diagnostic(DiagnosticCode::FileNotFound, {}, request.source,
                                    "no such file or folder"));
  fs::path output = request.output;
  if (output.empty()) output = fs::path(path).replace_extension(".toml");
  std::error_code error;
  if (fs::exists(output, error))
    return complain(make_diagnostic(DiagnosticCode::FileNotWritten, {}, output.string(),
                                    "it exists already; choose another with --output"));
  std::string ptx = *text;
  const bool is_cpp = path.extension() != ".ptx";
  if (is_cpp) {
    const Result<std::string> compiler = toolchain::find_compiler(request.options.nvcc);
    if (!compiler) return complain(compiler.error());
    Result<toolchain::CompiledSource> compiled =
        toolchain::compile_to_ptx({request.source, {}, request.options.arch, *compiler},
                                  toolchain::default_cache_dir(), Budget());
    if (!compiled) return complain(compiled.error());
    ptx = std::move(compiled->ptx);
  }
  const Result<ptx::Module> module = ptx::parse(ptx, request.source);
  if (!module) return complain(module.error());
  const std::string source =
      fs::absolute(path).lexically_relative(fs::absolute(output).parent_path()).string();
  const Result<std::string> instance =
      first_instance(*module, source, is_cpp ? *text : "", request.kernels);
  if (!instance) return complain(instance.error());
  if (!toolchain::write_file_atomically(output.string(), *instance))
    return complain(make_diagnostic(DiagnosticCode::FileNotWritten, {}, output.string(),
                                    "it cannot be opened"));
  fmt::print("wrote {0}; fill it in, then run: coequal check {0}\n", output.string());
  return 0;
}

}  // namespace coequal::cli
