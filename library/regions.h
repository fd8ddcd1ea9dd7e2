/* libregions finds and measures regions in pictures. It runs the algorithms of the gst-regions
 * plugin on the CPU or on a CUDA device, and it does not need GStreamer.
 *
 *   RegionsFilter *f = regions_open("cclabel", "auto", 0);
 *   regions_set(f, "threshold", "0.5");
 *   RegionsFrame frame = REGIONS_FRAME_INIT;
 *   frame.in = ...;  frame.labels = ...;  frame.regions = table;  frame.capacity = 1000;
 *   if (regions_process(f, &frame) != REGIONS_OK) puts(regions_error());
 *   regions_close(f);
 *
 * Only one thread may use a filter at a time. Different threads may use different filters.
 *
 * The properties are the properties of the GStreamer elements (docs/elements.md). Their values are
 * passed as text, as in gst-launch-1.0. The library does not have the property `preset` and the
 * properties that name files. It processes single pictures: cclabel accepts `depth` above 1 only
 * together with sliding=true, and at most one value in `thresholds`.
 *
 * A filter that was opened before fork() is unusable in the child process, because its threads and
 * its device stay with the parent. In the child, regions_process(), regions_set(), regions_get()
 * and regions_reset() fail at once with REGIONS_ERROR_OTHER (regions_get() returns null), and
 * regions_close() returns without freeing the filter. The child may open new filters. CUDA does not
 * work in the child of a process that has used CUDA, so there "auto" selects the CPU.
 */
#ifndef REGIONS_H
#define REGIONS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REGIONS_API __attribute__((visibility("default")))

/* The result of a call. regions_error() returns the text of the error. */
typedef enum {
  REGIONS_OK = 0,
  REGIONS_ERROR_INPUT,  /* invalid argument, picture, property or value */
  REGIONS_ERROR_MEMORY, /* host or device memory ran out */
  REGIONS_ERROR_DEVICE, /* the device failed or does not exist */
  /* any other error, such as the use of a filter that was opened before fork() */
  REGIONS_ERROR_OTHER
} RegionsStatus;

/* The memory that contains a picture. */
typedef enum { REGIONS_MEMORY_HOST = 0, REGIONS_MEMORY_CUDA = 1 } RegionsMemory;

/* The matrix and range of a YUV picture. DEFAULT is BT.601 for pictures with fewer than 720 rows
 * and BT.709 for others, both with limited range. Gray and RGB pictures ignore this value: they
 * always have full range. */
typedef enum {
  REGIONS_COLOR_DEFAULT = 0,
  REGIONS_COLOR_BT601,
  REGIONS_COLOR_BT709,
  REGIONS_COLOR_BT2020,
  REGIONS_COLOR_BT601_FULL,
  REGIONS_COLOR_BT709_FULL,
  REGIONS_COLOR_BT2020_FULL
} RegionsColor;

/* A picture in memory of the caller. If plane[0] is null, the picture is absent. */
typedef struct {
  const char* format;   /* name as in GStreamer caps, such as "GRAY8", "NV12" or "RGB"; label maps
                           have "U32_LE" */
  int width, height;    /* pixels, 1..65535 */
  void* plane[3];       /* address of the first row of each plane that the format has */
  ptrdiff_t pitch[3];   /* bytes from one row to the next, may be negative; addresses and pitches
                           are multiples of the sample size (1, 2 or 4 bytes) */
  RegionsMemory memory; /* REGIONS_MEMORY_CUDA: memory of the CUDA device that the filter uses */
  RegionsColor color;   /* matrix and range, for YUV formats only */
} RegionsPicture;

/* The measurements of one region. Coordinates are in pixels from the top left of the picture. */
typedef struct {
  uint32_t id;              /* label in this frame, 1..total, in raster order of first pixels */
  uint32_t track;           /* number kept from frame to frame; equal to id without tracking; 0 for a
                               region that moves with another one, which has the track of both */
  int32_t first_x, first_y; /* the region's first pixel in raster order */
  int32_t left, top, right, bottom; /* bounding box; right and bottom are inclusive */
  int32_t first_z, front, back;     /* slice numbers in volumes; always 0 in this library */
  uint32_t layer;                   /* index in a list of thresholds; always 0 in this library */
  uint64_t area;                    /* number of pixels */
  uint64_t sum_x, sum_y;            /* sums of the pixels' coordinates; centroid_x = sum_x / area */
  uint64_t sum_z;                   /* sum of slice numbers; always 0 in this library */
  uint64_t sum_value[3];            /* sums of each stored component: gray; Y, U, V; or R, G, B */
} RegionsRegion;

/* Additional sums over the pixels of a superpixel (slicsuperpixel only). */
typedef struct {
  uint64_t sum_lab[3];             /* CIELAB (D65), stored as 2 L + 28, a + 128, b + 128 */
  uint64_t sum_xx, sum_xy, sum_yy; /* products of the coordinates: x * x, x * y, y * y */
} RegionsMoments;

/* Two adjacent regions: their ids (first < second) and the length of their border (pixel sides). */
typedef struct {
  uint32_t first, second, length;
} RegionsBorder;

/* A run: consecutive pixels of one region in one row. */
typedef struct {
  uint32_t id, x, y, width; /* the region's id; x and y of the first pixel; number of pixels */
} RegionsRun;

/* The inputs and outputs of regions_process(). Initialise a frame with REGIONS_FRAME_INIT. Members
 * that you do not need stay zero. All pictures except `mask` must have the size of `in`. */
