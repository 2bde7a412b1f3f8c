#include "instance/toml.h"

#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "instance/validate.h"

namespace coequal::instance {
namespace {

namespace fs = std::filesystem;

Result<std::string> read_file(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return make_diagnostic(DiagnosticCode::FileNotFound, {}, path, "it is a folder");
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return make_diagnostic(DiagnosticCode::FileNotFound, {}, path,
                           fs::exists(path, error) ? "permission denied" : "no such file");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// "a string", "an integer": what a message calls a value.
std::string_view describe(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::none:
      return "nothing";
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a floating-point number";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::date:
      return "a date";
    case toml::node_type::time:
      return "a time";
    case toml::node_type::date_time:
      return "a date and time";
  }
  return "nothing";
}

// The text of a file by position. TOML positions count code points, so a line is walked from its
// start; asking for rising columns of one line continues where the last question ended.
class SourceText {
 public:
  explicit SourceText(std::string_view text) : text_(text) {
    starts_.push_back(0);
    for (size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') starts_.push_back(i + 1);
  }

  // From a position to the next character that cannot belong to a number.
  std::string_view word_at(const toml::source_position& position) {
    if (position.line == 0 || position.line > starts_.size()) return {};
    if (position.line != line_ || position.column < column_) {
      line_ = position.line;
      column_ = 1;
      at_ = starts_[line_ - 1];
    }
    for (; column_ < position.column && at_ < text_.size(); ++column_) {
      ++at_;
      while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80) ++at_;
    }
    size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '+' ||
            text_[end] == '-' || text_[end] == '.' || text_[end] == '_'))
      ++end;
    return text_.substr(at_, end - at_);
  }

 private:
  std::string_view text_;
  std::vector<size_t> starts_;
  toml::source_index line_ = 0, column_ = 1;
  size_t at_ = 0;
};

struct Entry {
  std::string key;
  SourceSpan span;  // of the key
  const toml::node* node;
};

// Turns the tree of one file into an Instance. Every complaint is collected; a value with a
// complaint stays at its default, and no Instance is returned.
class Reader {
 public:
  Reader(std::string_view text, std::string path, const SourceTexts& texts)
      : source_(text), path_(std::move(path)), texts_(texts) {}

  Instance read(const toml::table& root) {
    Instance instance;
    instance.file = path_;
    instance.texts = texts_;
    instance.name = fs::path(path_).stem().string();
    known_keys(root, "the file",
               {"title", "outputs", "unwritten", "tensors", "scalars", "program_a", "program_b",
                "assume", "expect", "budget"});
    bool outputs_given = false;
    bool program_a_given = false;
    for (const Entry& entry : entries(root)) {
      instance.key_spans[entry.key] = entry.span;
      if (entry.key == "title") {
        instance.title = string_of(entry);
      } else if (entry.key == "outputs") {
        outputs_given = true;
        instance.outputs = strings_of(entry);
        if (instance.outputs.empty()) fail(entry.span, "outputs: expected at least one name");
      } else if (entry.key == "unwritten") {
        instance.unwritten = strings_of(entry);
      } else if (entry.key == "tensors") {
        if (const toml::table* table = table_of(entry))
          for (const Entry& tensor : entries(*table))
            instance.tensors.push_back(read_tensor(tensor));
      } else if (entry.key == "scalars") {
        if (const toml::table* table = table_of(entry))
          for (const Entry& scalar : entries(*table))
            instance.scalars.push_back(read_scalar(scalar));
      } else if (entry.key == "program_a") {
        program_a_given = true;
        instance.program_a = read_program(entry);
      } else if (entry.key == "program_b") {
        instance.program_b = read_program(entry);
      } else if (entry.key == "assume") {
        read_assume(entry, instance);
      } else if (entry.key == "expect") {
        read_expect(entry, instance);
      } else if (entry.key == "budget") {
        read_budget(entry, instance);
      }
    }
    if (!program_a_given) fail({path_, 0, 0}, "expected a table [program_a]");
    if (!outputs_given) instance.outputs = default_outputs(instance);
    return instance;
  }

  std::vector<Diagnostic> take_problems() { return std::move(problems_); }

 private:
  SourceSpan span(const toml::source_region& region) const {
    return {path_, region.begin.line, region.begin.column};
  }
  SourceSpan span(const toml::node& node) const { return span(node.source()); }

