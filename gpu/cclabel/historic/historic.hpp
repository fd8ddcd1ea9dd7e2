// The labelling methods of the founding papers, beside which the modern one stands: label
// propagation (GTC 2010 S12218, GTC 2013 S3193) and sweeps (GTC 2015). Both give the labels that
// union-find gives.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/propagation/variant.hpp"

namespace regions::historic {

// One that takes Method::propagation, in this variant, or Method::sweep.
std::unique_ptr<CcLabel> make_historic(std::shared_ptr<Backend> backend, Method method,
                                       const propagation::Variant& variant = {});

}  // namespace regions::historic