typedef struct {
  size_t size;           /* sizeof(RegionsFrame), checked; later versions add members at the end */
  RegionsPicture in;     /* read: the input picture, required */
  RegionsPicture out;    /* written: the picture that the property `output` selects; may be the
                            same picture as `in`; must be zero with output=none */
  RegionsPicture labels; /* written, U32_LE: the region's id at each pixel, 0 in the background
                            (cclabel, slicsuperpixel) */
  RegionsPicture foreground;     /* written, GRAY8: 255 in the foreground, else 0 (graphcutbg) */
  RegionsPicture mask;           /* read, GRAY8, GRAY16_LE or U32_LE: the mask for source=mask and
                                    source=both, and the mask that regionoverlay draws; any size, but
                                    cclabel requires the size of `in` */
  RegionsRegion* regions;        /* written, [capacity]: the first regions in order of ids, at most
                                    `capacity` and at most the property `max-regions` (cclabel,
                                    slicsuperpixel) */
  uint32_t capacity;             /* number of elements in `regions`, 0 if `regions` is null */
  uint32_t count;                /* written: number of elements written to `regions` */
  uint32_t total;                /* written: number of regions in the picture */
  const RegionsRegion* attached; /* read, [attached_count]: regions that regionoverlay draws */
  uint32_t attached_count;       /* number of elements in `attached`; the first 65536 are drawn */
  RegionsMoments* moments;       /* written, [capacity]: moments of the regions in `regions`
                                    (slicsuperpixel) */
  RegionsBorder* borders;  /* written, [3 * capacity]: borders between the regions in `regions`, in
                              order of ids; this size is always sufficient (slicsuperpixel) */
  uint32_t border_count;   /* written: number of elements written to `borders` */
  RegionsRun* runs;        /* written, [run_capacity]: runs of the regions in `regions`, sorted by
                              id, then y, then x; if there are more than `run_capacity` runs, only
                              the first runs in raster order are written (cclabel) */
  uint32_t run_capacity;   /* number of elements in `runs`; a change resets the filter */
  uint32_t run_count;      /* written: number of elements written to `runs` */
  uint32_t runs_truncated; /* written: 1 if the picture has more than `run_capacity` runs, else 0 */
} RegionsFrame;

/* The initial value of a RegionsFrame: `size` is set, all other members are zero. */
#ifdef __cplusplus
#define REGIONS_FRAME_INIT            \
  ([] {                               \
    RegionsFrame initial_ = {};       \
    initial_.size = sizeof(initial_); \
    return initial_;                  \
  }())
#else
#define REGIONS_FRAME_INIT \
  { .size = sizeof(RegionsFrame) }
#endif

/* One algorithm on one device, with its properties and the state of earlier frames. */
typedef struct RegionsFilter RegionsFilter;

/* Opens a filter.
 * - algorithm: the name of an element: "cclabel", "graphcutbg", "regionoverlay", "slicsuperpixel".
 * - device: "cpu"; "cuda" (CUDA device 0); "cuda:N" (CUDA device N, 0..255); "auto" or null (a CUDA
 *   device if one works, else the CPU).
 * - threads: number of CPU threads, 0: one per CPU core. A CUDA filter ignores it.
 *
 * Returns null on failure; regions_error() returns the reason. */
REGIONS_API RegionsFilter* regions_open(const char* algorithm, const char* device, int threads);

/* Closes the filter and frees its memory. Does nothing if `filter` is null. */
REGIONS_API void regions_close(RegionsFilter* filter);

/* Returns the device that the filter uses, such as "cpu: 2 threads", or "none" if `filter` is null.
 * The text is valid until regions_close(). */
REGIONS_API const char* regions_device(const RegionsFilter* filter);

/* Sets a property, from the next frame on. Returns REGIONS_ERROR_INPUT if the property does not
 * exist or does not accept the value. The property then keeps its old value. Setting a property
 * that docs/elements.md does not list as "changeable while playing" may discard the state of
 * earlier frames. */
REGIONS_API RegionsStatus regions_set(RegionsFilter* filter, const char* property,
                                      const char* value);
/* Returns the value of a property as text, or null on failure, for example if the property does not
 * exist. The text is valid until the next successful regions_get() or regions_close() of the same
 * filter. */
REGIONS_API const char* regions_get(RegionsFilter* filter, const char* property);

/* Processes one frame and returns when all outputs are written. If the size, the formats or the
 * settings differ from the previous frame, the call allocates memory and may discard the state of
 * earlier frames. After an error the contents of the outputs are undefined; the filter can process
 * further frames. Errors:
 * - REGIONS_ERROR_INPUT: the frame is invalid or contradicts the properties.
 * - REGIONS_ERROR_MEMORY: host or device memory ran out.
 * - REGIONS_ERROR_DEVICE: the device failed. */
REGIONS_API RegionsStatus regions_process(RegionsFilter* filter, RegionsFrame* frame);

/* Discards the state of earlier frames, such as background models and tracks. Properties keep their
 * values. */
REGIONS_API RegionsStatus regions_reset(RegionsFilter* filter);

/* Returns the error text of the last call that failed in the calling thread; never null. Successful
 * calls do not change it. The text is valid until the next call that fails in this thread, or until
 * the thread ends. It is cut to 1023 bytes. */
REGIONS_API const char* regions_error(void);

/* Returns the version of the library, such as "1.0.0". */
REGIONS_API const char* regions_version(void);

#ifdef __cplusplus
}
#endif
#endif
