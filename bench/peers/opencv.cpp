// Times OpenCV's connectedComponents and connectedComponentsWithStats on the pictures of
// bench/programs/cclabel, with the same clock and the same options.
#include <cstdio>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <unordered_map>

#include "bench/programs/cases.hpp"

namespace regions {
namespace {

// Compares OpenCV's labels of a picture with cclabel's, except for their numbering.
class Reference {
 public:
  Reference(const Case& test_case, const Picture& picture) {
    CcLabelTestStand test_stand =
        make_test_stand(test_case, make_cpu_backend(), std::span(&picture, 1), 1);
    test_stand.run(0);
    answer_ = test_stand.answer(0);
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

void measure(const Case& test_case, const Options& options) {
  std::vector<Picture> variants = mirrored(make_picture(test_case.content, test_case.size));
  std::vector<cv::Mat> inputs;
  for (Picture& variant : variants) {
    inputs.emplace_back(test_case.size.height, test_case.size.width, CV_8U, variant.pixels.data());
  }
  std::vector<cv::Mat> labels(inputs.size());
  cv::Mat stats, centroids;
  const int connectivity = static_cast<int>(test_case.params.connectivity);
  const auto work = [&](int frame) {
    const auto i = static_cast<size_t>(frame);
    if (test_case.table) {
      cv::connectedComponentsWithStats(inputs[i], labels[i], stats, centroids, connectivity,
                                       CV_32S);
    } else {
      cv::connectedComponents(inputs[i], labels[i], connectivity, CV_32S);
    }
  };
  const Reference reference(test_case, variants.front());
  for (const int threads : threads_of(options, cv::getNumberOfCPUs())) {
    cv::setNumThreads(threads);
    work(0);
    const bool correct = reference.agrees(labels.front());
    const Timing time = time_calls(static_cast<int>(inputs.size()), work, options.effort);
    test_case
        .row("time", std::string("OpenCV ") + CV_VERSION, "cpu", threads, reference.total(),
             correct, options.json)
        .add("clock", "wall")
        .add(time)
        .print();
  }
}

int run(int argc, char** argv) {
  Options options = options_of(argc, argv);
  options.criteria = {Criterion::binary};
  options.format = PixelFormat::gray8;
  for (const Case& test_case : cases_of(options)) measure(test_case, options);
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) { return regions::run_program("opencv", regions::run, argc, argv); }
