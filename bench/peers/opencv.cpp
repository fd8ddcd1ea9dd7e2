// OpenCV's connectedComponents and connectedComponentsWithStats on the pictures of
// bench/algorithms, with the same clock; options as there.
#include <cstdio>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <unordered_map>

#include "bench/figure.hpp"
#include "bench/options.hpp"
#include "bench/program.hpp"
#include "cpu/backend.hpp"

namespace regions {
namespace {

// Our labels of the picture, and whether OpenCV's are the same but for their numbering.
class Reference {
 public:
  Reference(const Case& task, const Picture& picture) {
    auto backend = make_cpu_backend(0);
    Stand stand(backend, make_algorithm<CcLabelParams, BackendKind::cpu>(backend), task,
                std::span(&picture, 1), 1, 1);
    stand.enqueue(0);
    answer_ = stand.answer(0);
  }
  uint32_t total() const { return answer_.total; }

  bool agrees(const cv::Mat& labels) const {
    std::vector<int> theirs(size_t{answer_.total} + 1, -1);
    std::unordered_map<int, uint32_t> ours;
    size_t i = 0;
    for (int y = 0; y < labels.rows; ++y) {
      for (int x = 0; x < labels.cols; ++x, ++i) {
        const int label = labels.at<int>(y, x);
        int& known = theirs[answer_.labels[i]];
        if (known < 0) {
          known = label;
          if (!ours.emplace(label, answer_.labels[i]).second) return false;
        }
        if (known != label) return false;
      }
    }
    return true;
  }

 private:
  Answer answer_;
};

void measure(const Case& task, const Options& options, Report& report) {
  std::vector<Picture> variants = mirrored(make_picture(task.content, task.size));
  std::vector<cv::Mat> inputs;
  for (Picture& variant : variants) {
    inputs.emplace_back(task.size.height, task.size.width, CV_8U, variant.pixels.data());
  }
  std::vector<cv::Mat> labels(inputs.size());
  cv::Mat stats, centroids;
  const int connectivity = static_cast<int>(task.params.connectivity);
  const auto work = [&](int frame) {
    const auto i = static_cast<size_t>(frame);
    if (task.table) {
      cv::connectedComponentsWithStats(inputs[i], labels[i], stats, centroids, connectivity,
                                       CV_32S);
    } else {
      cv::connectedComponents(inputs[i], labels[i], connectivity, CV_32S);
    }
  };
  const Reference reference(task, variants.front());
  Figure figure{.task = task};
  figure.by = std::string("OpenCV ") + CV_VERSION;
  figure.backend = "cpu";
  figure.regions = reference.total();
  int last = 0;
  for (const int wanted : options.threads) {
    const int threads = wanted == 0 ? cv::getNumberOfCPUs() : wanted;
    if (threads > cv::getNumberOfCPUs() || threads == last) continue;
    last = threads;
    cv::setNumThreads(threads);
    figure.threads = threads;
    work(0);
    figure.correct = reference.agrees(labels.front());
    const int frames = static_cast<int>(inputs.size());
    report.timed(figure, "wall", time_calls(frames, work, options.effort), 0);
  }
}

int run(int count, char** words) {
  Options options = parse(count, words);
  if (options.help) {
    std::fputs(usage().c_str(), stdout);
    return 0;
  }
  options.criteria = {Criterion::binary};
  options.format = PixelFormat::gray8;
  Report report(options.json);
  for (const Case& task : cases_of(options)) measure(task, options, report);
  return 0;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("opencv", regions::run, count, words);
}
