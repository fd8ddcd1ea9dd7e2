// The way of frames, events and queries through our elements: from GstBaseTransform to
// FilterStream.
#pragma once

#include <gst/base/gstbasetransform.h>

namespace regions {

void install_flow(GstBaseTransformClass* klass);

}  // namespace regions
