/* Regions of pictures without GStreamer: the algorithms behind the plugin's elements, on the
 * CPU or on a CUDA device.
 *
 *   RegionsFilter *f = regions_open("cclabel", "auto", 0);
 *   regions_set(f, "threshold", "0.5");
 *   RegionsFrame frame = REGIONS_FRAME_INIT;
 *   frame.in = ...;  frame.labels = ...;  frame.regions = table;  frame.capacity = 1000;
 *   if (regions_process(f, &frame) != REGIONS_OK) puts(regions_error());
 *   regions_close(f);
 *
 * A filter is used by one thread at a time; different filters by any number of threads. Properties
 * have the names and values of the elements' properties (docs/elements.md), as text like for
 * gst-launch. Properties that name files exist in the elements only. Pictures are processed one by
 * one: of cclabel's volumes the library supports windows, `depth` with `sliding`, but not
 * `thresholds`.
 *
 * After fork() a filter that the parent opened is unusable in the child, because its threads and
 * its device stay with the parent. There regions_process, regions_set, regions_get and
 * regions_reset fail at once with REGIONS_ERROR_OTHER (regions_get with null), and regions_close
 * returns without freeing the filter. The child may open new filters. CUDA does not work in a child
 * of a process that has used it: "auto" then opens the CPU.
 */
#ifndef REGIONS_H
#define REGIONS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REGIONS_API __attribute__((visibility("default")))

typedef enum {
  REGIONS_OK = 0,
  REGIONS_ERROR_INPUT,  /* a picture, a property or its value is at fault */
  REGIONS_ERROR_MEMORY, /* host or device memory ran out */
  REGIONS_ERROR_DEVICE, /* the device failed or is not there */
  REGIONS_ERROR_OTHER
} RegionsStatus;

typedef enum { REGIONS_MEMORY_HOST = 0, REGIONS_MEMORY_CUDA = 1 } RegionsMemory;

/* How YUV stands for colour. DEFAULT: BT.601 below 720 rows, else BT.709, both of limited range;
 * grey and RGB always have the full range. */
typedef enum {
  REGIONS_COLOR_DEFAULT = 0,
  REGIONS_COLOR_BT601,
  REGIONS_COLOR_BT709,
  REGIONS_COLOR_BT2020,
  REGIONS_COLOR_BT601_FULL,
  REGIONS_COLOR_BT709_FULL,
  REGIONS_COLOR_BT2020_FULL
} RegionsColor;

/* A picture that the caller owns. All zero: none. */
typedef struct {
  const char* format;   /* as in GStreamer caps: "GRAY8", "NV12", "RGB", ...; "U32_LE" for labels */
  int width, height;    /* pixels, 1..65535 */
  void* plane[3];       /* first byte of each plane the format has; samples of 2 and 4 bytes, and */
  ptrdiff_t pitch[3];   /* the bytes from row to row, at multiples of so many; may be negative */
  RegionsMemory memory; /* REGIONS_MEMORY_CUDA: of the device that the filter runs on */
  RegionsColor color;
} RegionsPicture;

/* What is known of a region. */
typedef struct {
  uint32_t id;                      /* its label, 1..n in raster order of the first pixel */
  uint32_t track;                   /* stays from frame to frame; equals id where nothing tracks */
  int32_t first_x, first_y;         /* first pixel in raster order */
  int32_t left, top, right, bottom; /* box, all four inside */
  int32_t first_z, front, back;     /* of volumes; here 0 */
  uint32_t layer;                   /* index of the threshold that it is a region of */
  uint64_t area;                    /* pixels */
  uint64_t sum_x, sum_y, sum_z;     /* over its pixels; divided by area: the centroid */
  uint64_t sum_value[3];            /* of each colour component as stored */
} RegionsRegion;

/* More results of slicsuperpixel: sums over a region's pixels. */
typedef struct {
  uint64_t sum_lab[3];             /* of CIELAB (D65) as 2 L + 28, a + 128, b + 128 */
  uint64_t sum_xx, sum_xy, sum_yy; /* of products of places */
} RegionsMoments;

