/* A C application that reads the regions and the label map of every frame, and changes a property
 * while the pipeline is playing.
 *
 *   cc regions.c $(pkg-config --cflags --libs gstreamer-1.0 gstreamer-app-1.0) -o regions
 *   pipelines/with-plugin ./regions FILE
 *
 * Prints one line per frame. After frame 10, the threshold is raised to 0.8: only pixels with at
 * least 80 % of full brightness belong to regions. */
#include <gst/app/gstappsink.h>
#include <gst/gst.h>

#define CHANGE_AT 10
#define NEW_THRESHOLD 0.8

/* Returns the number of pixels with a label. Label 0 is the background, 1..n are the regions. */
static gsize pixels_of(const GstStructure* found, guint label) {
  GstBuffer* labels = NULL;
  GstMapInfo map;
  gsize count = 0;
  /* The buffer is shared with the metadata, not copied. If it is on a GPU, mapping downloads it. */
  if (!gst_structure_get(found, "labels", GST_TYPE_BUFFER, &labels, NULL)) return 0;
  if (gst_buffer_map(labels, &map, GST_MAP_READ)) {
    const guint32* label_at = (const guint32*)map.data;
    for (gsize i = 0; i < map.size / sizeof *label_at; ++i) count += label_at[i] == label;
    gst_buffer_unmap(labels, &map);
  }
  gst_buffer_unref(labels);
  return count;
}

static void print_frame(guint number, GstBuffer* buffer) {
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, "regions");
  const GstStructure* found = meta ? gst_custom_meta_get_structure(meta) : NULL;
  const GValue* regions = found ? gst_structure_get_value(found, "regions") : NULL;
  guint64 largest = 0;
  guint label = 0;
  if (!regions) return;
  for (guint i = 0; i < gst_value_array_get_size(regions); ++i) {
    const GstStructure* region = gst_value_get_structure(gst_value_array_get_value(regions, i));
    guint64 area = 0;
    gst_structure_get_uint64(region, "area", &area);
    if (area <= largest) continue;
    largest = area;
    gst_structure_get_uint(region, "id", &label);
  }
  g_print("frame %u: %u regions, the largest is region %u with %" G_GUINT64_FORMAT
          " pixels (%" G_GSIZE_FORMAT " in the label map)\n",
          number, gst_value_array_get_size(regions), label, largest, pixels_of(found, label));
}

/* Returns the error that stopped the pipeline, or NULL if it still runs or has ended well. */
static GstMessage* failure_of(GstElement* pipeline) {
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  gst_object_unref(bus);
  return message;
}

static void report(GstMessage* failure) {
  GError* error = NULL;
  gst_message_parse_error(failure, &error, NULL);
  g_printerr("regions: %s\n", error->message);
  g_error_free(error);
  gst_message_unref(failure);
}

int main(int argc, char* argv[]) {
  gst_init(&argc, &argv);
  if (argc != 2) {
    g_printerr("usage: regions FILE\n");
    return 2;
  }
  GError* error = NULL;
  GstElement* pipeline = gst_parse_launch(
      "filesrc name=file ! decodebin ! videoconvert ! cclabel name=labeller output=none"
      " ! appsink name=frames sync=false max-buffers=2",
      &error);
  if (error) {
    g_printerr("regions: %s\n", error->message);
    return 2;
  }
  GstElement* file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
  GstElement* labeller = gst_bin_get_by_name(GST_BIN(pipeline), "labeller");
  GstElement* frames = gst_bin_get_by_name(GST_BIN(pipeline), "frames");
  g_object_set(file, "location", argv[1], NULL);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);

  GstMessage* failure;
  guint number = 0;
  /* Pull with a timeout: after an error, no more frames arrive. */
  while (!(failure = failure_of(pipeline)) && !gst_app_sink_is_eos(GST_APP_SINK(frames))) {
    GstSample* sample = gst_app_sink_try_pull_sample(GST_APP_SINK(frames), GST_SECOND / 10);
    if (!sample) continue;
    print_frame(number, gst_sample_get_buffer(sample));
    gst_sample_unref(sample);
    if (++number == CHANGE_AT) g_object_set(labeller, "threshold", NEW_THRESHOLD, NULL);
  }

  const int status = failure ? 1 : 0;
  if (failure) report(failure);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(file);
  gst_object_unref(labeller);
  gst_object_unref(frames);
  gst_object_unref(pipeline);
  return status;
}
