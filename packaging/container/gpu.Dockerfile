# GStreamer with this project's Debian packages, for NVIDIA GPUs and for the CPU. Add `--build-arg ARCHITECTURES=90` to
# compile for one generation of GPUs; this saves most of the time:
#
#   docker build -f packaging/container/gpu.Dockerfile -t gst-regions-gpu .
#   docker run --rm --gpus all gst-regions-gpu gst-inspect-1.0 cclabel
#   docker run --rm --gpus all -v "$PWD:/videos" gst-regions-gpu quickstart in.mp4
ARG CUDA=13.0.1
FROM nvidia/cuda:${CUDA}-devel-ubuntu24.04 AS build
ARG ARCHITECTURES=80,86,89,90,100,120
ENV DEBIAN_FRONTEND=noninteractive
ENV DEB_BUILD_OPTIONS=noautodbgsym
COPY . /src
WORKDIR /src
RUN apt-get update && apt-get build-dep -y --no-install-recommends ./packaging
RUN packaging/deb --cuda-archs ${ARCHITECTURES} -o /packages

FROM nvidia/cuda:${CUDA}-runtime-ubuntu24.04
ENV DEBIAN_FRONTEND=noninteractive
# "video" gives GStreamer's nvcodec elements access to the GPU's decoder and encoder.
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility,video
ENV PATH=/usr/share/gst-regions/pipelines:/usr/share/gst-regions/pipelines/transcode:/usr/sbin:/usr/bin:/sbin:/bin
COPY --from=build /packages/gst*.deb /packages/
RUN apt-get update && apt-get install -y --no-install-recommends /packages/*.deb && rm -r /packages /var/lib/apt/lists/*
WORKDIR /videos
CMD ["gst-inspect-1.0", "regions"]
