// Parses caps, checks buffers against their caps and metas, and maps them as frames.
#include "plugin/memory/mapped_picture.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "plugin/memory/cuda_memory.hpp"

namespace regions {
namespace {

YuvMatrix matrix_of(const GstVideoInfo& info) {
  switch (info.colorimetry.matrix) {
    case GST_VIDEO_COLOR_MATRIX_BT709:
      return YuvMatrix::bt709;
    case GST_VIDEO_COLOR_MATRIX_BT2020:
      return YuvMatrix::bt2020;
    default:
      return YuvMatrix::bt601;
  }
}

// Throws InputError if a row of the plane is outside of the mapped memory. The offsets and strides
// of a GstVideoMeta can have any value.
void expects_mapped(const ConstFrame& frame, int plane, const GstMapInfo& map) {
  // `map` has no address if the memory type maps planes with its own function. That function checks
  // the bounds.
  if (!map.data) return;
  const int64_t last_row = int64_t{row_count(frame.layout, plane, frame.size()) - 1};
  const int64_t last_row_offset = last_row * frame.pitch[plane];
  const int64_t first_row_offset =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(frame.plane[plane])) -
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(map.data));
  const auto bytes_per_row = static_cast<int64_t>(row_bytes(frame.layout, plane, frame.size()));
  const int64_t begin = first_row_offset + std::min<int64_t>(last_row_offset, 0);
  const int64_t end = first_row_offset + std::max<int64_t>(last_row_offset, 0) + bytes_per_row;
  expects(begin >= 0 && end <= static_cast<int64_t>(map.size), [&] {
    return "a buffer's GstVideoMeta puts plane " + std::to_string(plane) + " at bytes " +
           std::to_string(begin) + " to " + std::to_string(end) + " of " + std::to_string(map.size);
  });
}

std::string text_of(int64_t width, int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

// Returns the name of the format, or its number if it is unknown, because
// gst_video_format_to_string() accepts only known formats.
std::string text_of(GstVideoFormat format) {
  const gchar* name =
      format > GST_VIDEO_FORMAT_UNKNOWN ? gst_video_format_to_string(format) : nullptr;
  return name ? name : "number " + std::to_string(static_cast<int>(format));
}

// Throws InputError if a GstVideoMeta contradicts the caps of its buffer. gst_video_frame_map()
// makes the same checks, but reports each contradiction as a programming error (g_critical).
void expects_consistent(const GstVideoMeta& meta, const PictureCaps& caps) {
  const std::string name = "a buffer's GstVideoMeta ";
  expects(meta.format == GST_VIDEO_INFO_FORMAT(&caps.info), [&] {
    return name + "has the format " + text_of(meta.format) +
           ", another format than its caps: " + std::string(name_of(caps.layout.format));
  });
  expects(meta.n_planes == caps.layout.planes, [&] {
    return name + "has " + std::to_string(meta.n_planes) + " planes, " +
           std::string(name_of(caps.layout.format)) + " has " + std::to_string(caps.layout.planes);
  });
  expects(static_cast<int64_t>(meta.width) >= caps.size.width &&
              static_cast<int64_t>(meta.height) >= caps.size.height,
          [&] {
            return name + "shows " + text_of(meta.width, meta.height) +
                   " pixels, a smaller picture than its caps: " +
                   text_of(caps.size.width, caps.size.height);
          });
  expects(meta.map && meta.unmap, [&] { return name + "has no function that maps its planes"; });
}

// The top left corner of the visible picture inside the whole picture of a buffer (pixels).
struct Origin {
  int x = 0, y = 0;
};

// Returns the top left corner of the visible picture. The caps state the size of the visible
// picture, GstVideoMeta the size of the whole picture in memory, and GstVideoCropMeta where the
// visible picture is inside the whole picture. Throws InputError if they contradict each other.
Origin visible_origin(GstBuffer* buffer, const GstVideoMeta* meta, const PictureCaps& caps) {
  const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(buffer);
  if (!crop) return {};
  const auto refusal_text = [&](const std::string& reason) {
    return "a buffer's GstVideoCropMeta shows " + text_of(crop->width, crop->height) +
           " pixels at " + std::to_string(crop->x) + "," + std::to_string(crop->y) + reason;
  };
  const int64_t x = crop->x, y = crop->y, width = crop->width, height = crop->height;
  expects(width == caps.size.width && height == caps.size.height, [&] {
    return refusal_text(", its caps promise " + text_of(caps.size.width, caps.size.height));
  });
  if (x == 0 && y == 0) return {};
  expects(meta != nullptr, [&] {
    return refusal_text(", but no GstVideoMeta gives the size of the whole picture");
  });
  expects(x + width <= int64_t{meta->width} && y + height <= int64_t{meta->height}, [&] {
    return refusal_text(", outside of the whole picture of " + text_of(meta->width, meta->height));
  });
  // In YUY2 and UYVY two pixels share their chroma, so the visible picture must begin at an even
  // column.
  const Component* const component = caps.layout.component;
  const bool has_pairs =
      component[1].plane == component[0].plane && component[1].x_shift > component[0].x_shift;
  expects(!has_pairs || x % 2 == 0, [&] {
    return refusal_text(": column " + std::to_string(x) + " is the second of a pair of " +
                        std::string(name_of(caps.layout.format)) + " pixels; crop an even number");
  });
  return {static_cast<int>(x), static_cast<int>(y)};
}

// Moves the top left corner of `picture` to `origin`. A subsampled plane begins at the sample that
// covers this pixel, as in the pictures that videocrop copies.
void move_corner_to(Frame& picture, Origin origin) {
  for (int c = 0, plane = 0; plane < picture.layout.planes; ++c) {
    const Component& component = picture.layout.component[c];
    if (component.plane != plane) continue;
    picture.plane[plane++] = picture.at(c, origin.x, origin.y) - component.offset;
  }
}

PictureCaps parse_label_caps(const GstStructure* structure) {
  PictureCaps caps;
  caps.layout = layout_of(PixelFormat::labels32);
  expects(gst_structure_get_int(structure, "width", &caps.size.width) &&
              gst_structure_get_int(structure, "height", &caps.size.height),
          "label caps without width and height");
  caps.bytes = caps.size.area() * sizeof(uint32_t);
  return caps;
}

}  // namespace

