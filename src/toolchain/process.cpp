// posix_spawn, two pipes, and a poll that asks the budget.
#include "toolchain/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace coequal::toolchain {
namespace {

constexpr int kPollMilliseconds = 20;
constexpr size_t kMostOutput = size_t{64} << 20;

// A pipe that other programs started meanwhile do not inherit.
class Pipe {
 public:
  Pipe() { open_ = pipe2(ends_.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool is_open() const { return open_; }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_reader() { close_end(0); }
  void close_writer() { close_end(1); }

  // Appends what is there; closes the reading end at the end of the data.
  void drain(std::string& to) {
    std::array<char, 65536> buffer;
    const ssize_t n = read(reader(), buffer.data(), buffer.size());
    if (n > 0) {
      if (to.size() < kMostOutput) to.append(buffer.data(), static_cast<size_t>(n));
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
      close_reader();
    }
  }

 private:
  void close_end(int i) {
    if (ends_[i] >= 0) close(ends_[i]);
    ends_[i] = -1;
  }

  std::array<int, 2> ends_ = {-1, -1};
  bool open_ = false;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& extra) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text(*entry);
    if (!extra.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : extra) all.push_back(name + "=" + value);
  return all;
}

int spawn(const std::vector<std::string>& argv,
          const std::map<std::string, std::string>& environment, const Pipe& out, const Pipe& err,
          pid_t& child) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.writer(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.writer(), STDERR_FILENO);
  sigset_t defaults, mask;
  sigemptyset(&mask);
  sigemptyset(&defaults);
  for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGCHLD}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> arguments = argv, variables = environment_with(environment);
  const int error = posix_spawnp(&child, argv[0].c_str(), &files, &attributes,
                                 pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& argv,
                          const std::map<std::string, std::string>& environment,
                          const Budget& budget) {
  ProcessResult result;
  if (budget.spent()) {
    result.end = ProcessResult::End::Stopped;
    return result;
  }
  Pipe out, err;
  if (!out.is_open() || !err.is_open()) {
    result.code = errno;
    return result;
  }
  pid_t child = 0;
  result.code = spawn(argv, environment, out, err, child);
  if (result.code != 0) return result;
  out.close_writer();
  err.close_writer();
  // The program's end is what counts: a child that it leaves behind may hold the pipes open.
  int status = 0;
  bool stopped = false, ended = false;
  while (true) {
    std::array<pollfd, 2> ends = {pollfd{out.reader(), POLLIN, 0}, pollfd{err.reader(), POLLIN, 0}};
    const bool silent = out.reader() < 0 && err.reader() < 0;
    const int ready = poll(ends.data(), ends.size(), ended ? 0 : silent ? 1 : kPollMilliseconds);
    if (ready > 0) {
      if (ends[0].revents) out.drain(result.out);
      if (ends[1].revents) err.drain(result.err);
    }
    if (ended && (ready <= 0 || stopped)) break;
    if (!ended) {
      const pid_t waited = waitpid(child, &status, WNOHANG);
      if (waited < 0 && errno != EINTR) {
        result.code = errno;
        return result;
      }
      ended = waited == child;
    }
    if (!stopped && budget.spent()) {
      stopped = true;
      if (!ended) kill(-child, SIGKILL);
    }
  }
  if (stopped) {
    result.end = ProcessResult::End::Stopped;
  } else if (WIFEXITED(status)) {
    result.end = ProcessResult::End::Exited;
    result.code = WEXITSTATUS(status);
  } else {
    result.end = ProcessResult::End::Signalled;
    result.code = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  return result;
}

}  // namespace coequal::toolchain
