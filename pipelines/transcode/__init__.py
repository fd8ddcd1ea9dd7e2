"""The package of regions-transcode, which passes files through a filter, whole or in segments.

command_line  options                             job         one file through a filter
command     checks of options, and the run        segments    cutting, processing and joining of segments
scheduling  which inputs and segments run when    probe       properties of an input
processes   a process for each job (run_job.py)   starter     the process that starts them by fork
cluster     attempts at segments, Ray             decode      frames, their times and shapes
manifest    records, states of segments, locks    encode      pictures, and all other streams
storage     inputs and outputs on s3://           exports     tables, tracks, masks, label videos
progress    bars, lines, --status                 verify      whole inputs, losses of outputs
profiles    kinds of outputs
"""
