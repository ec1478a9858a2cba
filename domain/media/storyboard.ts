import { cueTime } from './cue-time.ts';
import { evenNear, type FrameSize } from './frame-size.ts';
import { framesSec, type Grid } from './grid.ts';
import { storyboardPaths } from './revision-layout.ts';

// A storyboard: small pictures of a video at equal intervals, many on a sheet, for players to show while a viewer seeks.

/** The pictures of a video: one for each GOP, by rows from left to right, the sheets one after another. */
export interface Storyboard {
  /** The size of one picture, in pixels. */
  readonly tile: FrameSize;
  readonly tiles: number;
  readonly intervalSec: number;
  /** The length of the video; the last picture stands for what is left of it. */
  readonly durationSec: number;
}

/** Ten pictures by three: a minute of video at one picture every two seconds. */
export const sheetLayout = { columns: 10, rows: 3 } as const;
const tilesPerSheet = sheetLayout.columns * sheetLayout.rows;
const tileSideMax = 160;

/** The storyboard of a video of `frames` frames on `grid`. */
export function planStoryboard(video: FrameSize, { frames, grid }: { frames: number; grid: Grid }): Storyboard {
  const scale = tileSideMax / Math.max(video.width, video.height);
  const side = (pixels: number) => Math.max(2, evenNear(pixels * scale));
  return {
    tile: { width: side(video.width), height: side(video.height) },
    tiles: Math.ceil(frames / grid.gopFrames),
    intervalSec: framesSec(grid.gopFrames, grid.rate),
    durationSec: framesSec(frames, grid.rate),
  };
}

/** The sheets that the pictures fill, from 1; the last one need not be full. */
export function sheetNumbers({ tiles }: Pick<Storyboard, 'tiles'>): number[] {
  return Array.from({ length: Math.ceil(tiles / tilesPerSheet) }, (_, index) => index + 1);
}

/** How many sheets a part of a video fills; null where it does not end with a sheet, so that another part shares one. */
export function sheetsFilledBy(frames: number, { gopFrames }: Pick<Grid, 'gopFrames'>): number | null {
  const sheets = frames / (gopFrames * tilesPerSheet);
  return Number.isInteger(sheets) ? sheets : null;
}

/** The image playlist of a storyboard, beside its sheets (Roku's "HLS Trick Play using image media playlists"). */
export function storyboardPlaylist(storyboard: Storyboard): string {
  const { tile, intervalSec, durationSec } = storyboard;
  const sheetSec = intervalSec * tilesPerSheet;
  const layout = `${sheetLayout.columns}x${sheetLayout.rows}`;
  return [
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    `#EXT-X-TARGETDURATION:${Math.ceil(Math.min(sheetSec, durationSec))}`,
    '#EXT-X-MEDIA-SEQUENCE:1',
    '#EXT-X-PLAYLIST-TYPE:VOD',
    '#EXT-X-IMAGES-ONLY',
    ...sheetNumbers(storyboard).flatMap((number) => [
      `#EXTINF:${Math.min(sheetSec, durationSec - (number - 1) * sheetSec).toFixed(5)},`,
      `#EXT-X-TILES:RESOLUTION=${tile.width}x${tile.height},LAYOUT=${layout},DURATION=${intervalSec.toFixed(5)}`,
      nameOf(storyboardPaths.sheet(number)),
    ]),
    '#EXT-X-ENDLIST',
    '',
  ].join('\n');
}

/** The same as WebVTT cues, each with the place of its picture as a media fragment (`sheet_1.jpg#xywh=0,0,160,90`). */
export function storyboardCues({ tile, tiles, intervalSec, durationSec }: Storyboard): string {
  const cues = Array.from({ length: tiles }, (_, index) => {
    const onSheet = index % tilesPerSheet;
    const x = (onSheet % sheetLayout.columns) * tile.width;
    const y = Math.floor(onSheet / sheetLayout.columns) * tile.height;
    const sheet = nameOf(storyboardPaths.sheet(Math.floor(index / tilesPerSheet) + 1));
    const [from, to] = [index * intervalSec, Math.min(durationSec, (index + 1) * intervalSec)];
    return `${cueTime(from)} --> ${cueTime(to)}\n${sheet}#xywh=${x},${y},${tile.width},${tile.height}\n`;
  });
  return ['WEBVTT\n', ...cues].join('\n');
}

/** As seen from the playlist and the cues, which are in the folder of the sheets. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

const lastAdaptationSet = /\n( *)<\/Period>/;

/** Adds a storyboard to a DASH manifest, as its thumbnail tiles (DASH-IF guidelines, "Tiles of thumbnail images"). */
export function withStoryboard(manifest: string, { storyboard, bandwidth }: StoryboardLine): string {
  const { tile, intervalSec } = storyboard;
  const { columns, rows } = sheetLayout;
  const sheets = storyboardPaths.sheet('$Number$');
  const duration = Math.round(intervalSec * tilesPerSheet * 1000);
  const size = `width="${tile.width * columns}" height="${tile.height * rows}"`;
  return manifest.replace(lastAdaptationSet, (end, indent: string) =>
    [
      '',
      `${indent}  <AdaptationSet contentType="image" mimeType="image/jpeg">`,
      `${indent}    <SegmentTemplate media="${sheets}" duration="${duration}" timescale="1000" startNumber="1"/>`,
      `${indent}    <Representation id="storyboard" bandwidth="${bandwidth}" ${size}>`,
      `${indent}      <EssentialProperty schemeIdUri="http://dashif.org/guidelines/thumbnail_tile" value="${columns}x${rows}"/>`,
      `${indent}    </Representation>`,
      `${indent}  </AdaptationSet>${end}`,
    ].join('\n'),
  );
}

/** A storyboard as a master playlist or a manifest lists it; `bandwidth` in bits a second, on average. */
export interface StoryboardLine {
  readonly storyboard: Storyboard;
  readonly bandwidth: number;
}

/** The line of a storyboard in a master playlist. Players that do not know its tag pass over it. */
export function storyboardLine({ storyboard: { tile }, bandwidth }: StoryboardLine): string {
  const size = `${tile.width}x${tile.height}`;
  return `#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=${bandwidth},RESOLUTION=${size},CODECS="jpeg",URI="${storyboardPaths.playlist}"`;
}