  template <class... Args>
  void fail(SourceSpan where, fmt::format_string<Args...> text, Args&&... args) {
    problems_.push_back(make_diagnostic(DiagnosticCode::InstanceInvalid, std::move(where),
                                        fmt::format(text, std::forward<Args>(args)...)));
  }

  // toml++ orders keys by name; declarations are wanted in the order of the file.
  std::vector<Entry> entries(const toml::table& table) const {
    std::vector<Entry> list;
    for (const auto& [key, node] : table)
      list.push_back({std::string(key.str()), span(key.source()), &node});
    std::stable_sort(list.begin(), list.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.span.line, a.span.column) < std::pair(b.span.line, b.span.column);
    });
    return list;
  }

  void known_keys(const toml::table& table, std::string_view where,
                  const std::vector<std::string_view>& known) {
    for (const Entry& entry : entries(table))
      if (std::find(known.begin(), known.end(), entry.key) == known.end())
        fail(entry.span, "unknown key '{}' in {}{}; known are {}", entry.key, where,
             nearest_hint(entry.key, known), fmt::join(known, ", "));
  }

  void wrong_type(const Entry& entry, std::string_view wanted) {
    fail(span(*entry.node), "{}: expected {}, found {}", entry.key, wanted, describe(*entry.node));
  }

  const toml::table* table_of(const Entry& entry) {
    if (const toml::table* table = entry.node->as_table()) return table;
    wrong_type(entry, "a table");
    return nullptr;
  }

  std::string string_of(const Entry& entry) {
    if (const auto* value = entry.node->as_string()) return value->get();
    wrong_type(entry, "a string");
    return {};
  }

  bool bool_of(const Entry& entry) {
    if (const auto* value = entry.node->as_boolean()) return value->get();
    wrong_type(entry, "true or false");
    return false;
  }

  int64_t integer_of(const Entry& entry) {
    if (const auto* value = entry.node->as_integer()) return value->get();
    wrong_type(entry, "an integer");
    return 0;
  }

  template <class T, class Read>
  std::vector<T> list_of(const Entry& entry, std::string_view wanted, Read read) {
    std::vector<T> list;
    const toml::array* array = entry.node->as_array();
    if (!array) {
      wrong_type(entry, fmt::format("an array of {}", wanted));
      return list;
    }
    for (const toml::node& node : *array) {
      std::optional<T> value = read(node);
      if (!value) {
        fail(span(node), "{}: expected an array of {}, found {} in it", entry.key, wanted,
             describe(node));
        break;
      }
      list.push_back(std::move(*value));
    }
    return list;
  }

  std::vector<std::string> strings_of(const Entry& entry) {
    return list_of<std::string>(
        entry, "strings", [](const toml::node& node) { return node.value_exact<std::string>(); });
  }

  std::vector<int64_t> integers_of(const Entry& entry) {
    return list_of<int64_t>(entry, "integers",
                            [](const toml::node& node) { return node.value_exact<int64_t>(); });
  }

  // Numbers keep their decimal text, because a double does not hold 0.1.
  std::optional<Number> try_number(const toml::node& node, bool allow_bool) {
    if (const auto* value = node.as_integer()) return Number::of(value->get());
    if (allow_bool)
      if (const auto* value = node.as_boolean()) return Number::of(value->get());
    const auto* value = node.as_floating_point();
    if (!value) return std::nullopt;
    Number number;
    number.real = value->get();
    for (char c : source_.word_at(node.source().begin))
      if (c != '_') number.text += c;
    if (number.text.starts_with('+')) number.text.erase(0, 1);
    // The parser and the text must agree; otherwise the shortest text of the double stands for it.
    char* end = nullptr;
    double parsed = std::strtod(number.text.c_str(), &end);
    bool same = end && *end == 0 && !number.text.empty() &&
                (parsed == number.real || (std::isnan(parsed) && std::isnan(number.real)));
    if (!same) number.text = fmt::format("{}", number.real);
    return number;
  }

  std::optional<Number> number_of(const Entry& entry, DType dtype) {
    std::optional<Number> number = try_number(*entry.node, dtype == DType::Bool);
    if (!number) wrong_type(entry, wanted_value(dtype));
    if (number && !is_float(dtype) && !number->is_integer) {
      wrong_type(entry, wanted_value(dtype));
      return std::nullopt;
    }
    return number;
  }

  static std::string_view wanted_value(DType dtype) {
    return is_float(dtype) ? "a number" : dtype == DType::Bool ? "true or false" : "an integer";
  }

  DType dtype_of(const Entry& entry) {
    std::string name = string_of(entry);
    if (name.empty()) return DType::F32;
    if (std::optional<DType> dtype = dtype_from_name(name)) return *dtype;
    const std::vector<std::string_view> names = dtype_names();
    fail(span(*entry.node), "no dtype '{}'{}; known are {}", name, nearest_hint(name, names),
         fmt::join(names, ", "));
    return DType::F32;
  }

  static std::vector<std::string_view> dtype_names() {
    std::vector<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(DType::Bool); ++i)
      names.push_back(dtype_name(static_cast<DType>(i)));
    return names;
  }

  // The entry of a key, so that others can be read in the light of it.
  static const Entry* find(const std::vector<Entry>& list, std::string_view key) {
    for (const Entry& entry : list)
      if (entry.key == key) return &entry;
    return nullptr;
  }

  // "expected one of ..." for a string that names a choice; nullopt after a complaint.
  template <class T>
  std::optional<T> choice_of(const Entry& entry,
                             const std::vector<std::pair<std::string_view, T>>& choices) {
    const auto* text = entry.node->as_string();
    std::vector<std::string_view> names;
    for (const auto& [name, value] : choices) {
      if (text && text->get() == name) return value;
      names.push_back(name);
    }
    std::string found = text
                            ? fmt::format("\"{}\"{}", text->get(), nearest_hint(text->get(), names))
                            : std::string(describe(*entry.node));
    fail(span(*entry.node), "{}: expected \"{}\", found {}", entry.key, fmt::join(names, "\", \""),
         found);
    return std::nullopt;
  }

  bool read_bound(const Entry& entry, DType dtype, Bounds& bounds) {
    std::optional<Number>* bound = entry.key == "min"     ? &bounds.min
                                   : entry.key == "max"   ? &bounds.max
                                   : entry.key == "above" ? &bounds.above
                                   : entry.key == "below" ? &bounds.below
                                                          : nullptr;
    if (!bound) return false;
    *bound = number_of(entry, dtype);
    return true;
  }

  Tensor read_tensor(const Entry& declaration) {
    Tensor tensor;
    tensor.name = declaration.key;
    tensor.span = declaration.span;
    const toml::table* table = table_of(declaration);
    if (!table) return tensor;
    std::string where = fmt::format("tensor '{}'", tensor.name);
    known_keys(*table, where,
               {"dtype", "shape", "strides", "init", "value", "values", "min", "max", "above",
                "below", "sorted"});
    std::vector<Entry> list = entries(*table);
    require(list, declaration, where, {"dtype", "shape"});
    if (const Entry* entry = find(list, "dtype")) tensor.dtype = dtype_of(*entry);
    const Entry* strides = nullptr;
    const Entry* init = nullptr;
    const Entry* value = nullptr;
    const Entry* values = nullptr;
    for (const Entry& entry : list) {
      tensor.key_spans[entry.key] = entry.span;
      if (entry.key == "shape") tensor.shape = integers_of(entry);
      if (entry.key == "strides") strides = &entry;
      if (entry.key == "init") init = &entry;
      if (entry.key == "value") value = &entry;
      if (entry.key == "values") values = &entry;
      if (entry.key == "sorted") tensor.sorted = bool_of(entry);
      read_bound(entry, tensor.dtype, tensor.bounds);
    }
    tensor.strides = strides ? integers_of(*strides) : contiguous_strides(tensor.shape);
    if (init) {
      std::optional<Init> choice = choice_of<Init>(*init, {{"input", Init::Input},
                                                           {"empty", Init::Empty},
                                                           {"zeros", Init::Zeros},
                                                           {"full", Init::Full}});
      if (choice) tensor.init = *choice;
      if (values) fail(values->span, "{}: expected either init or values, found both", where);
    }
    if (values && !init) {
      tensor.init = Init::Values;
      tensor.values = list_of<Number>(
          *values,
          is_float(tensor.dtype) ? "numbers, flat and row-major" : "integers, flat and row-major",
          [&](const toml::node& node) -> std::optional<Number> {
            std::optional<Number> number = try_number(node, tensor.dtype == DType::Bool);
            if (number && !is_float(tensor.dtype) && !number->is_integer) return std::nullopt;
            return number;
          });
    }
    if (value && tensor.init != Init::Full)
      fail(value->span, "{}: value needs init = \"full\"", where);
    if (!value && tensor.init == Init::Full)
      fail(init->span, "{}: init = \"full\" needs a value", where);
    if (value && tensor.init == Init::Full)
      if (std::optional<Number> number = number_of(*value, tensor.dtype)) tensor.values = {*number};
    return tensor;
  }

  void require(const std::vector<Entry>& list, const Entry& owner, std::string_view where,
               std::initializer_list<std::string_view> keys) {
    for (std::string_view key : keys)
      if (!find(list, key)) fail(owner.span, "{}: expected a key '{}'", where, key);
  }

  Scalar read_scalar(const Entry& declaration) {
    Scalar scalar;
    scalar.name = declaration.key;
    scalar.span = declaration.span;
    const toml::table* table = table_of(declaration);
    if (!table) return scalar;
    std::string where = fmt::format("scalar '{}'", scalar.name);
    known_keys(*table, where, {"dtype", "value", "min", "max", "above", "below"});
    std::vector<Entry> list = entries(*table);
    require(list, declaration, where, {"dtype"});
    if (const Entry* entry = find(list, "dtype")) scalar.dtype = dtype_of(*entry);
    for (const Entry& entry : list) {
      scalar.key_spans[entry.key] = entry.span;
      if (entry.key == "value") scalar.value = number_of(entry, scalar.dtype);
      read_bound(entry, scalar.dtype, scalar.bounds);
    }
    return scalar;
  }

  Program read_program(const Entry& declaration) {
    Program program;
    program.span = declaration.span;
    const toml::table* table = table_of(declaration);
    if (!table) return program;
    std::string where = fmt::format("[{}]", declaration.key);
    known_keys(*table, where, {"source", "flags", "launch", "outputs", "symbols"});
    std::vector<Entry> list = entries(*table);
    // What the launches use that name no source of their own.
    std::string source;
    std::vector<std::string> flags;
    for (const Entry& entry : list) {
      program.key_spans[entry.key] = entry.span;
      if (entry.key == "source") source = read_source(entry);
      if (entry.key == "flags") flags = strings_of(entry);
      if (entry.key == "outputs" || entry.key == "symbols") {
        auto& names = entry.key == "outputs" ? program.outputs : program.symbols;
        if (const toml::table* map = table_of(entry))
          for (const Entry& name : entries(*map)) names[name.key] = string_of(name);
      }
      if (entry.key == "launch") {
        const toml::array* array = entry.node->as_array();
        bool tables = array && std::all_of(array->begin(), array->end(),
                                           [](const toml::node& node) { return node.is_table(); });
        if (!tables) {
          wrong_type(entry, fmt::format("launches as [[{}.launch]]", declaration.key));
          continue;
        }
        for (const toml::node& node : *array)
          program.launches.push_back(read_launch(*node.as_table(), declaration.key));
      }
    }
    bool missing = program.launches.empty();
    for (Launch& launch : program.launches) {
      if (!launch.source.empty() || launch.key_spans.count("source")) continue;
      missing = true;
      launch.source = source;
      launch.flags = flags;
    }
    if (missing) require(list, declaration, where, {"source"});
    return program;
  }

  std::string read_source(const Entry& entry) {
    std::string name = string_of(entry);
    if (name.empty() || texts_.count(name)) return name;
    fs::path resolved = (fs::path(path_).parent_path() / name).lexically_normal();
    std::string extension = resolved.extension().string();
    std::error_code error;
    if (extension != ".cu" && extension != ".ptx")
      fail(span(*entry.node), "source: expected a .cu or .ptx file, found '{}'", name);
    else if (!fs::is_regular_file(resolved, error))
      fail(span(*entry.node), "source: there is no file '{}'", resolved.string());
    return resolved.string();
  }

  Dim3 dims_of(const Entry& entry) {
    std::vector<int64_t> list = integers_of(entry);
    if (entry.node->is_array() && (entry.node->as_array()->empty() || list.size() > 3))
      fail(span(*entry.node), "{}: expected 1 to 3 integers, found {}", entry.key, list.size());
    Dim3 dims = {1, 1, 1};
    for (size_t axis = 0; axis < std::min<size_t>(list.size(), 3); ++axis) dims[axis] = list[axis];
    return dims;
  }

  Launch read_launch(const toml::table& table, const std::string& program) {
    Launch launch;
    launch.span = span(table);
    std::string where = fmt::format("[[{}.launch]]", program);
    known_keys(
        table, where,
        {"source", "flags", "kernel", "grid", "block", "cluster", "cooperative", "shared", "args"});
    std::vector<Entry> list = entries(table);
    require(list, {program, launch.span, &table}, where, {"kernel", "grid", "block"});
    const Entry* source = find(list, "source");
    for (const Entry& entry : list) {
      launch.key_spans[entry.key] = entry.span;
      if (entry.key == "source") launch.source = read_source(entry);
      if (entry.key == "flags") {
        launch.flags = strings_of(entry);
        if (!source) fail(entry.span, "{}: flags need a source beside them", where);
      }
      if (entry.key == "kernel") launch.kernel = string_of(entry);
      if (entry.key == "grid") launch.grid = dims_of(entry);
      if (entry.key == "block") launch.block = dims_of(entry);
      if (entry.key == "cluster") {
        launch.cluster = dims_of(entry);
        launch.has_cluster = true;
      }
      if (entry.key == "cooperative") launch.cooperative = bool_of(entry);
      if (entry.key == "shared") launch.shared = integer_of(entry);
      if (entry.key == "args") {
        const toml::array* array = entry.node->as_array();
        if (!array) {
          wrong_type(entry, "an array of arguments");
          continue;
        }
        for (const toml::node& node : *array)
          if (std::optional<Argument> argument = read_argument(node))
            launch.args.push_back(std::move(*argument));
      }
    }
    return launch;
  }

  std::optional<Argument> read_argument(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (!table) {
      fail(span(node), "expected an argument such as {{ read = \"x\" }} or {{ i32 = 4 }}, found {}",
           describe(node));
      return std::nullopt;
    }
    Argument argument;
    argument.span = span(node);
    std::vector<Entry> list = entries(*table);
    std::vector<std::string_view> known = {"read",   "write", "readwrite",
                                           "scalar", "bytes", "tensor_map"};
    std::vector<std::string_view> dtypes = dtype_names();
    known.insert(known.end(), dtypes.begin(), dtypes.end());
    const Entry* main = nullptr;
    const Entry* offset = find(list, "offset");
    for (const Entry& entry : list) {
      if (&entry == offset) continue;
      if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
        fail(entry.span, "unknown key '{}' in an argument{}; known are {} and offset", entry.key,
             nearest_hint(entry.key, known), fmt::join(known, ", "));
        return std::nullopt;
      }
      if (main) {
        fail(argument.span, "expected one value an argument, found '{}' and '{}'", main->key,
             entry.key);
        return std::nullopt;
      }
      main = &entry;
    }
    if (!main) {
      fail(argument.span, "expected an argument such as {{ read = \"x\" }} or {{ i32 = 4 }}");
      return std::nullopt;
    }
    if (main->key == "read" || main->key == "write" || main->key == "readwrite") {
      argument.kind = Argument::Kind::Tensor;
      argument.access = main->key == "read"    ? Access::Read
                        : main->key == "write" ? Access::Write
                                               : Access::ReadWrite;
      argument.name = string_of(*main);
      if (offset) argument.offset = integer_of(*offset);
      if (argument.name.empty()) return std::nullopt;
      return argument;
    }
    if (offset) fail(offset->span, "offset: only a tensor argument has one");
    if (main->key == "scalar") {
      argument.kind = Argument::Kind::Scalar;
      argument.name = string_of(*main);
    } else if (main->key == "bytes") {
      argument.kind = Argument::Kind::Bytes;
      argument.bytes = bytes_of(*main);
    } else if (main->key == "tensor_map") {
      argument.kind = Argument::Kind::TensorMap;
      argument.map = read_tensor_map(*main);
    } else {
      argument.kind = Argument::Kind::Literal;
      argument.dtype = *dtype_from_name(main->key);
      std::optional<Number> number = number_of(*main, argument.dtype);
      if (number) argument.literal = *number;
    }
    return argument;
  }

  std::vector<uint8_t> bytes_of(const Entry& entry) {
    std::string digits;
    std::vector<uint8_t> bytes;
    std::string text = string_of(entry);
    bool hexadecimal = true;
    for (char c : text) {
      if (c == ' ' || c == '_') continue;
      hexadecimal = hexadecimal && std::isxdigit(static_cast<unsigned char>(c));
      digits += c;
    }
    constexpr size_t kMaxParameterBytes = 32764;
    if (!hexadecimal || digits.empty() || digits.size() % 2 != 0 ||
        digits.size() / 2 > kMaxParameterBytes) {
      if (entry.node->is_string())
        fail(span(*entry.node),
             "bytes: expected two hexadecimal digits a byte, 1 to {} bytes, found \"{}\"",
             kMaxParameterBytes, text.substr(0, 40));
      return bytes;
    }
    for (size_t i = 0; i < digits.size(); i += 2)
      bytes.push_back(static_cast<uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    return bytes;
  }

  TensorMap read_tensor_map(const Entry& declaration) {
    TensorMap map;
    const toml::table* table = table_of(declaration);
    if (!table) return map;
    known_keys(*table, "tensor_map",
               {"tensor", "shape", "strides", "offset", "mode", "box", "element_strides", "swizzle",
                "interleave", "fill", "lower", "upper", "channels", "pixels"});
    std::vector<Entry> list = entries(*table);
    require(list, declaration, "tensor_map", {"tensor"});
    if (const Entry* mode = find(list, "mode"))
      map.mode = choice_of<TensorMapMode>(
                     *mode, {{"tiled", TensorMapMode::Tiled}, {"im2col", TensorMapMode::Im2col}})
                     .value_or(map.mode);
    bool im2col = map.mode == TensorMapMode::Im2col;
    if (im2col)
      require(list, declaration, "tensor_map", {"lower", "upper", "channels", "pixels"});
    else
      require(list, declaration, "tensor_map", {"box"});
    for (const Entry& entry : list) {
      bool of_im2col = entry.key == "lower" || entry.key == "upper" || entry.key == "channels" ||
                       entry.key == "pixels";
      if (of_im2col && !im2col) fail(entry.span, "{} needs mode = \"im2col\"", entry.key);
      if (entry.key == "box" && im2col) fail(entry.span, "box needs mode = \"tiled\"");
      if (entry.key == "tensor") map.tensor = string_of(entry);
      if (entry.key == "shape") map.shape = integers_of(entry);
      if (entry.key == "strides") map.strides = integers_of(entry);
      if (entry.key == "offset") map.offset = integer_of(entry);
      if (entry.key == "box") map.box = integers_of(entry);
      if (entry.key == "element_strides") map.element_strides = integers_of(entry);
      if (entry.key == "lower") map.lower = integers_of(entry);
      if (entry.key == "upper") map.upper = integers_of(entry);
      if (entry.key == "channels") map.channels = integer_of(entry);
      if (entry.key == "pixels") map.pixels = integer_of(entry);
      if (entry.key == "swizzle")
        map.swizzle = choice_of<Swizzle>(entry, {{"none", Swizzle::None},
                                                 {"32B", Swizzle::B32},
                                                 {"64B", Swizzle::B64},
                                                 {"128B", Swizzle::B128}})
                          .value_or(map.swizzle);
      if (entry.key == "interleave")
        map.interleave = choice_of<Interleave>(entry, {{"none", Interleave::None},
                                                       {"16B", Interleave::B16},
                                                       {"32B", Interleave::B32}})
                             .value_or(map.interleave);
      if (entry.key == "fill")
        map.fill = choice_of<OutOfBoundsFill>(
                       entry, {{"zeros", OutOfBoundsFill::Zeros}, {"nan", OutOfBoundsFill::Nan}})
                       .value_or(map.fill);
    }
    // One a dimension; the rank of a tiled map is that of its box, of an im2col map two more than
    // its corners.
    if (!find(list, "element_strides"))
      map.element_strides.assign(im2col ? map.lower.size() + 2 : map.box.size(), 1);
    return map;
  }

  void read_assume(const Entry& declaration, Instance& instance) {
    const toml::table* table = table_of(declaration);
    if (!table) return;
    known_keys(*table, "[assume]", {"on", "off", "equations"});
    for (const Entry& entry : entries(*table)) {
      instance.key_spans["assume." + entry.key] = entry.span;
      std::vector<std::string> names = strings_of(entry);
      if (entry.key == "on") instance.assume_on = {names.begin(), names.end()};
      if (entry.key == "off") instance.assume_off = {names.begin(), names.end()};
      if (entry.key == "equations" && entry.node->is_array())
        for (size_t i = 0; i < names.size(); ++i)
          instance.equations.push_back({names[i], span(*entry.node->as_array()->get(i))});
    }
  }

  void read_expect(const Entry& declaration, Instance& instance) {
    const toml::table* table = table_of(declaration);
    if (!table) return;
    known_keys(*table, "[expect]", {"verdict", "defect", "program"});
    std::vector<Entry> list = entries(*table);
    require(list, declaration, "[expect]", {"verdict"});
    Expectation expect;
    for (const Entry& entry : list) {
      instance.key_spans["expect." + entry.key] = span(*entry.node);
      if (entry.key == "verdict") {
        std::vector<std::pair<std::string_view, ExpectedVerdict>> choices;
        for (int i = 0; i <= static_cast<int>(ExpectedVerdict::Refused); ++i) {
          auto verdict = static_cast<ExpectedVerdict>(i);
          choices.emplace_back(expected_verdict_name(verdict), verdict);
        }
        expect.verdict = choice_of(entry, choices).value_or(expect.verdict);
      }
      if (entry.key == "defect") {
        std::vector<std::pair<std::string_view, coequal::DefectKind>> choices;
        for (const coequal::DefectKindRow& row : coequal::kDefectKinds)
          choices.emplace_back(row.name, row.kind);
        expect.defect = choice_of(entry, choices);
      }
      if (entry.key == "program")
        expect.program = choice_of<char>(entry, {{"a", 'a'}, {"b", 'b'}}).value_or(0);
    }
    instance.expect = expect;
  }

  void read_budget(const Entry& declaration, Instance& instance) {
    const toml::table* table = table_of(declaration);
    if (!table) return;
    known_keys(*table, "[budget]", {"seconds", "cells", "proof"});
    for (const Entry& entry : entries(*table)) {
      instance.key_spans["budget." + entry.key] = entry.span;
      if (entry.key == "seconds") {
        if (std::optional<Number> number = number_of(entry, DType::F64))
          instance.budget.seconds = number->real;
      }
      if (entry.key == "cells") {
        if (const auto* count = entry.node->as_integer(); count && count->get() > 0)
          instance.budget.cells = count->get();
        else if (const auto* all = entry.node->as_string(); all && all->get() == "all")
          instance.budget.cells = -1;
        else if (count)
          fail(span(*entry.node), "cells: expected \"all\" or 1 or more, found {}", count->get());
        else
          wrong_type(entry, "\"all\" or an integer");
      }
      if (entry.key == "proof")
        instance.budget.exact_only = choice_of<bool>(entry, {{"exact", true}, {"any", false}});
    }
  }

  SourceText source_;
  std::string path_;
  const SourceTexts& texts_;
  std::vector<Diagnostic> problems_;
};

