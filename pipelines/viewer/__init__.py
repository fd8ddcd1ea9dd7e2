"""The package of pipelines/view, which shows cameras and files on a web page and records events.

stream      a source with its filter: pictures, regions, events and encoded video
server      the web server, and the requests that it accepts
peers       video by WebRTC
recordings  clips of events in a folder of bounded size
page.*      the page, without a build step"""
