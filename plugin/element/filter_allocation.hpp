// Answers to allocation queries: which buffers and metas this plugin's elements offer upstream.
#pragma once

#include <gst/base/gstbasetransform.h>

namespace regions {

void install_allocation(GstBaseTransformClass* klass);

}  // namespace regions