// The first problem, with the others as its notes.
Diagnostic fold(std::vector<Diagnostic> problems) {
  std::stable_sort(problems.begin(), problems.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.span.line, a.span.column) < std::pair(b.span.line, b.span.column);
  });
  Diagnostic first = std::move(problems.front());
  for (size_t i = 1; i < problems.size(); ++i)
    first.notes.push_back(to_string(problems[i].span) + ": " + problems[i].message);
  return first;
}

}  // namespace

Result<Instance> read_toml_text(const std::string& text, const std::string& path,
                                const SourceTexts& texts) {
  toml::table root;
  try {
    root = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    const toml::source_position& at = error.source().begin;
    std::string message(error.description());
    if (!message.empty() && message[0] >= 'A' && message[0] <= 'Z') message[0] += 'a' - 'A';
    return make_diagnostic(DiagnosticCode::TomlSyntax, {path, at.line, at.column}, message);
  }
  Reader reader(text, path, texts);
  Instance instance = reader.read(root);
  std::vector<Diagnostic> problems = reader.take_problems();
  // What does not even have the right form would only raise echoes.
  if (problems.empty()) problems = validate(instance);
  if (!problems.empty()) return fold(std::move(problems));
  return instance;
}

Result<Instance> read_toml(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return read_toml_text(*text, path);
}

bool is_instance_file(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text) return false;
  try {
    return toml::parse(*text).contains("program_a");
  } catch (const toml::parse_error&) {
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      size_t start = line.find_first_not_of(" \t");
      if (start != std::string::npos && line.compare(start, 11, "[program_a]") == 0) return true;
    }
    return false;
  }
}

}  // namespace coequal::instance
