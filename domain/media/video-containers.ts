/** The kinds of videos that can be processed, as messages name them. */
export const videoContainers = 'MP4, MOV, Matroska, WebM, MPEG-TS, MPEG-PS, AVI, FLV, ASF/WMV, MXF, Ogg, GIF, APNG';