/* Two regions that touch, first < second, and along how many sides of pixels. */
typedef struct {
  uint32_t first, second, length;
} RegionsBorder;

/* A row of a region's pixels. */
typedef struct {
  uint32_t id, x, y, width; /* the region's; first pixel; pixels */
} RegionsRun;

/* One frame's work. Begin with REGIONS_FRAME_INIT and leave what you do not want zero. */
typedef struct {
  size_t size;       /* sizeof(RegionsFrame): members that later versions add follow the last one */
  RegionsPicture in; /* read */
  RegionsPicture out;        /* written as the property `output` says; may be `in` itself */
  RegionsPicture labels;     /* written, U32_LE: 0 is background (cclabel, slicsuperpixel) */
  RegionsPicture foreground; /* written, GRAY8: 0..255 (graphcutbg) */
  RegionsPicture mask;       /* read: labels or a mask for source=mask, tints and outlines */
  RegionsRegion* regions;    /* written: the first `capacity` of them (cclabel, slicsuperpixel) */
  uint32_t capacity;
  uint32_t count;                /* written: how many of `regions` are set */
  uint32_t total;                /* written: how many there are */
  const RegionsRegion* attached; /* read: what regionoverlay draws */
  uint32_t attached_count;
  RegionsMoments* moments; /* written: one for each of `regions` (slicsuperpixel) */
  RegionsBorder* borders;  /* written: between regions that are set, in order of labels; room for
                              3 * capacity, and there are never more (slicsuperpixel) */
  uint32_t border_count;   /* written: how many of `borders` are set */
  RegionsRun* runs;        /* written: pixels of the regions that are set, by id, then y, then x; of
                              more than `run_capacity`, the first in raster order (cclabel) */
  uint32_t run_capacity;   /* another value makes the filter start again */
  uint32_t run_count;      /* written: how many of `runs` are set */
  uint32_t runs_truncated; /* written: 1 where there were more */
} RegionsFrame;

#ifdef __cplusplus
#define REGIONS_FRAME_INIT        \
  ([] {                           \
    RegionsFrame first_ = {};     \
    first_.size = sizeof(first_); \
    return first_;                \
  }())
#else
#define REGIONS_FRAME_INIT \
  { .size = sizeof(RegionsFrame) }
#endif

typedef struct RegionsFilter RegionsFilter;

/* `algorithm`: an element's name, "cclabel"; the error for an unknown name lists all. `device`:
 * "auto" (a CUDA device that works, else the CPU), "cpu", "cuda" or "cuda:N". `threads` of the CPU,
 * 0 for as many as the machine has. Null on failure, see regions_error(). */
REGIONS_API RegionsFilter* regions_open(const char* algorithm, const char* device, int threads);
REGIONS_API void regions_close(RegionsFilter* filter);

/* The device that does the work, such as "cpu: 2 threads"; lives as long as the filter. */
REGIONS_API const char* regions_device(const RegionsFilter* filter);

REGIONS_API RegionsStatus regions_set(RegionsFilter* filter, const char* property,
                                      const char* value);
/* The value as text; null for an unknown property. The text stays until the filter's next
 * regions_get that gives one, or its regions_close. */
REGIONS_API const char* regions_get(RegionsFilter* filter, const char* property);

/* Works on one frame and returns when all is written. The first frame of a size, format or new
 * setting allocates; later frames of the same kind do not. */
REGIONS_API RegionsStatus regions_process(RegionsFilter* filter, RegionsFrame* frame);

/* Resets the filter: the next frame is the first of a new stream. */
REGIONS_API RegionsStatus regions_reset(RegionsFilter* filter);

/* The reason why this thread's last failed call failed; never null. The text stays as it is
 * until this thread's next call that fails, or its end; calls that succeed leave it. Of more than
 * 1023 bytes the first are kept. */
REGIONS_API const char* regions_error(void);

/* "0.1.0" */
REGIONS_API const char* regions_version(void);

#ifdef __cplusplus
}
#endif
#endif
