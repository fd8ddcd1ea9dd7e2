// One owner of a reference to a GstObject.
#pragma once

#include <gst/gst.h>

#include <memory>

namespace regions {

struct UnrefObject {
  template <class T>
  void operator()(T* object) const {
    gst_object_unref(object);
  }
};

template <class T>
using ObjectPtr = std::unique_ptr<T, UnrefObject>;

}  // namespace regions