PictureCaps parse_caps(const GstCaps* gst_caps) {
  const GstStructure* structure = gst_caps_get_structure(gst_caps, 0);
  if (gst_structure_has_name(structure, kLabelCaps)) return parse_label_caps(structure);
  PictureCaps caps;
  expects(gst_video_info_from_caps(&caps.info, gst_caps), "the caps do not describe raw video");
  caps.layout =
      layout_of(format_named(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&caps.info))));
  caps.size = {GST_VIDEO_INFO_WIDTH(&caps.info), GST_VIDEO_INFO_HEIGHT(&caps.info)};
  expects(caps.size.width >= 1 && caps.size.height >= 1 && caps.size.width <= 65535 &&
              caps.size.height <= 65535,
          "pictures must have sides of 1 to 65535 pixels");
  caps.color = {matrix_of(caps.info), caps.info.colorimetry.range != GST_VIDEO_COLOR_RANGE_16_235};
  caps.cuda = gst_caps_features_contains(gst_caps_get_features(gst_caps, 0), kCudaFeature);
  caps.bytes = GST_VIDEO_INFO_SIZE(&caps.info);
  return caps;
}

bool have_same_pictures(const PictureCaps& a, const PictureCaps& b) {
  const GstVideoInfo &info_a = a.info, &info_b = b.info;
  return a.layout.format == b.layout.format && a.size == b.size && a.bytes == b.bytes &&
         a.cuda == b.cuda && a.color.matrix == b.color.matrix &&
         a.color.full_range == b.color.full_range &&
         GST_VIDEO_INFO_INTERLACE_MODE(&info_a) == GST_VIDEO_INFO_INTERLACE_MODE(&info_b) &&
         std::equal(info_a.offset, info_a.offset + GST_VIDEO_MAX_PLANES, info_b.offset) &&
         std::equal(info_a.stride, info_a.stride + GST_VIDEO_MAX_PLANES, info_b.stride);
}

bool holds_picture(GstBuffer* buffer, const PictureCaps& caps) {
  const size_t bytes = gst_buffer_get_size(buffer);
  const bool has_default_layout =
      !gst_buffer_get_video_meta(buffer) || caps.layout.format == PixelFormat::labels32;
  if (has_default_layout) return bytes >= caps.bytes;
  // A GstVideoMeta can have smaller strides than the caps, so only rows without padding are
  // required.
  size_t min_bytes = 0;
  for (int p = 0; p < caps.layout.planes; ++p) {
    min_bytes += row_bytes(caps.layout, p, caps.size) *
                 static_cast<size_t>(row_count(caps.layout, p, caps.size));
  }
  return bytes >= min_bytes;
}

