/* Labels the bright regions of a picture and prints them:
 *
 *   label_image IN.pgm [OUT.pgm [PROPERTY=VALUE...]]
 *
 * IN is a binary PGM or PPM with 8 bits per sample (P5 or P6). The labels are written to OUT as a
 * PGM with 16 bits per sample. On an error the program prints one line on standard error and exits
 * with status 1.
 *
 *   cc label_image.c $(pkg-config --cflags --libs regions)
 */
#include <regions.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REGIONS = 4096 };

static int fail(const char* subject, const char* reason) {
  fprintf(stderr, "label_image: %s: %s\n", subject, reason);
  return 1;
}

/* Skips white space and comments, then reads a number. Returns -1 if no number follows. */
static int header_number(FILE* file) {
  int c = fgetc(file), number = 0, digits = 0;
  while (c == '#' || c == ' ' || c == '\t' || c == '\n' || c == '\r') {
    if (c == '#') {
      while (c != '\n' && c != EOF) c = fgetc(file);
    }
    c = fgetc(file);
  }
  for (; c >= '0' && c <= '9' && digits < 9; ++digits, c = fgetc(file)) {
    number = 10 * number + c - '0';
  }
  return digits ? number : -1;
}

/* Reads a picture. The caller frees plane[0]. All members are zero on failure. */
static RegionsPicture read_picture(const char* name) {
  RegionsPicture none, picture;
  memset(&none, 0, sizeof none);
  picture = none;
  FILE* file = fopen(name, "rb");
  if (!file) return none;
  const int letter = fgetc(file), kind = fgetc(file);
  const int width = header_number(file), height = header_number(file), max = header_number(file);
  if (letter == 'P' && (kind == '5' || kind == '6') && width > 0 && width <= 65535 && height > 0 &&
      height <= 65535 && max == 255) {
    const size_t row_bytes = (size_t)width * (kind == '5' ? 1 : 3);
    void* pixels = malloc(row_bytes * (size_t)height);
    if (pixels && fread(pixels, row_bytes, (size_t)height, file) == (size_t)height) {
      picture.format = kind == '5' ? "GRAY8" : "RGB";
      picture.width = width;
      picture.height = height;
      picture.plane[0] = pixels;
      picture.pitch[0] = (ptrdiff_t)row_bytes;
    } else {
      free(pixels);
    }
  }
  fclose(file);
  return picture;
}

/* Writes the labels as a PGM, which stores the high byte of a sample first. */
static int write_labels(const char* name, const uint32_t* labels, int width, int height) {
  FILE* file = fopen(name, "wb");
  if (!file) return fail(name, "cannot be written");
  fprintf(file, "P5\n%d %d\n65535\n", width, height);
  for (long i = 0; i < (long)width * height; ++i) {
    fputc((int)(labels[i] >> 8 & 255), file);
    fputc((int)(labels[i] & 255), file);
  }
  return fclose(file) == 0 ? 0 : fail(name, "cannot be written");
}

static int label(RegionsFilter* filter, RegionsPicture in, const char* out) {
  RegionsFrame frame = REGIONS_FRAME_INIT;
  RegionsRegion* regions = calloc(MAX_REGIONS, sizeof *regions);
  uint32_t* labels = malloc(sizeof *labels * (size_t)in.width * (size_t)in.height);
  frame.in = in;
  frame.regions = regions;
  frame.capacity = MAX_REGIONS;
  frame.labels = in;
  frame.labels.format = "U32_LE";
  frame.labels.plane[0] = labels;
  frame.labels.pitch[0] = (ptrdiff_t)sizeof *labels * in.width;
  int status = 1;
  if (!regions || !labels) {
    fail("labels", "out of memory");
  } else if (regions_process(filter, &frame) != REGIONS_OK) {
    fail("cclabel", regions_error());
  } else {
    printf("%u regions, on %s\n", frame.total, regions_device(filter));
    for (uint32_t i = 0; i < frame.count; ++i) {
      const RegionsRegion* r = &regions[i];
      printf("%u: %dx%d at (%d, %d), %llu pixels, centre (%.2f, %.2f)\n", r->id,
             r->right - r->left + 1, r->bottom - r->top + 1, r->left, r->top,
             (unsigned long long)r->area, (double)r->sum_x / (double)r->area,
             (double)r->sum_y / (double)r->area);
    }
    status = out ? write_labels(out, labels, in.width, in.height) : 0;
  }
  free(labels);
  free(regions);
  return status;
}

int main(int count, char** arguments) {
  if (count < 2) return fail("usage", "label_image IN.pgm [OUT.pgm [PROPERTY=VALUE...]]");
  RegionsPicture in = read_picture(arguments[1]);
  if (!in.plane[0])
    return fail(arguments[1], "cannot be read as a binary PGM or PPM with 8 bits per sample");
  RegionsFilter* filter = regions_open("cclabel", "auto", 0);
  int status = 0;
  if (!filter || regions_set(filter, "output", "none") != REGIONS_OK) {
    status = fail("cclabel", regions_error());
  }
  for (int i = 3; i < count && !status; ++i) {
    char* value = strchr(arguments[i], '=');
    if (value) *value++ = '\0';
    if (!value || regions_set(filter, arguments[i], value) != REGIONS_OK) {
      status = fail(arguments[i], value ? regions_error() : "expected PROPERTY=VALUE");
    }
  }
  if (!status) status = label(filter, in, count > 2 ? arguments[2] : NULL);
  regions_close(filter);
  free(in.plane[0]);
  return status;
}
