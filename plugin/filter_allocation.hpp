// What our elements say to their neighbours of the memory that frames lie in.
#pragma once

#include <gst/base/gstbasetransform.h>

namespace regions {

void install_allocation(GstBaseTransformClass* klass);

}  // namespace regions