MappedPicture::MappedPicture(GstBuffer* buffer, const PictureCaps& caps, GstMapFlags flags) {
  map(buffer, caps, flags);
}

void MappedPicture::map(GstBuffer* buffer, const PictureCaps& caps, GstMapFlags flags) {
  unmap();
  frame_ = {};
  frame_.width = caps.size.width;
  frame_.height = caps.size.height;
  frame_.layout = caps.layout;
  frame_.color = caps.color;
  is_label_map_ = caps.layout.format == PixelFormat::labels32;
  if (is_label_map_) {
    map_labels(buffer, caps, flags);
    return;
  }
  if (caps.cuda) flags = cuda_map_flags(flags);
  const GstVideoMeta* meta = gst_buffer_get_video_meta(buffer);
  if (meta) expects_consistent(*meta, caps);
  const Origin origin = visible_origin(buffer, meta, caps);
  video_ = {};
  // gst_video_frame_map() also fails if the buffer is smaller than its caps require.
  expects(gst_video_frame_map(&video_, &caps.info, buffer, flags),
          "a buffer of " + std::to_string(gst_buffer_get_size(buffer)) +
              " bytes cannot be mapped as the " + std::to_string(caps.size.width) + "x" +
              std::to_string(caps.size.height) + " " + std::string(name_of(caps.layout.format)) +
              " picture its caps promise");
  is_mapped_ = true;
  frame_.memory = caps.cuda ? Memory::device : Memory::host;
  for (int p = 0; p < caps.layout.planes; ++p) {
    frame_.plane[p] = static_cast<std::byte*>(GST_VIDEO_FRAME_PLANE_DATA(&video_, p));
    frame_.pitch[p] = GST_VIDEO_FRAME_PLANE_STRIDE(&video_, p);
  }
  expects_planes(frame_, "the buffer");
  move_corner_to(frame_, origin);
  if (!(flags & GST_MAP_READ)) expects_aligned(frame_, "the buffer");
  for (int p = 0; p < caps.layout.planes; ++p) {
    // Planes are mapped separately only if the buffer has a GstVideoMeta.
    expects_mapped(frame_, p, video_.map[video_.meta ? p : 0]);
  }
}

void MappedPicture::map_labels(GstBuffer* buffer, const PictureCaps& caps, GstMapFlags flags) {
  expects(gst_buffer_map(buffer, &bytes_, flags), "the buffer of the label map cannot be mapped");
  buffer_ = buffer;
  is_mapped_ = true;
  expects(bytes_.size >= caps.bytes, "the buffer is too small for the label map");
  frame_.plane[0] = reinterpret_cast<std::byte*>(bytes_.data);
  frame_.pitch[0] = static_cast<ptrdiff_t>(sizeof(uint32_t)) * caps.size.width;
  expects_aligned(frame_, "the label buffer");
}

void MappedPicture::unmap() {
  if (!is_mapped_) return;
  if (is_label_map_) {
    gst_buffer_unmap(buffer_, &bytes_);
  } else {
    gst_video_frame_unmap(&video_);
  }
  is_mapped_ = false;
}

void fill_with_zeros(const Frame& picture) {
  for (int p = 0; p < picture.layout.planes; ++p) {
    const size_t bytes = row_bytes(picture.layout, p, picture.size());
    for (int y = 0; y < row_count(picture.layout, p, picture.size()); ++y) {
      std::memset(picture.plane[p] + y * picture.pitch[p], 0, bytes);
    }
  }
}

void copy_rows(const ConstFrame& from, const Frame& to, const Workers& workers) {
  constexpr int kChunkRows = 128;  // rows per task; 128 rows of a 1080p picture take about 20 µs
  for (int p = 0; p < from.layout.planes; ++p) {
    const size_t bytes = row_bytes(from.layout, p, from.size());
    const int rows = row_count(from.layout, p, from.size());
    workers.parallel_for((rows + kChunkRows - 1) / kChunkRows, [&](int chunk) {
      for (int y = chunk * kChunkRows; y < std::min((chunk + 1) * kChunkRows, rows); ++y) {
        std::memcpy(to.plane[p] + y * to.pitch[p], from.plane[p] + y * from.pitch[p], bytes);
      }
    });
  }
}

}  // namespace regions
