# GStreamer with this project's Debian packages, for the CPU:
#
#   docker build -f packaging/container/cpu.Dockerfile -t gst-regions .
#   docker run --rm gst-regions gst-inspect-1.0 cclabel
#   docker run --rm -v "$PWD:/videos" gst-regions quickstart in.mp4
FROM debian:trixie AS build
ENV DEBIAN_FRONTEND=noninteractive
ENV DEB_BUILD_OPTIONS=noautodbgsym
COPY . /src
WORKDIR /src
RUN apt-get update && apt-get build-dep -y --no-install-recommends ./packaging
RUN packaging/deb --no-cuda -o /packages

FROM debian:trixie
ENV DEBIAN_FRONTEND=noninteractive
ENV PATH=/usr/share/gst-regions/pipelines:/usr/share/gst-regions/pipelines/transcode:/usr/sbin:/usr/bin:/sbin:/bin
COPY --from=build /packages/gst*.deb /packages/
RUN apt-get update && apt-get install -y --no-install-recommends /packages/*.deb && rm -r /packages /var/lib/apt/lists/*
WORKDIR /videos
CMD ["gst-inspect-1.0", "regions"]
