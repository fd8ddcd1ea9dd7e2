// Writing figures.
#include "bench/figure.hpp"

#include <cstdio>

namespace regions {
namespace {

const char* kind_of(const Case& task) { return task.table ? "table" : "labels"; }

void print_size(Size size) { std::printf("\"width\":%d,\"height\":%d", size.width, size.height); }

void print_time(const Timing& time) {
  std::printf("\"us\":%.3f,\"fastest_us\":%.3f,\"runs\":%d", time.median, time.fastest, time.runs);
}

void print_case(const Figure& figure, const char* what) {
  const Case& task = figure.task;
  std::printf(
      "{\"what\":\"%s\",\"by\":\"%s\",\"backend\":\"%s\",\"threads\":%d,\"criterion\":\"%s\","
      "\"connectivity\":%s,\"task\":\"%s\",\"format\":\"%s\",\"content\":\"%s\",",
      what, figure.by.c_str(), figure.backend.c_str(), figure.threads,
      task.chosen("criterion").c_str(), task.chosen("connectivity").c_str(), kind_of(task),
      std::string(name_of(task.format)).c_str(), task.content.c_str());
  print_size(task.size);
  std::printf(",\"bytes\":%zu,\"regions\":%u,\"correct\":%s", task.least_bytes(), figure.regions,
              figure.correct ? "true" : "false");
}

}  // namespace

void Report::device(const std::string& description) {
  if (!json_) std::printf("%s\n", description.c_str());
}

void Report::timed(const Figure& figure, const char* clock, const Timing& time, double floor) {
  const double gigabytes = static_cast<double>(figure.task.least_bytes()) / time.median / 1e3;
  if (json_) {
    print_case(figure, "time");
    std::printf(",\"clock\":\"%s\",", clock);
    print_time(time);
    std::printf("}\n");
    std::fflush(stdout);
    return;
  }
  if (!headed_) {
    std::printf("%-46s %-14s %-4s %3s %-6s %10s %10s %5s %8s %7s %9s\n", "case", "by", "on", "thr",
                "clock", "median us", "fastest", "runs", "GB/s", "floors", "regions");
    headed_ = true;
  }
  std::printf("%-46s %-14s %-4s %3d %-6s %10.1f %10.1f %5d %8.1f ", figure.task.name().c_str(),
              figure.by.c_str(), figure.backend.c_str(), figure.threads, clock, time.median,
              time.fastest, time.runs, gigabytes);
  if (floor > 0) {
    std::printf("%6.2fx ", time.median / floor);
  } else {
    std::printf("%7s ", "-");
  }
  std::printf("%9u%s\n", figure.regions, figure.correct ? "" : "  WRONG");
  std::fflush(stdout);
}

void Report::checked(const Figure& figure, int runs) {
  if (json_) {
    print_case(figure, "check");
    std::printf(",\"runs\":%d}\n", runs);
  } else {
    std::printf("%-46s %-4s %3d %s, %d runs\n", figure.task.name().c_str(), figure.backend.c_str(),
                figure.threads, figure.correct ? "equal" : "WRONG", runs);
  }
  std::fflush(stdout);
}

void Report::floor(Size size, size_t bytes, const Timing& graph, const Timing& stream) {
  if (!json_) {
    std::printf("floor kernel %dx%d: %.2f us by graph, %.2f by stream, %.0f GB/s\n", size.width,
                size.height, graph.median, stream.median,
                static_cast<double>(bytes) / graph.median / 1e3);
    return;
  }
  for (const auto& [clock, time] : {std::pair{"graph", graph}, {"stream", stream}}) {
    std::printf("{\"what\":\"floor\",\"backend\":\"cuda\",\"clock\":\"%s\",", clock);
    print_size(size);
    std::printf(",\"bytes\":%zu,", bytes);
    print_time(time);
    std::printf("}\n");
  }
  std::fflush(stdout);
}

void Report::copies(const Case& task, size_t bytes, const Timing& up, const Timing& down) {
  const std::string format(name_of(task.format));
  for (const auto& [direction, time] : {std::pair{"up", up}, {"down", down}}) {
    if (!json_) {
      std::printf("copy %s of a picture, %s %dx%d: %.1f us, %.1f GB/s\n", direction, format.c_str(),
                  task.size.width, task.size.height, time.median,
                  static_cast<double>(bytes) / time.median / 1e3);
      continue;
    }
    std::printf("{\"what\":\"copy\",\"direction\":\"%s\",\"format\":\"%s\",", direction,
                format.c_str());
    print_size(task.size);
    std::printf(",\"bytes\":%zu,", bytes);
    print_time(time);
    std::printf("}\n");
  }
  std::fflush(stdout);
}

}  // namespace regions
