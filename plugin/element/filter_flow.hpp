// The path of frames, events and queries from GstBaseTransform to FilterStream.
#pragma once

#include <gst/base/gstbasetransform.h>

namespace regions {

void install_flow(GstBaseTransformClass* klass);

}  // namespace regions
