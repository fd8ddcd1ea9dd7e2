"""The package of regions-transcode, which passes files through a filter, whole or in segments.

command_line  options                             job         one file through a filter
command     checks of options, and the run        segments    cutting, processing and joining of segments
scheduling  which inputs and segments run when    ffprobe     calls of ffprobe
processes   a process for each job (run_job.py)   probe       properties of an input
starter     the process that starts them by fork  decode      frames, their times and shapes
cluster     attempts at segments, Ray             encode      pictures, and all other streams
manifest    records, states of segments, locks    exports     tables, tracks, masks, label videos
storage     inputs and outputs on s3://           verify      whole inputs, losses of outputs
progress    bars, lines, --status                 profiles    kinds of outputs
"""
